package cli

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"drover/wire/droverv1"
)

// statusView is how a status is shown to people.
type statusView struct {
	st       *droverv1.StatusResponse
	width    int  // most columns; 0: any
	wide     bool // every column
	all      bool // every row
	filtered bool // it is only a part of the status
	ordered  bool // its units have their order
}

// More rows than these are summed up; so many of the worst are shown then.
const (
	rowsShown  = 200
	worstShown = 20
)

// section is one table of a status.
type section struct {
	plural string
	head   []string
	note   string
	rows   []statusRow
}

// statusRow is one thing, or several in the same state.
type statusRow struct {
	cells         []string
	note, pointer string
	state         string
	severity      int
}

func (s *section) add(r statusRow) { s.rows = append(s.rows, r) }

func (v statusView) sections() []*section {
	return []*section{v.apps(), v.units(), v.relations(), v.machines(), v.work()}
}

func (v statusView) print(w io.Writer, paint func(column, cell string) string) {
	st := v.st
	fmt.Fprintf(w, "Cluster %s   leader %s (epoch %d)   rev %d%s\n", st.Cluster, orDash(st.Leader), st.Epoch, st.Revision, problemCount(st.Problems))
	if st.Model != "" && st.Model != "default" {
		fmt.Fprintf(w, "Model %s\n", st.Model)
	}
	sections, total := v.sections(), 0
	for _, s := range sections {
		total += len(s.rows)
	}
	for _, s := range sections {
		v.printSection(w, s, paint, !v.all && total > rowsShown)
	}
	switch {
	case total > rowsShown && !v.all:
		fmt.Fprintln(w, "\nThis is a summary. All rows: drover status --all; some: drover status state=error")
	case len(st.Applications)+len(st.Lrps)+len(st.Tasks) == 0 && !v.filtered:
		fmt.Fprintln(w, "\nNothing runs yet. Try: drover deploy demo")
	case total == 0:
		fmt.Fprintln(w, "\nNothing to show.")
	}
	for _, q := range st.Quarantined {
		fmt.Fprintf(w, "unreadable row set aside: %s\n", q)
	}
}

func (v statusView) printSection(w io.Writer, s *section, paint func(column, cell string) string, summed bool) {
	if len(s.rows) == 0 {
		return
	}
	fmt.Fprintln(w)
	rows := s.rows
	if summed && len(rows) > worstShown {
		fmt.Fprintf(w, "%s  %d: %s\n", s.plural, len(rows), countStates(rows))
		rows = worst(rows)
		if len(rows) > worstShown {
			fmt.Fprintf(w, "the worst %d of %d with problems:\n", worstShown, len(rows))
			rows = rows[:worstShown]
		}
	}
	t := newTable(s.head...)
	t.note, t.width = s.note, v.width
	for _, r := range rows {
		t.rows = append(t.rows, tableRow{r.cells, r.note, r.pointer})
	}
	t.print(w, paint)
}

// worst are the rows with a problem, the worst first.
func worst(rows []statusRow) []statusRow {
	rows = filter(rows, func(r statusRow) bool { return r.severity > 0 })
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].severity > rows[j].severity })
	return rows
}

// countStates is "990 active, 8 waiting, 2 error": the most first.
func countStates(rows []statusRow) string {
	n := map[string]int{}
	for _, r := range rows {
		n[r.state]++
	}
	states := sortedKeys(n)
	sort.SliceStable(states, func(i, j int) bool { return n[states[i]] > n[states[j]] })
	for i, s := range states {
		states[i] = fmt.Sprintf("%d %s", n[s], orDash(s))
	}
	return strings.Join(states, ", ")
}

func problemCount(n int32) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "   1 problem: drover why --all"
	default:
		return fmt.Sprintf("   %d problems: drover why --all", n)
	}
}

// onlyWide is a cell that is shown in the wide format.
func (v statusView) onlyWide(cell string) string {
	if v.wide {
		return cell
	}
	return ""
}

// unlessAlive is a life that is worth a word.
func unlessAlive(life string) string {
	if life == "alive" {
		return ""
	}
	return life
}

func (v statusView) apps() *section {
	s := &section{plural: "Applications", head: []string{"App", "Status", "Units", "Charm", "Life", "Version", "UID", "Rev"}, note: "Message"}
	for _, x := range v.st.Applications {
		r := statusRow{state: x.Status.GetValue(), note: x.Status.GetMessage(), severity: appSeverity(x)}
		if len(x.Impediments) > 0 {
			r.note, r.pointer = waitText(x.Name, x.Impediments), "drover why "+x.Name
		}
		r.cells = []string{
			x.Name, withGlyph(orDash(x.Status.GetValue())), fmt.Sprintf("%d/%d", x.ActiveUnits, x.Units), fmt.Sprintf("%s r%d", x.Charm, x.CharmRevision),
			unlessAlive(x.Life), v.onlyWide(x.Version), v.onlyWide(x.Uid), v.onlyWide(fmt.Sprint(x.Revision)),
		}
		s.add(r)
	}
	return s
}

func (v statusView) units() *section {
	s := &section{plural: "Units", head: []string{"Unit", "Machine", "Workload", "Agent", "Life", "Address", "Since", "Last hook", "UID", "Rev"}, note: "Message"}
	units := v.st.Units
	if !v.ordered {
		units = sortedUnits(units)
	}
	for _, u := range units {
		name := u.Name
		if u.Leader {
			name += "*"
		}
		if u.Principal != "" && !v.ordered {
			name = "  " + name
		}
		r := statusRow{state: u.Workload.GetValue(), severity: unitSeverity(u)}
		r.note, r.pointer = unitMessage(u)
		r.cells = []string{
			name, u.Machine, withGlyph(orDash(u.Workload.GetValue())), orDash(agentWord(u)), unlessAlive(u.Life), addressOf(u),
			ago(v.st.Now, u.Workload.GetSince()), v.onlyWide(u.LastHook), v.onlyWide(u.Uid), v.onlyWide(fmt.Sprint(u.Revision)),
		}
		s.add(r)
	}
	return s
}

func (v statusView) relations() *section {
	s := &section{plural: "Relations", head: []string{"Relation", "Scope", "Life", "In scope", "UID", "Rev"}, note: "Message"}
	for _, x := range v.st.Relations {
		inScope := fmt.Sprint(x.InScopeCount)
		if x.Life != "alive" && x.InScopeCount > 0 && len(x.InScope) <= 3 {
			inScope += " (" + strings.Join(x.InScope, ", ") + ")"
		}
		r := statusRow{state: x.Life, severity: min(1, len(x.Impediments))}
		if len(x.Impediments) > 0 {
			r.note, r.pointer = waitText(x.Name, x.Impediments), "drover why '"+endsOf(x)+"'"
		}
		r.cells = []string{relationName(x), x.Scope, withGlyph(x.Life), inScope, v.onlyWide(x.Uid), v.onlyWide(fmt.Sprint(x.Revision))}
		s.add(r)
	}
	return s
}

// endsOf is a relation as why takes it.
func endsOf(r *droverv1.Relation) string {
	var ends []string
	for _, e := range r.Endpoints {
		ends = append(ends, e.Application+":"+e.Name)
	}
	return strings.Join(ends, " ")
}

func (v statusView) machines() *section {
	s := &section{plural: "Machines", head: []string{"Machine", "Agent", "Life", "Address", "Provider", "CPUs", "Memory", "UID", "Rev"}, note: "Message"}
	for _, m := range v.st.Machines {
		r := statusRow{state: m.Agent, note: m.InstanceError, severity: machineSeverity(m)}
		if len(m.Impediments) > 0 {
			r.note, r.pointer = waitText(m.Id, m.Impediments), "drover why machine:"+m.Id
		} else if m.Agent != "alive" && m.LastHeard != 0 {
			r.note = "not heard for " + ago(v.st.Now, m.LastHeard)
		}
		r.cells = []string{
			m.Id, withGlyph(orDash(m.Agent)), unlessAlive(m.Life), m.Address, m.Provider,
			v.onlyWide(fmt.Sprint(m.Cpus)), v.onlyWide(fmt.Sprintf("%d MiB", m.MemoryMb)), v.onlyWide(m.Uid), v.onlyWide(fmt.Sprint(m.Revision)),
		}
		s.add(r)
	}
	return s
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m { // order-free: sorted below
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
