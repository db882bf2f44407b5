package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"drover/wire/droverv1"
)

// whyView writes the answer to "why" for people.
type whyView struct {
	w     io.Writer
	now   int64
	width int
	cells bool   // every cell's reason
	self  string // what was asked about
}

// Of what is the same for many, so many are shown.
const (
	cellsShown = 6
	stepsShown = 12
)

func (v whyView) print(r *droverv1.WhyResponse) {
	if r.Summary != "" {
		fmt.Fprintln(v.w, r.Summary)
	}
	if len(r.Impediments) == 0 {
		if r.Summary == "" {
			fmt.Fprintln(v.w, "Nothing holds it.")
		}
		return
	}
	var steps []string
	for i, im := range r.Impediments {
		v.node(im, "", i == len(r.Impediments)-1, v.names(im, r.Impediments))
		collectSteps(im, &steps)
	}
	v.steps(steps)
}

// names reports whether the impediment has to say what it holds: it is not what
// was asked about, or one of several.
func (v whyView) names(im *droverv1.Impediment, all []*droverv1.Impediment) bool {
	several := slices.ContainsFunc(all, func(other *droverv1.Impediment) bool { return other.Entity != im.Entity })
	return several || v.self != "" && im.Entity != v.self && !strings.Contains(v.self, " ")
}

// node writes an impediment and what is behind it.
func (v whyView) node(im *droverv1.Impediment, indent string, last, named bool) {
	branch, below := "├─ ", "│  "
	if last {
		branch, below = "└─ ", "   "
	}
	text := impedimentText(im)
	if named && im.Entity != "" {
		text = im.Entity + ": " + text
	}
	for i, line := range strings.Split(text, "\n") {
		for j, part := range wrap(line, v.width-utf8.RuneCountInString(indent+branch)) {
			switch {
			case i == 0 && j == 0:
				fmt.Fprintf(v.w, "%s%s%s%s\n", indent, branch, part, v.age(im, indent+branch+part))
			default:
				fmt.Fprintf(v.w, "%s%s%s\n", indent, below, part)
			}
		}
	}
	if isPlacement(im) {
		v.refusals(im.Children, indent+below)
		return
	}
	for i, c := range im.Children {
		v.node(c, indent+below, i == len(im.Children)-1, false)
	}
}

// age is since when, if it is known and fits.
func (v whyView) age(im *droverv1.Impediment, line string) string {
	if im.Since == 0 {
		return ""
	}
	text := "  [" + ago(v.now, im.Since) + "]"
	if utf8.RuneCountInString(line+text) > v.width {
		return ""
	}
	return text
}

// isPlacement reports whether the reasons behind it are those of cells.
func isPlacement(im *droverv1.Impediment) bool {
	for _, c := range im.Children {
		if c.Blocks != "placement" || len(c.Children) > 0 {
			return false
		}
	}
	return len(im.Children) > 0 && im.Blocks == "placement"
}

// refusals writes what stands against the work on each cell: those that were
// asked and had no room, and those that were not asked.
func (v whyView) refusals(cells []*droverv1.Impediment, indent string) {
	t := newTable("Cell", "Answer")
	t.note, t.width = "Reason", v.width-utf8.RuneCountInString(indent)
	for i, c := range cells {
		if !v.cells && i == cellsShown && len(cells) > cellsShown+1 {
			break
		}
		answer := "not asked"
		if c.Kind == "insufficient" {
			answer = "refused"
		}
		reason := strings.TrimPrefix(strings.TrimPrefix(impedimentLine(c), "cell "+c.Subject), ":")
		t.rows = append(t.rows, tableRow{cells: []string{c.Subject, answer}, note: reason})
	}
	var b strings.Builder
	t.print(&b, unpainted)
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if i > 0 { // the heading says nothing here
			fmt.Fprintf(v.w, "%s%s\n", indent, line)
		}
	}
	if more := len(cells) - len(t.rows); more > 0 {
		fmt.Fprintf(v.w, "%s… and %d cells more (%s): --cells shows all\n", indent, more, countKinds(cells))
	}
}

func countKinds(cells []*droverv1.Impediment) string {
	rows := make([]statusRow, len(cells))
	for i, c := range cells {
		rows[i].state = strings.ReplaceAll(c.Kind, "_", " ")
	}
	return countStates(rows)
}

// steps writes the commands that help, with what each does.
func (v whyView) steps(steps []string) {
	if len(steps) == 0 {
		return
	}
	fmt.Fprintln(v.w, "What you can do")
	t := newTable("Command")
	t.note, t.width = "Use", v.width-2
	for _, s := range steps[:min(len(steps), stepsShown)] {
		t.rows = append(t.rows, tableRow{cells: []string{s}, note: stepHelp(s)})
	}
	var b strings.Builder
	t.print(&b, unpainted)
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if i > 0 {
			fmt.Fprintf(v.w, "  %s\n", line)
		}
	}
}

// stepHelp says what a step does; empty for commands that say it themselves.
func stepHelp(step string) string {
	for _, h := range []struct{ has, help string }{
		{" --hook last", "see the full output"},
		{" --no-retry", "mark it done and go on"},
		{"drover resolve ", "run the hook again now"},
		{"drover remove-unit ", "give up on a clean departure"},
		{"drover remove-machine ", "give the machine up"},
		{"drover wait ", "wait until it is gone"},
		{"drover logs ", "see what it does"},
		{"drover cells", "see the cells and their room"},
		{"drover join-token", "let another machine join"},
		{"drover lrp show ", "see all its instances"},
		{"drover lrp list", "see all LRPs"},
		{"drover lrp remove ", "stop it now"},
		{"drover status", "see everything"},
	} {
		if strings.Contains(step, h.has) {
			return h.help
		}
	}
	return ""
}

// collectSteps gathers the next steps of the leaves, each once.
func collectSteps(im *droverv1.Impediment, steps *[]string) {
	for _, c := range im.Children {
		collectSteps(c, steps)
	}
	if len(im.Children) == 0 {
		for _, s := range im.NextSteps {
			if !contains(*steps, s) {
				*steps = append(*steps, s)
			}
		}
	}
}
