package registry

import (
	"reflect"
	"strings"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// Bounds of what agents may say, in bytes.
const (
	maxStatusMessage = 4 << 10
	maxHookOutput    = 4 << 10
	maxWord          = 256
)

// unit is the row that an agent means. NotFound when it is gone or another one.
func (w World) unit(ref UnitRef) (entity.Unit, error) {
	u, ok := w.Unit(ref.Name)
	if !ok || ref.UID != "" && ref.UID != u.UID {
		return entity.Unit{}, noUnit(ref.Name)
	}
	return u, nil
}

// SetUnitDeployed is the deployer's mark before it starts the unit's agent
// (SEMANTICS 52). Conflict for a unit that is not Alive: there is nothing to
// deploy any more.
func (r *Registry) SetUnitDeployed(tx *store.Txn, now when.Instant, m entity.ModelUID, ref UnitRef) error {
	c := r.change(tx, now, m)
	u, err := c.unit(ref)
	if err != nil || u.Deployed {
		return err
	}
	if u.Life != entity.Alive {
		return fault.New(fault.Conflict, "unit %s is not deployed any more", u.Name).Why("it is %s", u.Life)
	}
	u.Deployed = true
	r.units.Put(tx, u)
	if app, ok := c.Application(u.App); ok && app.Leader == "" {
		app.Leader = u.Name
		r.apps.Put(tx, app)
	}
	return nil
}

// DestroyUnit is what a unit's own agent, or its principal's, does to make it
// Dying when it saw a reason. Conflict with lifecycle.CodeNotYet when the store
// knows of none. Spec: 000 "Agents".
func (r *Registry) DestroyUnit(tx *store.Txn, now when.Instant, m entity.ModelUID, ref UnitRef) error {
	c := r.change(tx, now, m)
	u, err := c.unit(ref)
	if err != nil {
		return err
	}
	return c.decided(lifecycle.AgentDestroysUnit(c, u))
}

// SetUnitDead is the last thing that a Dying unit's agent does. Conflict while
// it is Alive, in a scope, or has subordinates.
func (r *Registry) SetUnitDead(tx *store.Txn, now when.Instant, m entity.ModelUID, ref UnitRef) error {
	c := r.change(tx, now, m)
	u, err := c.unit(ref)
	if err != nil {
		return err
	}
	return c.decided(lifecycle.SetUnitDead(c, u))
}

// RemoveDeadUnit is the deployer's removal of a unit that is Dead, or not Alive
// and never deployed. One that is gone already is no error.
// Spec: 000 "juju remove-unit".
func (r *Registry) RemoveDeadUnit(tx *store.Txn, now when.Instant, m entity.ModelUID, ref UnitRef) error {
	c := r.change(tx, now, m)
	u, err := c.unit(ref)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	// A unit of a Dying application that was never deployed has no agent to make
	// it Dying: its deployer may remove it at once (SEMANTICS 52).
	if u.Life == entity.Alive && !u.Deployed {
		if app, _ := c.Application(u.App); app.Life != entity.Alive {
			return c.decided(lifecycle.AgentDestroysUnit(c, u))
		}
	}
	return c.decided(lifecycle.RemoveUnit(c, u))
}

func (c change) decided(steps []lifecycle.Step, err error) error {
	if err == nil {
		c.do(steps)
	}
	return err
}

// ReportUnit records what the unit's agent says of itself. Conflict for a report
// of an earlier incarnation. An equal report changes nothing.
func (r *Registry) ReportUnit(tx *store.Txn, _ when.Instant, m entity.ModelUID, ref UnitRef, rep UnitReport) error {
	u, err := (World{r, tx, m}).unit(ref)
	if err != nil {
		return err
	}
	if err := sameIncarnation(u, rep.Incarnation); err != nil {
		return err
	}
	old := u
	u.Agent, u.Workflow = bounded(rep.Agent), rep.Workflow
	u.Hook, u.LastHook, u.LastHookMS = short(rep.Hook), short(rep.LastHook), rep.LastHookMS
	u.Failure = nil
	if rep.Failure != nil {
		f := *rep.Failure
		f.Hook, f.Reason, f.Remote = short(f.Hook), short(f.Reason), entity.UnitName(short(string(f.Remote)))
		if len(f.LastOutput) > maxHookOutput {
			f.LastOutput = strings.ToValidUTF8(f.LastOutput[len(f.LastOutput)-maxHookOutput:], "")
		}
		u.Failure = &f
	}
	if !reflect.DeepEqual(old, u) {
		r.units.Put(tx, u)
	}
	return nil
}

func sameIncarnation(u entity.Unit, n int) error {
	if n != u.Incarnation {
		return fault.New(fault.Conflict, "unit %s has another agent now", u.Name).Why("its incarnation is %d, not %d", u.Incarnation, n)
	}
	return nil
}

func bounded(s entity.Status) entity.Status {
	s.Value = entity.StatusValue(short(string(s.Value)))
	if len(s.Message) > maxStatusMessage {
		s.Message = strings.ToValidUTF8(s.Message[:maxStatusMessage], "")
	}
	return s
}

func short(s string) string {
	if len(s) > maxWord {
		return strings.ToValidUTF8(s[:maxWord], "")
	}
	return s
}

// SetStatus records the workload's status. An equal one keeps its time.
func (r *Registry) SetStatus(tx *store.Txn, now when.Instant, m entity.ModelUID, ref UnitRef, st entity.Status) error {
	u, err := (World{r, tx, m}).unit(ref)
	if err != nil {
		return err
	}
	st = bounded(st)
	if st.Value == u.Workload.Value && st.Message == u.Workload.Message {
		return nil
	}
	if st.Since.IsZero() {
		st.Since = now
	}
	u.Workload = st
	r.units.Put(tx, u)
	return nil
}

// Resolve records how the unit's failed hook is to be resolved. Conflict when no
// hook failed. Spec: 003 "Errors in hooks"; SEMANTICS 23.
func (r *Registry) Resolve(tx *store.Txn, _ when.Instant, m entity.ModelUID, name entity.UnitName, mode entity.Resolve) error {
	u, ok := r.Unit(tx, m, name)
	if !ok {
		return noUnit(name)
	}
	if u.Failure == nil {
		return fault.New(fault.Conflict, "unit %s has no failed hook", name).Try("drover status")
	}
	if u.Resolve != mode {
		u.Resolve = mode
		r.units.Put(tx, u)
	}
	return nil
}

// ResolveAll resolves every unit with a failed hook and names them.
func (r *Registry) ResolveAll(tx *store.Txn, now when.Instant, m entity.ModelUID, mode entity.Resolve) ([]entity.UnitName, error) {
	var names []entity.UnitName
	for u := range r.unitByFailure.Rows(tx, string(m)) {
		names = append(names, u.Name)
	}
	for _, n := range names {
		if err := r.Resolve(tx, now, m, n, mode); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// ClearResolved is the agent's word that it acts on the resolve.
func (r *Registry) ClearResolved(tx *store.Txn, _ when.Instant, m entity.ModelUID, ref UnitRef) error {
	u, err := (World{r, tx, m}).unit(ref)
	if err != nil || u.Resolve == entity.ResolveNone {
		return err
	}
	u.Resolve = entity.ResolveNone
	r.units.Put(tx, u)
	return nil
}
