package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"drover/noun/entity"
	"drover/noun/when"
	"drover/noun/work"
)

// unrest lists what may not be when everything is quiet (V1).
func (s *Sim) unrest() []string {
	var out []string
	v := s.server.store.View()
	reg := s.server.registry
	for _, model := range reg.ListModels(v) {
		w := reg.World(v, model.UID)
		for _, m := range w.Machines() {
			if m.Life != entity.Alive {
				out = append(out, fmt.Sprintf("machine %s is %s", m.ID, m.Life))
			}
		}
		for _, a := range w.Applications() {
			if a.Life != entity.Alive {
				out = append(out, fmt.Sprintf("application %s is %s", a.Name, a.Life))
			}
		}
		for _, u := range w.Units() {
			if u.Life != entity.Alive {
				out = append(out, fmt.Sprintf("unit %s is %s", u.Name, u.Life))
			}
		}
		for _, r := range w.Relations() {
			if r.Life != entity.Alive {
				out = append(out, fmt.Sprintf("relation %d is %s", r.ID, r.Life))
			}
		}
	}
	return append(out, s.workUnrest()...)
}

// workUnrest lists what the board may not show when everything is quiet (V2, V3,
// P6): each desired index runs once, or crashed, or has a reason.
func (s *Sim) workUnrest() []string {
	var out []string
	v, b := s.server.store.View(), s.server.board
	running := map[string]int{}
	for _, m := range s.machines {
		for _, name := range m.host.Alive() {
			guid, _, _ := strings.Cut(name, "/")
			running[guid]++
		}
	}
	for d := range b.AllDesired(v) {
		for i := range d.Instances {
			a, ok := b.Actual(v, work.LRPKey{ProcessGUID: d.ProcessGUID, Index: i}, false)
			switch {
			case !ok:
				out = append(out, fmt.Sprintf("%s/%d has no record", d.ProcessGUID, i))
			case a.State == work.Claimed, a.State == work.Unclaimed && a.PlacementError == "":
				out = append(out, fmt.Sprintf("%s/%d is %s", d.ProcessGUID, i, a.State))
			}
		}
	}
	for a := range b.AllActual(v) {
		what := fmt.Sprintf("%s/%d (%s)", a.ProcessGUID, a.Index, a.Holder.Instance)
		if d, ok := b.Desired(v, a.ProcessGUID); (!ok || a.Index >= d.Instances) && b.Fresh(v, when.Of(s.clock.now), a.Domain) {
			out = append(out, what+" has a record and is not desired")
		}
		if n := running[string(a.Holder.Instance)]; a.State == work.Running && n != 1 {
			out = append(out, fmt.Sprintf("%s is RUNNING and %d processes run", what, n))
		}
		delete(running, string(a.Holder.Instance))
	}
	for t := range b.AllTasks(v) {
		if t.State == work.TaskPending && t.PlacementError == "" || t.State == work.TaskRunning {
			out = append(out, fmt.Sprintf("task %s is %s", t.GUID, t.State))
		}
		delete(running, string(t.Incarnation))
	}
	for _, guid := range slices.Sorted(maps.Keys(running)) {
		out = append(out, fmt.Sprintf("a process of %s runs without a record", guid))
	}
	return out
}
