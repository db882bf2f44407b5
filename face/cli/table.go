package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// table is aligned columns, and a note at the end of each row. Columns whose
// every cell is empty are left out.
type table struct {
	head  []string
	note  string // heading of the notes; empty: there are none
	width int    // most columns of a row; 0: any
	rows  []tableRow
}

// tableRow has its pointer, a command, behind its note.
type tableRow struct {
	cells         []string
	note, pointer string
}

func newTable(head ...string) *table { return &table{head: head} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, tableRow{cells: cells}) }

// print writes the columns two spaces apart; paint may colour a cell, whose
// width is that of its plain text. A note that does not fit goes on below its
// row.
func (t *table) print(w io.Writer, paint func(column, cell string) string) {
	if len(t.rows) == 0 {
		return
	}
	widths := make([]int, len(t.head))
	noted := false
	for _, r := range t.rows {
		noted = noted || r.note != "" || r.pointer != ""
		for i, c := range r.cells {
			if n := utf8.RuneCountInString(c); n > 0 {
				widths[i] = max(widths[i], n, utf8.RuneCountInString(t.head[i]))
			}
		}
	}
	head := tableRow{cells: t.head}
	if noted && (t.width == 0 || rowWidth(widths)+utf8.RuneCountInString(t.note) <= t.width) {
		head.note = t.note
	}
	t.line(w, head, widths, unpainted)
	for _, r := range t.rows {
		t.line(w, r, widths, paint)
	}
}

// rowWidth is where notes begin.
func rowWidth(widths []int) int {
	n := 0
	for _, w := range widths {
		if w > 0 {
			n += w + 2
		}
	}
	return n
}

func (t *table) line(w io.Writer, r tableRow, widths []int, paint func(column, cell string) string) {
	var b strings.Builder
	gap := 0
	for i, c := range r.cells {
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
	below := t.besides(&b, r, gap, rowWidth(widths))
	fmt.Fprintln(w, b.String())
	for _, l := range below {
		fmt.Fprintln(w, noteIndent+l)
	}
}

const noteIndent = "    "

// besides writes what fits of a row's note into the row, and returns the lines
// for the rest.
func (t *table) besides(b *strings.Builder, r tableRow, gap, used int) []string {
	note := strings.Join(strings.Fields(r.note), " ")
	whole := note
	if r.pointer != "" {
		whole = strings.TrimSpace(note + " ▸ " + r.pointer)
	}
	fits := func(text string) bool { return t.width == 0 || used+utf8.RuneCountInString(text) <= t.width }
	switch {
	case whole == "":
		return nil
	case fits(whole):
		b.WriteString(strings.Repeat(" ", gap) + whole)
		return nil
	case note != "" && r.pointer != "" && fits(note):
		b.WriteString(strings.Repeat(" ", gap) + note)
		return []string{"▸ " + r.pointer}
	}
	lines := wrap(note, t.width-len(noteIndent))
	if r.pointer == "" {
		return lines
	}
	if last := len(lines) - 1; last >= 0 && utf8.RuneCountInString(lines[last])+3+utf8.RuneCountInString(r.pointer) <= t.width-len(noteIndent) {
		lines[last] += " ▸ " + r.pointer
		return lines
	}
	return append(lines, "▸ "+r.pointer)
}

// wrap breaks text at spaces into lines of at most width; a longer word has a
// line of its own.
func wrap(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// looks are how words of a state look: a glyph for what is not as it should be,
// and a colour. The word itself is always there too.
var looks = map[string]struct{ glyph, colour string }{
	"active": {"", "32"}, "alive": {"", "32"}, "RUNNING": {"", "32"}, "present": {"", "32"},
	"error": {"✗", "31"}, "CRASHED": {"✗", "31"}, "lost": {"✗", "31"}, "failed": {"✗", "31"}, "silent": {"✗", "31"},
	"blocked": {"!", "33"}, "UNCLAIMED": {"!", "33"}, "unfit": {"!", "33"},
	"waiting": {"…", "33"}, "maintenance": {"…", "33"}, "CLAIMED": {"…", "33"}, "PENDING": {"…", "33"},
	"away": {"…", "33"}, "awaited": {"…", "33"}, "never": {"…", "33"},
	"dying": {"↓", "33"},
}

// withGlyph puts the glyph of its first word before a state.
func withGlyph(state string) string {
	word, _, _ := strings.Cut(state, " ")
	if l := looks[word]; l.glyph != "" {
		return l.glyph + " " + state
	}
	return state
}

// painter colours status words when the output wants colour.
func (a *App) painter() func(column, cell string) string {
	if !a.coloured() {
		return unpainted
	}
	return func(_, c string) string {
		word, rest, _ := strings.Cut(c, " ")
		l, ok := looks[word]
		if !ok {
			word, _, _ = strings.Cut(rest, " ")
			l, ok = looks[word]
			ok = ok && strings.HasPrefix(c, l.glyph+" ")
		}
		if !ok {
			return c
		}
		return "\x1b[" + l.colour + "m" + c + "\x1b[0m"
	}
}

func unpainted(_, cell string) string { return cell }

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
