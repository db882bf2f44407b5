package cli

import (
	"fmt"
	"sort"
	"strings"

	"drover/wire/droverv1"
)

// selectors match names and states, and remember what they matched.
type selectors struct {
	words   []string
	matched map[string]bool
}

func (s *selectors) match(names []string, states ...string) bool {
	found := false
	for _, sel := range s.words {
		among, want := names, sel
		if state, ok := strings.CutPrefix(sel, "state="); ok {
			among, want = states, strings.ToLower(state)
		}
		for _, n := range among {
			if n == want || sel != want && strings.ToLower(n) == want {
				s.matched[sel], found = true, true
			}
		}
	}
	return found
}

// selectStatus keeps what any of the selectors matches, none keep everything,
// and returns those that match nothing.
func selectStatus(st *droverv1.StatusResponse, words []string) (unmatched []string) {
	if len(words) == 0 {
		return nil
	}
	s := &selectors{words: words, matched: map[string]bool{}}
	machineOf := map[string]string{}
	for _, c := range st.Cells {
		machineOf[c.Machine] = c.Id
	}
	st.Applications = filter(st.Applications, func(x *droverv1.Application) bool {
		return s.match([]string{x.Name, "app/" + x.Name}, x.Status.GetValue(), x.Life)
	})
	st.Units = filter(st.Units, func(u *droverv1.Unit) bool {
		names := []string{u.Name, "unit/" + u.Name, u.Application, "app/" + u.Application, u.Principal, "unit/" + u.Principal}
		if u.Machine != "" {
			names = append(names, u.Machine, "machine/"+u.Machine, machineOf[u.Machine])
		}
		return s.match(names, u.Workload.GetValue(), agentWord(u), u.Life)
	})
	st.Relations = filter(st.Relations, func(r *droverv1.Relation) bool {
		names := []string{r.Name}
		for _, e := range r.Endpoints {
			names = append(names, e.Application, "app/"+e.Application, e.Application+":"+e.Name)
		}
		return s.match(names, r.Life)
	})
	st.Machines = filter(st.Machines, func(m *droverv1.Machine) bool {
		return s.match([]string{m.Id, "machine/" + m.Id, machineOf[m.Id]}, m.Agent, m.Life, m.InstanceState)
	})
	st.Lrps = filter(st.Lrps, s.lrp)
	st.Tasks = filter(st.Tasks, func(t *droverv1.TaskStatus) bool {
		state := ""
		if t.Failed {
			state = "failed"
		}
		return s.match([]string{t.Guid, "task/" + t.Guid, "task:" + t.Guid, t.Cell}, t.State, state, t.Life)
	})
	st.Cells = filter(st.Cells, func(c *droverv1.CellStatus) bool { return s.match([]string{c.Id}, c.Presence) })
	for _, w := range words {
		if !s.matched[w] {
			unmatched = append(unmatched, w)
		}
	}
	return unmatched
}

// lrp keeps an LRP that is selected, or the indexes of it that are.
func (s *selectors) lrp(l *droverv1.LRPStatus) bool {
	if s.match([]string{l.ProcessGuid, "lrp/" + l.ProcessGuid}, l.Life) {
		return true
	}
	l.Indexes = filter(l.Indexes, func(x *droverv1.LRPIndexStatus) bool {
		name := fmt.Sprintf("%s/%d", l.ProcessGuid, x.Index)
		return s.match([]string{name, "lrp/" + name, x.Cell}, x.State)
	})
	return len(l.Indexes) > 0
}

// onlyProblems keeps what has a problem, the worst first.
func onlyProblems(st *droverv1.StatusResponse) {
	st.Applications = byWorst(st.Applications, appSeverity)
	st.Units = byWorst(st.Units, unitSeverity)
	st.Relations = byWorst(st.Relations, func(r *droverv1.Relation) int { return len(r.Impediments) })
	st.Machines = byWorst(st.Machines, machineSeverity)
	for _, l := range st.Lrps {
		if l.Instances >= 0 {
			l.Indexes = byWorst(l.Indexes, indexSeverity)
		}
	}
	st.Lrps = filter(st.Lrps, func(l *droverv1.LRPStatus) bool { return l.Instances < 0 || len(l.Indexes) > 0 })
	st.Tasks = byWorst(st.Tasks, taskSeverity)
	st.Cells = byWorst(st.Cells, func(c *droverv1.CellStatus) int { return len(c.Impediments) })
}

func byWorst[T any](in []T, severity func(T) int) []T {
	out := filter(in, func(x T) bool { return severity(x) > 0 })
	sort.SliceStable(out, func(i, j int) bool { return severity(out[i]) > severity(out[j]) })
	return out
}

func filter[T any](in []T, keep func(T) bool) []T {
	var out []T
	for _, x := range in {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}
