package cli

import (
	"fmt"
	"strings"

	"drover/wire/droverv1"
)

// cellsNamed bounds the cells that a row names.
const cellsNamed = 4

func (v statusView) work() *section {
	s := &section{plural: "LRPs and tasks", head: []string{"LRP/Task", "Index", "State", "Cell", "Since", "Address", "UID", "Rev"}, note: "Note"}
	for _, l := range v.st.Lrps {
		v.addLRP(s, l)
	}
	for _, k := range v.st.Tasks {
		r := statusRow{state: k.State, note: k.Note, severity: taskSeverity(k)}
		if len(k.Impediments) > 0 {
			r.pointer = "drover why task:" + k.Guid
			if k.Note == "" {
				r.note = waitText("task:"+k.Guid, k.Impediments)
			}
		}
		state := k.State
		if k.Failed {
			state, r.state, r.pointer = "failed ("+k.State+")", "failed", "drover logs task:"+k.Guid
		}
		r.cells = []string{"task " + k.Guid, "", withGlyph(state), k.Cell, ago(v.st.Now, k.Since), "", v.onlyWide(k.Uid), v.onlyWide(fmt.Sprint(k.Revision))}
		s.add(r)
	}
	return s
}

// indexGroup are indexes of an LRP that are in the same state for the same
// reason.
type indexGroup struct {
	state, note string
	waits       bool
	indexes     []*droverv1.LRPIndexStatus
}

func groupIndexes(now int64, l *droverv1.LRPStatus) []*indexGroup {
	var groups []*indexGroup
	for _, x := range l.Indexes {
		note := indexNote(now, x)
		var g *indexGroup
		for _, known := range groups {
			if known.state == x.State && known.note == note {
				g = known
			}
		}
		if g == nil {
			g = &indexGroup{state: x.State, note: note}
			groups = append(groups, g)
		}
		g.waits = g.waits || indexSeverity(x) > 0
		g.indexes = append(g.indexes, x)
	}
	return groups
}

// indexNote is why an index is as it is. What is said of a crash, or of an
// instance that is to go, tells what happens next.
func indexNote(now int64, x *droverv1.LRPIndexStatus) string {
	text := ""
	if im := firstLeaf(x.Impediments); im != nil {
		text = impedimentLine(im)
	}
	switch {
	case text != "" && (x.State == "CRASHED" || x.Life == "dying" || x.Note == ""):
		return text
	case x.State == "CRASHED" && x.RestartAt != 0:
		return strings.TrimPrefix(x.Note+", starts again "+in(now, x.RestartAt), ", ")
	}
	return x.Note
}

// in is how far ahead a moment is.
func in(now, then int64) string {
	if then <= now {
		return "now"
	}
	return "in " + ago(then, now)
}

// addLRP shows the indexes of an LRP in one row for each state and reason.
func (v statusView) addLRP(s *section, l *droverv1.LRPStatus) {
	groups := groupIndexes(v.st.Now, l)
	if len(groups) == 0 {
		groups = []*indexGroup{{state: "RUNNING"}}
	}
	for _, g := range groups {
		r := statusRow{state: g.state, note: g.note}
		cells := map[string]bool{}
		var since int64
		address, uid, rev := "", "", ""
		for _, x := range g.indexes {
			if x.Cell != "" {
				cells[x.Cell] = true
			}
			if since == 0 || x.Since < since {
				since = x.Since
			}
			r.severity = max(r.severity, indexSeverity(x))
		}
		if len(g.indexes) == 1 {
			x := g.indexes[0]
			address, uid, rev = x.Address, x.Uid, fmt.Sprint(x.Revision)
		}
		if g.waits {
			r.pointer = fmt.Sprintf("drover why %s/%d", l.ProcessGuid, g.indexes[0].Index)
		}
		if l.Instances < 0 {
			r.note, r.severity = strings.TrimSuffix("no longer desired: "+r.note, ": "), max(1, r.severity)
			r.pointer = "drover why " + l.ProcessGuid
		}
		r.cells = []string{
			l.ProcessGuid, indexRange(g.indexes), withGlyph(groupState(g, l)), someOf(sortedKeys(cells), cellsNamed), ago(v.st.Now, since),
			v.onlyWide(address), v.onlyWide(uid), v.onlyWide(rev),
		}
		s.add(r)
	}
}

// groupState is the state with how many are in it.
func groupState(g *indexGroup, l *droverv1.LRPStatus) string {
	switch {
	case g.state == "RUNNING" && l.Instances >= 0:
		return fmt.Sprintf("RUNNING %d/%d", len(g.indexes), l.Instances)
	case len(g.indexes) > 1:
		return fmt.Sprintf("%s %d", g.state, len(g.indexes))
	}
	return g.state
}

func someOf(words []string, most int) string {
	if len(words) <= most {
		return strings.Join(words, ",")
	}
	return fmt.Sprintf("%s,+%d", strings.Join(words[:most-1], ","), len(words)-most+1)
}

func indexRange(xs []*droverv1.LRPIndexStatus) string {
	var parts []string
	for i := 0; i < len(xs); {
		j := i
		for j+1 < len(xs) && xs[j+1].Index == xs[j].Index+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(xs[i].Index))
		} else {
			parts = append(parts, fmt.Sprintf("%d..%d", xs[i].Index, xs[j].Index))
		}
		i = j + 1
	}
	return someOf(parts, 5)
}
