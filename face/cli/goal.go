package cli

import (
	"fmt"
	"strings"

	"drover/noun/fault"
	"drover/wire/droverv1"
)

// goal is what a command waits for.
type goal interface {
	// check judges a fresh status.
	check(st *droverv1.StatusResponse) verdict
	// String is the goal as arguments of drover wait.
	String() string
}

// verdict is how far a goal is.
type verdict struct {
	done     bool
	failed   error  // it will not be reached without somebody doing something
	waiting  string // what holds it now
	unplaced bool   // what holds it is a lack of room
	lines    []line // one for each thing that is being waited for, in order
	logOf    string // whose log tells more about failed; empty: all is told
}

// line is the present state of one thing, for progress.
type line struct {
	key  string // "store/0"
	text string // of the thing's state
	done bool
}

// and joins the verdicts of two goals.
func (v verdict) and(w verdict) verdict {
	v.done = v.done && w.done
	if v.failed == nil {
		v.failed, v.logOf = w.failed, w.logOf
	}
	if v.waiting == "" {
		v.waiting, v.unplaced = w.waiting, w.unplaced
	}
	v.lines = append(v.lines, w.lines...)
	return v
}

// goals are reached when each is.
type goals []goal

func (g goals) check(st *droverv1.StatusResponse) verdict {
	v := verdict{done: true}
	for _, one := range g {
		v = v.and(one.check(st))
	}
	return v
}

func (g goals) String() string {
	var names []string
	for _, one := range g {
		names = append(names, one.String())
	}
	return strings.Join(names, " ")
}

// appsReady waits for all units of the applications to be active and idle.
type appsReady []string

func (g appsReady) String() string {
	names := make([]string, len(g))
	for i, n := range g {
		names[i] = "app/" + n
	}
	return strings.Join(names, " ")
}

func (g appsReady) check(st *droverv1.StatusResponse) verdict {
	v := verdict{done: true}
	for _, name := range g {
		app := findApp(st, name)
		if app == nil {
			v = v.and(verdict{failed: fault.New(fault.NotFound, "there is no application %q", name).Coded(fault.CodeNoSuchApplication).Try("drover status")})
			continue
		}
		if app.Life != "alive" {
			v = v.and(verdict{failed: fault.New(fault.Conflict, "application %q is being removed", name).Coded(fault.CodeLifeForbids).Try("drover why " + name)})
			continue
		}
		if app.Units == 0 && app.Subordinate && hasRelation(st, name) {
			v = v.and(verdict{waiting: "no unit of " + name + " was made yet"})
		}
		for _, u := range sortedUnits(st.Units) {
			if u.Application == name {
				v = v.and(unitVerdict(st, u))
			}
		}
	}
	return v
}

func findApp(st *droverv1.StatusResponse, name string) *droverv1.Application {
	for _, x := range st.Applications {
		if x.Name == name {
			return x
		}
	}
	return nil
}

func hasRelation(st *droverv1.StatusResponse, app string) bool {
	for _, r := range st.Relations {
		for _, e := range r.Endpoints {
			if e.Application == app && len(r.Endpoints) > 1 {
				return true
			}
		}
	}
	return false
}

func unitVerdict(st *droverv1.StatusResponse, u *droverv1.Unit) verdict {
	ready := u.Workload.GetValue() == "active" && u.Agent.GetValue() == "idle" && u.Failure == nil
	v := verdict{done: ready, lines: []line{{u.Name, unitState(u), ready}}}
	if ready {
		return v
	}
	if u.Failure != nil && !u.Resolved {
		v.failed = hookFailed(u)
	}
	v.waiting = unitWaits(st, u)
	return v
}

func unitState(u *droverv1.Unit) string {
	switch {
	case u.Resolved:
		return fmt.Sprintf("hook %s failed, resolved", u.Failure.GetHook())
	case u.Failure != nil:
		return fmt.Sprintf("hook %s failed (%s)", u.Failure.Hook, failureReason(u.Failure))
	case u.Hook != "":
		return "running " + u.Hook
	case u.Workload.GetMessage() != "":
		return u.Workload.GetValue() + ": " + u.Workload.GetMessage()
	case u.Workload.GetValue() != "":
		return u.Workload.GetValue()
	default:
		return orDash(u.Agent.GetValue())
	}
}

func unitWaits(st *droverv1.StatusResponse, u *droverv1.Unit) string {
	if im := firstLeaf(u.Impediments); im != nil {
		return u.Name + ": " + impedimentLine(im)
	}
	for _, m := range st.Machines {
		if m.Id == u.Machine && m.Agent != "alive" {
			if im := firstLeaf(m.Impediments); im != nil {
				return "machine " + m.Id + ": " + impedimentLine(im)
			}
			return fmt.Sprintf("waiting for machine %s: agent %s", m.Id, notHeard(st.Now, m))
		}
	}
	return u.Name + " is " + unitState(u)
}

func notHeard(now int64, m *droverv1.Machine) string {
	if m.LastHeard == 0 {
		return "not heard yet"
	}
	return "not heard for " + ago(now, m.LastHeard)
}

func hookFailed(u *droverv1.Unit) error {
	f := u.Failure
	why := failureReason(f)
	if f.LastOutput != "" {
		why += lastOutput(f.LastOutput)
	}
	return fault.New(fault.EntityFailed, "hook %q of %s failed", f.Hook, u.Name).Coded(fault.CodeHookFailed).Why("%s", why).Try(
		"drover logs "+u.Name+" --hook last", "drover resolve "+u.Name, "drover why "+u.Name)
}

// lrpReady waits for all desired instances to be RUNNING.
type lrpReady string

func (g lrpReady) String() string { return "lrp/" + string(g) }

func (g lrpReady) check(st *droverv1.StatusResponse) verdict {
	for _, l := range st.Lrps {
		if l.ProcessGuid != string(g) {
			continue
		}
		running := int32(0)
		var v verdict
		for _, x := range l.Indexes {
			name := fmt.Sprintf("%s/%d", string(g), x.Index)
			switch x.State {
			case "RUNNING":
				running++
			case "CRASHED":
				v.logOf = name
				v.failed = fault.New(fault.EntityFailed, "%s has crashed", name).Coded(fault.CodeCrashed).Why("%s", orDash(x.Note)).
					Try("drover why "+name, "drover logs "+name)
			case "UNCLAIMED":
				if im := firstLeaf(x.Impediments); im != nil && v.waiting == "" {
					v.waiting = name + ": " + impedimentLine(im)
					v.unplaced = im.Blocks == "placement" && im.Kind != "waiting_auction"
				}
			}
		}
		v.done = l.Instances >= 0 && running == l.Instances && len(l.Indexes) == int(running)
		if v.done {
			v.failed = nil
		}
		if v.waiting == "" {
			v.waiting = fmt.Sprintf("%s runs %d of %d", string(g), running, l.Instances)
		}
		v.lines = []line{{"lrp " + string(g), fmt.Sprintf("RUNNING %d/%d", running, l.Instances), v.done}}
		return v
	}
	return verdict{failed: fault.New(fault.NotFound, "there is no LRP %q", string(g)).Coded(fault.CodeNoSuchLRP).Try("drover lrp list")}
}

// taskDone waits for a task to be COMPLETED, whatever became of it.
type taskDone string

func (g taskDone) String() string { return "task/" + string(g) }

func (g taskDone) check(st *droverv1.StatusResponse) verdict {
	for _, t := range st.Tasks {
		if t.Guid != string(g) {
			continue
		}
		over := t.State == "COMPLETED" || t.State == "RESOLVING"
		v := verdict{done: over, lines: []line{{"task " + t.Guid, t.State, over}}}
		if over && t.Failed {
			v.logOf = "task:" + t.Guid
			v.failed = fault.New(fault.EntityFailed, "task %q failed", t.Guid).Coded(fault.CodeTaskFailed).Why("%s", orDash(t.Note)).
				Try("drover logs task:"+t.Guid, "drover task list "+t.Guid)
		}
		if im := firstLeaf(t.Impediments); im != nil {
			v.waiting = impedimentLine(im)
			v.unplaced = im.Blocks == "placement" && im.Kind != "waiting_auction"
		} else if !over {
			v.waiting = "task " + t.Guid + " is " + t.State
		}
		return v
	}
	return verdict{failed: fault.New(fault.NotFound, "there is no task %q", string(g)).Coded(fault.CodeNoSuchTask).Try("drover task list")}
}

// gone waits for the entities ("app/x", "unit/x/0", "machine/3", …) to be gone.
type gone []string

func (g gone) String() string { return strings.Join(g, " ") + " --for removed" }

func (g gone) check(st *droverv1.StatusResponse) verdict {
	there := map[string][]*droverv1.Impediment{}
	for _, x := range st.Applications {
		there["app/"+x.Name] = x.Impediments
	}
	for _, x := range st.Units {
		there["unit/"+x.Name] = x.Impediments
	}
	for _, x := range st.Machines {
		there["machine/"+x.Id] = x.Impediments
	}
	for _, x := range st.Lrps {
		there["lrp/"+x.ProcessGuid] = x.Impediments
	}
	for _, x := range st.Tasks {
		there["task/"+x.Guid] = x.Impediments
	}
	v := verdict{done: true}
	for _, name := range g {
		ims, ok := there[name]
		w := verdict{done: !ok, lines: []line{{name, "gone", !ok}}}
		if ok {
			w.lines[0].text = "going"
			w.waiting = name + " is still there"
			if len(ims) > 0 {
				_, self, _ := strings.Cut(name, "/")
				w.waiting = waitText(self, ims)
				w.lines[0].text = w.waiting
			}
		}
		v = v.and(w)
	}
	return v
}

// outputLines bounds the output that an error tells.
const outputLines = 10

// lastOutput is the end of what something wrote, as a part of a reason.
func lastOutput(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	lines = lines[max(0, len(lines)-outputLines):]
	return "\nlast output:\n  " + strings.Join(lines, "\n  ")
}

func (r bundleReady) String() string { return r.goals().String() }

func (r bundleReady) check(st *droverv1.StatusResponse) verdict { return r.goals().check(st) }

func (r bundleReady) goals() goals {
	g := goals{appsReady(r.apps)}
	for _, l := range r.lrps {
		g = append(g, lrpReady(l))
	}
	for _, t := range r.tasks {
		g = append(g, taskDone(t))
	}
	return g
}
