package lifecycle

import (
	"drover/noun/entity"
	"drover/noun/fault"
)

// CodeNotYet marks refusals that pass by themselves: an agent tries again when
// what stands in the way is gone (SEMANTICS 47).
const CodeNotYet = fault.CodeNotYet

// DestroyUnit is the user's request. Spec: 000 "juju remove-unit", "Units".
func DestroyUnit(w World, u entity.Unit) ([]Step, error) {
	// "If the unit is not Alive, abort without error."
	if u.Life != entity.Alive {
		return nil, nil
	}
	// "This doesn't work on subordinates." (SEMANTICS 31)
	if u.IsSubordinate() {
		return nil, subordinateRefused(w, u)
	}
	return dying(w, u), nil
}

// dying sets an Alive unit to Dying, or removes it when no agent ever was to do
// so (SEMANTICS 52).
func dying(w World, u entity.Unit) []Step {
	if !u.Deployed {
		return removeUnit(w, u)
	}
	// "Set the unit to Dying."
	return []Step{onUnit(UnitDying, u.Name)}
}

func subordinateRefused(w World, u entity.Unit) error {
	e := fault.New(fault.Conflict, "cannot remove unit %s by itself", u.Name)
	principal := u.Principal.App()
	for _, rel := range w.RelationsOf(u.App) {
		if rel.Scope() == entity.ScopeContainer && rel.Counterpart(u.App) == principal {
			return e.Why("it is a subordinate of %s and lives as long as the relation %q", u.Principal, rel.CanonicalName()).
				Try("drover remove-relation "+rel.CanonicalName(), "drover remove-unit "+string(u.Principal))
		}
	}
	return e.Why("it is a subordinate of %s", u.Principal).Try("drover remove-unit " + string(u.Principal))
}

// AgentDestroysUnit is what the unit's own agent does, or its principal's, when
// it saw a reason. An agent that looked at an older state is told to look again.
// Spec: 000 "Agents", "Units"; SEMANTICS 48, 49.
func AgentDestroysUnit(w World, u entity.Unit) ([]Step, error) {
	if u.Life != entity.Alive {
		return nil, nil
	}
	app, ok := w.Application(u.App)
	switch {
	// "detecting its application's Dying state, and setting its own Dying state."
	case !ok || app.Life != entity.Alive:
		return dying(w, u), nil
	case u.IsSubordinate() && !SubordinateWanted(w, u):
		return dying(w, u), nil
	}
	return nil, fault.New(fault.Conflict, "unit %s has no reason to be destroyed by its agent", u.Name).
		Why("its application is alive").Coded(CodeNotYet)
}

// SubordinateWanted reports whether the subordinate's principal is Alive and an
// Alive container-scoped relation joins their applications.
// Spec: 000 "Units"; SEMANTICS 49.
func SubordinateWanted(w World, u entity.Unit) bool {
	// "its principal becomes Dying"
	principal, ok := w.Unit(u.Principal)
	if !ok || principal.Life != entity.Alive {
		return false
	}
	// "the last Alive relation between its application and its principal's
	// application is no longer Alive"
	return ContainerRelated(w, u.App, principal.App)
}

// ContainerRelated reports whether an Alive container-scoped relation joins the
// two applications.
func ContainerRelated(w References, a, b entity.AppName) bool {
	for _, rel := range w.RelationsOf(a) {
		if rel.Life == entity.Alive && rel.Scope() == entity.ScopeContainer && !rel.IsPeer() && rel.Counterpart(a) == b {
			return true
		}
	}
	return false
}

// SetUnitDead is the last thing a Dying unit's agent does. Spec: 000 "Units".
func SetUnitDead(w World, u entity.Unit) ([]Step, error) {
	refused := fault.New(fault.Conflict, "unit %s cannot become dead", u.Name)
	switch u.Life {
	case entity.Dead:
		return nil, nil
	case entity.Alive:
		return nil, refused.Why("it is alive: nobody asked for its removal")
	}
	// "may not become Dead while any unit subordinate to it exists"
	if subs := w.SubordinatesOf(u.Name); len(subs) > 0 {
		return nil, refused.Why("its subordinate %s still exists", subs[0].Name).Coded(CodeNotYet)
	}
	// "or while the unit is in scope for any relation"
	if scopes := w.ScopesOf(u.Name); len(scopes) > 0 {
		return nil, refused.Why("it is in scope of relation %d", scopes[0].Relation).Coded(CodeNotYet)
	}
	return []Step{onUnit(UnitDead, u.Name)}, nil
}

// RemoveUnit is what the unit's deployer does: the machine's agent for a
// principal, the principal's agent for a subordinate. Spec: 000 "juju remove-unit".
func RemoveUnit(w World, u entity.Unit) ([]Step, error) {
	// L6: it was Dead, or it is not Alive and was never deployed.
	if u.Life != entity.Dead && (u.Life == entity.Alive || u.Deployed) {
		return nil, fault.New(fault.Conflict, "cannot delete unit %s", u.Name).Why("it is %s, not dead", u.Life)
	}
	return removeUnit(w, u), nil
}

func removeUnit(w World, u entity.Unit) []Step {
	// "unassign the unit from its machine / its principal unit", "Delete the unit
	// document."
	steps := []Step{onUnit(RemoveUnitRow, u.Name)}
	steps = append(steps, leaveMachine(w, u)...)
	// "If its application is Alive, or has at least two units, or is in at least
	// one relation, decrement the application's unit count; otherwise remove the
	// application."
	return append(steps, dropReference(w, u.App, 2, 1)...)
}

// leaveMachine destroys the machine that was made for the unit with the unit,
// unless something else is there or it is to be kept (SEMANTICS 21, 38).
func leaveMachine(w World, u entity.Unit) []Step {
	m, ok := w.Machine(u.Machine)
	if !ok || m.Life != entity.Alive || m.CreatedFor != u.Name || u.KeepMachine || m.HasJob(entity.ManageModel) {
		return nil
	}
	if len(w.PrincipalsOn(m.ID)) > 1 || len(w.ChildMachines(m.ID)) > 0 || w.HoldsWork(m.ID) {
		return nil
	}
	steps := []Step{onMachine(MachineDying, m.ID)}
	if unprovisioned(m) {
		steps = append(steps, onMachine(MachineDead, m.ID))
	}
	return steps
}
