package uniter

import "drover/noun/entity"

// gone: a unit that is Dead or does not exist has no agent.
//
// Spec: 000 "juju remove-unit": "The unit's agent terminates itself and refuses
// to run again."
func gone(_ *Local, r *Remote) Step {
	switch {
	case !r.Synced:
		return wait("nothing was heard from the server yet")
	case !r.Present:
		return Step{Kind: Done, Why: "the unit does not exist any more"}
	case r.Life == entity.Dead:
		return Step{Kind: Done, Why: "the unit is dead"}
	}
	return idle
}

// incarnation: an agent without a disk is a new incarnation of its unit
// (SEMANTICS 16); one whose disk is older than another's does nothing.
func incarnation(l *Local, r *Remote) Step {
	switch {
	case l.Incarnation == 0:
		return act(NewIncarnation, "this disk has never been the unit's")
	case r.Incarnation > l.Incarnation:
		return wait("another agent of this unit has replaced this one")
	}
	return idle
}

// dyingSubordinates: a Dying principal's agent makes its subordinates Dying
// first of all its steps (SEMANTICS 48).
func dyingSubordinates(_ *Local, r *Remote) Step {
	if r.Life == entity.Alive {
		return idle
	}
	for _, s := range r.Subordinates {
		if s.Life == entity.Alive {
			return actOn(DestroySubordinate, s.Unit, "its principal is dying")
		}
	}
	return idle
}

// subordinates are the duties of a deployer, which a principal's agent has for
// its subordinates. Spec: 000 "Agents".
func subordinates(_ *Local, r *Remote) Step {
	for _, s := range r.Subordinates {
		switch {
		case s.Life == entity.Alive && !s.Deployed:
			return actOn(DeploySubordinate, s.Unit, "it is alive and not deployed")
		case s.Life != entity.Alive && !s.Deployed:
			return actOn(RemoveSubordinate, s.Unit, "it is not alive and was never deployed")
		case s.Life == entity.Dead:
			return actOn(RecallSubordinate, s.Unit, "it is dead")
		}
	}
	return idle
}

// destroySelf: an agent whose application is Dying, or whose unit is a
// subordinate that nothing keeps, destroys its unit. Spec: 000 "Agents".
func destroySelf(_ *Local, r *Remote) Step {
	switch {
	case r.Life != entity.Alive:
		return idle
	case r.AppLife != entity.Alive:
		return act(DestroySelf, "its application is dying")
	case r.Principal == "":
		return idle
	case r.PrincipalLife != entity.Alive:
		return act(DestroySelf, "its principal is dying")
	case !r.SubordinateWanted:
		return act(DestroySelf, "no alive container-scoped relation with its principal is left")
	}
	return idle
}
