package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// table is aligned columns. Columns whose every cell is empty are left out.
type table struct {
	head []string
	rows [][]string
}

func newTable(head ...string) *table { return &table{head: head} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the columns two spaces apart; paint may colour a cell, whose
// width is that of its plain text.
func (t *table) print(w io.Writer, paint func(column, cell string) string) {
	if len(t.rows) == 0 {
		return
	}
	widths := make([]int, len(t.head))
	for _, r := range t.rows {
		for i, c := range r {
			if n := utf8.RuneCountInString(c); n > 0 {
				widths[i] = max(widths[i], n, utf8.RuneCountInString(t.head[i]))
			}
		}
	}
	t.line(w, t.head, widths, func(_, c string) string { return c })
	for _, r := range t.rows {
		t.line(w, r, widths, paint)
	}
}

func (t *table) line(w io.Writer, cells []string, widths []int, paint func(column, cell string) string) {
	var b strings.Builder
	gap := 0
	for i, c := range cells {
		if widths[i] == 0 {
			continue
		}
		if c != "" {
			b.WriteString(strings.Repeat(" ", gap))
			b.WriteString(paint(t.head[i], c))
			gap = 0
		}
		gap += widths[i] - utf8.RuneCountInString(c) + 2
	}
	fmt.Fprintln(w, b.String())
}

// Colours of status words; the word is always there too.
var statusColours = map[string]string{
	"active": "32", "alive": "32", "RUNNING": "32", "present": "32",
	"error": "31", "CRASHED": "31", "lost": "31", "failed": "31", "silent": "31",
	"dying": "33", "blocked": "33", "waiting": "33", "maintenance": "33", "UNCLAIMED": "33", "away": "33",
}

// painter colours status words when the output wants colour.
func (a *App) painter() func(column, cell string) string {
	if !a.coloured() {
		return func(_, c string) string { return c }
	}
	return func(_, c string) string {
		word, _, _ := strings.Cut(c, " ")
		if code, ok := statusColours[word]; ok {
			return "\x1b[" + code + "m" + c + "\x1b[0m"
		}
		return c
	}
}

func (a *App) coloured() bool {
	switch a.flags.color {
	case "always":
		return true
	case "never":
		return false
	}
	return a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb" && isTerminal(a.Out)
}

// isTerminal reports whether a person sits behind the stream.
func isTerminal(s any) bool {
	f, ok := s.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// ago is how long ago something was, short: "4m", "2h"; "-" for never.
func ago(now, then int64) string {
	if then == 0 {
		return "-"
	}
	return short(time.Duration(now - then))
}

func short(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// cut shortens text to n runes; what is left out is shown as "…".
func cut(s string, n int) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

const usualWidth = 80

func terminalWidth(w io.Writer) int {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 20 {
			return cols
		}
	}
	return usualWidth
}
