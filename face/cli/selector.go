package cli

import (
	"strings"

	"drover/wire/droverv1"
)

// selectStatus keeps what any of the selectors matches; none keep everything.
func selectStatus(st *droverv1.StatusResponse, selectors []string) {
	if len(selectors) == 0 {
		return
	}
	match := func(names []string, states ...string) bool {
		for _, sel := range selectors {
			if state, ok := strings.CutPrefix(sel, "state="); ok {
				for _, s := range states {
					if strings.EqualFold(s, state) {
						return true
					}
				}
				continue
			}
			for _, n := range names {
				if n == sel {
					return true
				}
			}
		}
		return false
	}
	st.Applications = filter(st.Applications, func(x *droverv1.Application) bool {
		return match([]string{x.Name, "app/" + x.Name}, x.Status.GetValue(), x.Life)
	})
	st.Units = filter(st.Units, func(u *droverv1.Unit) bool {
		return match([]string{u.Name, "unit/" + u.Name, u.Application, u.Machine, u.Principal}, u.Workload.GetValue(), agentWord(u), u.Life)
	})
	st.Relations = filter(st.Relations, func(r *droverv1.Relation) bool {
		var names []string
		for _, e := range r.Endpoints {
			names = append(names, e.Application, e.Application+":"+e.Name)
		}
		return match(names, r.Life)
	})
	st.Machines = filter(st.Machines, func(m *droverv1.Machine) bool {
		return match([]string{m.Id, "machine/" + m.Id}, m.Agent, m.Life, m.InstanceState)
	})
	st.Lrps = filter(st.Lrps, func(l *droverv1.LRPStatus) bool {
		names, states := []string{l.ProcessGuid, "lrp/" + l.ProcessGuid}, []string(nil)
		for _, x := range l.Indexes {
			names, states = append(names, x.Cell), append(states, x.State)
		}
		return match(names, states...)
	})
	st.Tasks = filter(st.Tasks, func(t *droverv1.TaskStatus) bool {
		return match([]string{t.Guid, "task/" + t.Guid, t.Cell}, t.State)
	})
	st.Cells = filter(st.Cells, func(c *droverv1.CellStatus) bool { return match([]string{c.Id}, c.Presence) })
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
