package registry

import (
	"fmt"
	"time"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// DefaultMaxWait is how long a forced removal waits for the orderly way before
// each of its steps (SEMANTICS 14).
const DefaultMaxWait = time.Minute

// mostPlanned bounds the lines of a plan.
const mostPlanned = 50

// RemoveApplication does remove-application. NotFound without such an
// application; one that is not Alive is left alone, unless forced.
// Spec: 000 "juju remove-application".
func (r *Registry) RemoveApplication(tx *store.Txn, now when.Instant, m entity.ModelUID, name entity.AppName, o RemoveOptions) (Removed, error) {
	c := r.change(tx, now, m)
	app, ok := c.Application(name)
	if !ok {
		return Removed{}, lifecycle.NoApplication(name)
	}
	steps := lifecycle.DestroyApplication(c, app)
	out := c.plan(steps)
	for _, u := range r.UnitsOf(tx, m, name) {
		if len(out.Plan) == mostPlanned {
			break
		}
		out.Plan = append(out.Plan, c.planUnit(u)...)
	}
	if o.DryRun {
		return out, nil
	}
	c.do(steps)
	app, still := c.Application(name)
	if o.Force && still && !app.Forced {
		app.Forced = true
		r.apps.Put(tx, app)
		c.force(entity.CleanForceApp, string(name), app.UID, o)
		out.Changed = true
	}
	out.Gone = !still
	return out, nil
}

// RemoveUnit does remove-unit. Conflict for a subordinate, naming its principal
// and relation. Spec: 000 "juju remove-unit"; SEMANTICS 31.
func (r *Registry) RemoveUnit(tx *store.Txn, now when.Instant, m entity.ModelUID, name entity.UnitName, o RemoveOptions) (Removed, error) {
	c := r.change(tx, now, m)
	u, ok := c.Unit(name)
	if !ok {
		return Removed{}, noUnit(name)
	}
	if o.KeepMachine && u.Life != entity.Dead && !o.DryRun && !u.KeepMachine {
		u.KeepMachine = true
		r.units.Put(tx, u)
	}
	steps, err := lifecycle.DestroyUnit(c, u)
	if err != nil {
		return Removed{}, err
	}
	out := c.plan(steps)
	if u.Life == entity.Alive {
		out.Plan = append(out.Plan, c.planUnit(u)...)
	}
	if o.DryRun {
		return out, nil
	}
	c.do(steps)
	if o.Force {
		out.Changed = c.forceUnit(name, o) || out.Changed
	}
	out.Gone = !c.exists(name, u.UID)
	return out, nil
}

// exists reports whether the unit of this uid is still there.
func (w World) exists(name entity.UnitName, uid entity.UID) bool {
	u, ok := w.Unit(name)
	return ok && u.UID == uid
}

func noUnit(name entity.UnitName) error {
	return fault.New(fault.NotFound, "there is no unit %q", string(name)).Coded(fault.CodeNoSuchUnit).Try("drover status")
}

// RemoveRelation does remove-relation on the relation that a and b name.
// Spec: 000 "juju remove-relation".
func (r *Registry) RemoveRelation(tx *store.Txn, now when.Instant, m entity.ModelUID, a, b string, o RemoveOptions) (Removed, error) {
	rel, err := r.FindRelation(tx, m, a, b)
	if err != nil {
		return Removed{}, err
	}
	c := r.change(tx, now, m)
	steps, err := lifecycle.DestroyRelation(c, rel)
	if err != nil {
		return Removed{}, err
	}
	out := c.plan(steps)
	if o.DryRun {
		return out, nil
	}
	c.do(steps)
	rel, still := c.Relation(rel.ID)
	if o.Force && still && !rel.Forced {
		rel.Forced = true
		r.relations.Put(tx, rel)
		c.force(entity.CleanForceRelation, rel.ID.String(), rel.UID, o)
		out.Changed = true
	}
	out.Gone = !still
	return out, nil
}

// RemoveMachine does remove-machine. Conflict for the last machine that manages
// the model, and without force for one with Alive principals or child machines.
// Spec: 000 "juju remove-machine"; SEMANTICS 14, 18–20.
func (r *Registry) RemoveMachine(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID, o RemoveOptions) (Removed, error) {
	c := r.change(tx, now, m)
	machine, ok := c.Machine(id)
	if !ok {
		return Removed{}, noMachine(id)
	}
	var out Removed
	if o.Force && !o.DryRun && !(machine.HasJob(entity.ManageModel) && c.AliveManagers() <= 1) {
		out.Plan = c.destroyPrincipals(id)
		machine, _ = c.Machine(id) // it may go with the unit it was made for
	}
	steps, err := lifecycle.RemoveMachine(c, machine, o.Force)
	if err != nil {
		return Removed{}, err
	}
	now1 := c.plan(steps)
	out.Plan, out.Changed = append(out.Plan, now1.Plan...), now1.Changed || len(out.Plan) > 0
	if o.DryRun {
		return out, nil
	}
	c.do(steps)
	machine, still := c.Machine(id)
	if o.Force && still && !machine.Forced {
		machine.Forced = true
		r.machines.Put(tx, machine)
		c.force(entity.CleanForceMachine, string(id), machine.UID, o)
		out.Changed = true
	}
	out.Gone = !still
	return out, nil
}

// destroyPrincipals makes the machine's Alive principals Dying, for force.
func (c change) destroyPrincipals(id entity.MachineID) []string {
	var plan []string
	for _, u := range c.PrincipalsOn(id) {
		steps, err := lifecycle.DestroyUnit(c, u)
		if err != nil {
			continue // a principal is never refused
		}
		plan = append(plan, c.plan(steps).Plan...)
		c.do(steps)
	}
	return plan
}

func noMachine(id entity.MachineID) error {
	return fault.New(fault.NotFound, "there is no machine %.60q", string(id)).Coded(fault.CodeNoSuchMachine).Try("drover status")
}

// plan says the steps in words. Nothing to do means nothing changes.
func (w World) plan(steps []lifecycle.Step) Removed {
	out := Removed{Changed: len(steps) > 0}
	for _, s := range steps {
		text := s.String()
		if rel, ok := w.Relation(s.Relation); ok && s.Verb == lifecycle.RelationDying {
			text = fmt.Sprintf("relation %q becomes dying until its units have left", rel.CanonicalName())
		} else if ok && s.Verb == lifecycle.RemoveRelationRow {
			text = fmt.Sprintf("relation %q is removed", rel.CanonicalName())
		}
		out.Plan = append(out.Plan, text)
	}
	return out
}

// planUnit says what follows from a unit's going.
func (w World) planUnit(u entity.Unit) []string {
	var plan []string
	if u.Deployed {
		plan = append(plan, fmt.Sprintf("unit %s will leave its relations, stop and be removed", u.Name))
	}
	for _, sub := range w.SubordinatesOf(u.Name) {
		plan = append(plan, fmt.Sprintf("its subordinate %s will be removed", sub.Name))
	}
	m, ok := w.Machine(u.Machine)
	switch {
	case !ok || !u.Deployed:
	case m.CreatedFor == u.Name && !u.KeepMachine && len(w.PrincipalsOn(m.ID)) == 1:
		plan = append(plan, fmt.Sprintf("machine %s, made for it, will be removed", m.ID))
	default:
		plan = append(plan, fmt.Sprintf("machine %s stays", m.ID))
	}
	return plan
}
