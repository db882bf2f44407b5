package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"drover/wire/droverv1"
)

// progress shows how a wait goes on.
type progress interface {
	show(st *droverv1.StatusResponse, v verdict)
	end()
}

// newProgress rewrites lines on a terminal and writes one line a change
// elsewhere.
func (a *App) newProgress() progress {
	if a.flags.quiet {
		return silence{}
	}
	quiet := &quietness{now: a.Now, since: a.Now()}
	if a.stderrIsTerminal() {
		return &screen{w: a.Err, now: a.Now, start: a.Now(), quiet: quiet, units: map[string]*unitTrack{}}
	}
	return &changes{w: a.Err, now: a.Now, quiet: quiet, last: map[string]string{}}
}

type silence struct{}

func (silence) show(*droverv1.StatusResponse, verdict) {}
func (silence) end()                                   {}

// quietness says what holds a wait when nothing has changed for a while.
type quietness struct {
	now   func() time.Time
	since time.Time
	told  string
}

func (q *quietness) changed() { q.since, q.told = q.now(), "" }

// due is the text to be told now; empty: nothing.
func (q *quietness) due(waiting string) string {
	if waiting == "" || ageless(waiting) == ageless(q.told) || q.now().Sub(q.since) < quietFor {
		return ""
	}
	q.told = waiting
	return waiting
}

var durations = regexp.MustCompile(`\b(\d+(\.\d+)?(h|m|s|ms|d))+\b`)

// ageless is a text without its ages: they change all the time and tell nothing
// new.
func ageless(text string) string { return durations.ReplaceAllString(text, "") }

// changes writes one line for every change, with its time: for logs.
type changes struct {
	w     io.Writer
	now   func() time.Time
	quiet *quietness
	last  map[string]string
}

func (c *changes) show(_ *droverv1.StatusResponse, v verdict) {
	stamp := c.now().Format("15:04:05")
	for _, l := range v.lines {
		if c.last[l.key] == ageless(l.text) {
			continue
		}
		c.last[l.key] = ageless(l.text)
		c.quiet.changed()
		fmt.Fprintf(c.w, "%s %s %s\n", stamp, l.key, l.text)
	}
	if text := c.quiet.due(v.waiting); text != "" && !v.done {
		fmt.Fprintf(c.w, "%s waiting: %s\n", stamp, text)
	}
}

func (c *changes) end() {}

// jsonChanges writes one JSON object a change, on standard output.
type jsonChanges struct {
	enc   *json.Encoder
	now   func() time.Time
	quiet *quietness
	last  map[string]string
}

func (a *App) newJSONProgress() progress {
	return &jsonChanges{enc: json.NewEncoder(a.Out), now: a.Now, quiet: &quietness{now: a.Now, since: a.Now()}, last: map[string]string{}}
}

func (c *jsonChanges) show(_ *droverv1.StatusResponse, v verdict) {
	stamp := c.now().UTC().Format(time.RFC3339Nano)
	for _, l := range v.lines {
		if c.last[l.key] == ageless(l.text) {
			continue
		}
		c.last[l.key] = ageless(l.text)
		c.quiet.changed()
		_ = c.enc.Encode(map[string]any{ // a closed pipe ends the program by itself
			"at": stamp, "entity": l.key, "state": l.text, "done": l.done,
		})
	}
	if text := c.quiet.due(v.waiting); text != "" && !v.done {
		_ = c.enc.Encode(map[string]any{"at": stamp, "waiting": text}) // as above
	}
}

func (c *jsonChanges) end() {}

// screen rewrites one line for each thing; many collapse to a counter with the
// slowest three.
type screen struct {
	w     io.Writer
	now   func() time.Time
	start time.Time
	quiet *quietness
	units map[string]*unitTrack
	drawn int
	text  string
}

// unitTrack is what a unit has done since the wait began.
type unitTrack struct {
	hooks []string
	last  string
	ready time.Time
}

const (
	screenLines = 20
	slowest     = 3
)

func (s *screen) show(st *droverv1.StatusResponse, v verdict) {
	s.track(st)
	lines := s.lines(st, v)
	if text := ageless(strings.Join(lines, "\n")); text != s.text {
		s.quiet.changed()
		s.text = text
	}
	if text := s.quiet.due(v.waiting); (text != "" || s.quiet.told != "") && !v.done {
		lines = append(lines, "waiting: "+s.quiet.told)
	}
	s.draw(lines)
}

func (s *screen) track(st *droverv1.StatusResponse) {
	for _, u := range st.GetUnits() {
		t := s.units[u.Name]
		if t == nil {
			t = &unitTrack{}
			s.units[u.Name] = t
		}
		if u.LastHook != "" && u.LastHook != t.last {
			t.last = u.LastHook
			word := u.LastHook + " ✓"
			if u.LastHookMs >= 100 {
				word += fmt.Sprintf(" %.1fs", float64(u.LastHookMs)/1000)
			}
			t.hooks = append(t.hooks, word)
		}
	}
}

func (s *screen) lines(st *droverv1.StatusResponse, v verdict) []string {
	machines := map[string]string{}
	for _, u := range st.GetUnits() {
		machines[u.Name] = u.Machine
	}
	var out, open []string
	done := 0
	for _, l := range v.lines {
		text := s.line(l, machines[l.key])
		out = append(out, text)
		if l.done {
			done++
		} else {
			open = append(open, text)
		}
	}
	if len(out) <= screenLines {
		return out
	}
	return append([]string{fmt.Sprintf("%d of %d ready", done, len(out))}, open[:min(len(open), slowest)]...)
}

func (s *screen) line(l line, machine string) string {
	t := s.units[l.key]
	if t == nil {
		t = &unitTrack{}
		s.units[l.key] = t
	}
	if l.done && t.ready.IsZero() {
		t.ready = s.now()
	} else if !l.done {
		t.ready = time.Time{}
	}
	parts := []string{fmt.Sprintf("%-12s", l.key)}
	if machine != "" {
		parts = append(parts, fmt.Sprintf("machine %-3s", machine))
	}
	text := " " + l.text
	if l.done {
		text += fmt.Sprintf("   %.1fs", t.ready.Sub(s.start).Seconds())
	}
	return fit(terminalWidth(s.w), parts, t.hooks, text)
}

// fit joins the parts of a line, leaving out the oldest hooks where they do not
// fit.
func fit(width int, parts, hooks []string, text string) string {
	for skip := 0; ; skip++ {
		words := append([]string(nil), parts...)
		if skip > 0 {
			words = append(words, "…")
		}
		line := strings.Join(append(append(words, hooks[skip:]...), text), "  ")
		if utf8.RuneCountInString(line) < width || skip == len(hooks) {
			return line
		}
	}
}

func (s *screen) draw(lines []string) {
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", s.drawn)
	}
	width := terminalWidth(s.w)
	for _, l := range lines {
		if utf8.RuneCountInString(l) >= width {
			l = cut(l, width-1)
		}
		b.WriteString(l + "\n")
	}
	s.drawn = len(lines)
	_, _ = io.WriteString(s.w, b.String()) // progress only
}

func (s *screen) end() {}
