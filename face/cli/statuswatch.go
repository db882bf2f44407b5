package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"drover/noun/fault"
	"drover/wire/droverv1"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// ageEvery is how often a watched status is shown again without a change: agents
// that fall silent are no event.
const ageEvery = 2 * time.Second

// watchStatus shows the status again after every change, until Ctrl-C.
func (a *App) watchStatus(cmd *cobra.Command, s *services, f statusFlags) error {
	show, err := a.statusWatcher(cmd, f)
	if err != nil {
		return err
	}
	told := false
	err = a.eachChange(cmd.Context(), s, ageEvery, func(ctx context.Context) (bool, error) {
		st, err := a.selectedStatus(ctx, s, f)
		switch {
		case err == nil:
			told = false
			return false, show(st)
		case ctx.Err() != nil:
			return false, nil //nolint:nilerr // the context says why
		case fault.Is(err, fault.Unavailable):
			if !told {
				a.say("No server answers. Trying again.")
			}
			told = true
			return false, nil
		}
		return false, err
	})
	if err == nil {
		return exitCode(ExitInterrupted)
	}
	return err
}

// statusWatcher is how a watched status is shown: on a terminal the screen is
// drawn again, elsewhere there is one line, or one document, a change.
func (a *App) statusWatcher(cmd *cobra.Command, f statusFlags) (func(*droverv1.StatusResponse) error, error) {
	switch formatOf(cmd) {
	case "name":
		return nil, usage(cmd, "--watch has no format name")
	case "json", "yaml":
		return a.statusDocuments(formatOf(cmd)), nil
	case "table", "wide":
		if isTerminal(a.Out) && a.Getenv("TERM") != "dumb" {
			return a.statusScreen(cmd, f), nil
		}
	}
	last := map[string]string{}
	return func(st *droverv1.StatusResponse) error {
		return a.write([]byte(changedLines(last, statusLines(st), a.Now().Format("15:04:05"))))
	}, nil
}

// changedLines are the lines that differ from the last ones, which it brings up
// to date.
func changedLines(last map[string]string, lines []statusLine, stamp string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, l := range lines {
		seen[l.name] = true
		key := ageless(l.String())
		if last[l.name] != key {
			last[l.name] = key
			fmt.Fprintf(&b, "%s %s\n", stamp, l)
		}
	}
	for _, name := range sortedKeys(last) {
		if !seen[name] {
			delete(last, name)
			fmt.Fprintf(&b, "%s %s gone\n", stamp, name)
		}
	}
	return b.String()
}

// statusDocuments writes the whole status at every revision.
func (a *App) statusDocuments(format string) func(*droverv1.StatusResponse) error {
	var shown uint64
	return func(st *droverv1.StatusResponse) error {
		if st.Revision == shown {
			return nil
		}
		shown = st.Revision
		if format == "yaml" {
			b, err := yamlOf(plainStatus(st))
			if err != nil {
				return err
			}
			return a.write(append([]byte("---\n"), b...))
		}
		b, err := json.Marshal(plainStatus(st))
		if err != nil {
			return err
		}
		return a.write(append(b, '\n'))
	}
}

// statusScreen draws the status on the whole screen.
func (a *App) statusScreen(cmd *cobra.Command, f statusFlags) func(*droverv1.StatusResponse) error {
	first := true
	return func(st *droverv1.StatusResponse) error {
		var b bytes.Buffer
		a.viewOf(cmd, st, f).print(&b, a.painter())
		frame := "\x1b[H" + clipLines(b.String(), terminalHeight(a.Out)-1) + "\x1b[J"
		if first {
			frame, first = "\x1b[2J"+frame, false
		}
		return a.write([]byte(strings.ReplaceAll(frame, "\n", "\x1b[K\n")))
	}
}

// clipLines keeps so many lines, and says how many there are more.
func clipLines(text string, most int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if most < 3 || len(lines) <= most {
		return text
	}
	return strings.Join(lines[:most-1], "") + fmt.Sprintf("… %d lines more\n", len(lines)-most+1)
}

func terminalHeight(w io.Writer) int {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if _, rows, err := term.GetSize(int(f.Fd())); err == nil {
			return rows
		}
	}
	return 0
}
