package lifecycle

import (
	"drover/noun/entity"
	"drover/noun/fault"
)

// DestroyRelation is the user's request. Spec: 000 "juju remove-relation".
func DestroyRelation(w World, rel entity.Relation) ([]Step, error) {
	// "If the relation is not Alive, abort without error."
	if rel.Life != entity.Alive {
		return nil, nil
	}
	// Peer relations cannot be manipulated (SEMANTICS 44).
	if rel.IsPeer() {
		app := rel.Endpoints[0].App
		return nil, fault.New(fault.Conflict, "cannot remove the peer relation %q", rel.CanonicalName()).
			Why("it exists as long as its application").
			Try("drover remove-application " + string(app))
	}
	return []Step{destroyRelation(w, rel)}, nil
}

// destroyRelation ends an Alive relation. Both its applications are Alive, so
// none of them goes with it.
func destroyRelation(w References, rel entity.Relation) Step {
	// "If any unit is in scope, set the relation to Dying."
	if w.ScopeCount(rel.ID) > 0 {
		return onRelation(RelationDying, rel.ID)
	}
	// "Otherwise: … Delete the relation document. Mark the relation's unit
	// settings documents for future cleanup."
	return onRelation(RemoveRelationRow, rel.ID)
}

// LeaveScope takes a unit out of a relation; the last one to leave a Dying
// relation removes it, and with it perhaps the counterpart.
// Spec: 000 "juju remove-relation".
func LeaveScope(w World, unit entity.Unit, rel entity.Relation) []Step {
	if !inScope(w, unit.Name, rel.ID) {
		return nil
	}
	steps := []Step{leave(unit.Name, rel.ID)}
	// "The Dying relation's document is finally removed in the same transaction
	// in which the last unit leaves its scope."
	if rel.Life != entity.Dying || w.ScopeCount(rel.ID) > 1 {
		return steps
	}
	// "Delete the relation document. Mark the relation's unit settings documents
	// for future cleanup."
	steps = append(steps, onRelation(RemoveRelationRow, rel.ID))
	// A peer relation has no counterpart (SEMANTICS 44).
	if rel.IsPeer() {
		return steps
	}
	// "If the counterpart application … is Alive, or has at least one unit, or is
	// in at least two relations, decrement its relation count; otherwise remove
	// the counterpart application."
	return append(steps, dropReference(w, rel.Counterpart(unit.App), 1, 2)...)
}

func inScope(w References, unit entity.UnitName, id entity.RelationID) bool {
	for _, m := range w.ScopesOf(unit) {
		if m.Relation == id {
			return true
		}
	}
	return false
}

// Entry says how a unit enters a scope. With Already it is in. Create names the
// application of the subordinate to be made; Subordinate the one that exists.
type Entry struct {
	Already     bool
	Create      entity.AppName
	Subordinate entity.UnitName
	Own         entity.Endpoint
	Root        entity.UnitName // the shared principal; container scope only
}

// EnterScope decides whether and how the unit may take part in the relation.
// Spec: 000 "juju integrate", "Units", "Relations".
func EnterScope(w World, unit entity.Unit, rel entity.Relation) (Entry, error) {
	own, ok := rel.Endpoint(unit.App)
	if !ok || !Concerns(w, unit, rel) {
		return Entry{}, fault.New(fault.NotFound, "relation %q is none of %s's", rel.CanonicalName(), unit.Name)
	}
	e := Entry{Own: own, Already: inScope(w, unit.Name, rel.ID)}
	refused := fault.New(fault.Conflict, "unit %s cannot enter the scope of relation %q", unit.Name, rel.CanonicalName())
	// "While a principal unit is Alive, it can enter the scopes of Alive relations"
	switch {
	case e.Already:
	case unit.Life != entity.Alive:
		return e, refused.Why("the unit is %s", unit.Life)
	case rel.Life != entity.Alive:
		return e, refused.Why("the relation is %s", rel.Life)
	}
	if rel.Scope() != entity.ScopeContainer {
		return e, nil
	}
	e.Root = unit.Root()
	return withSubordinate(w, e, unit, rel, refused)
}

// withSubordinate finds or asks for the subordinate that a principal's entering
// brings. "find that no suitable subordinate already exists" (000 "juju integrate").
func withSubordinate(w World, e Entry, unit entity.Unit, rel entity.Relation, refused *fault.Error) (Entry, error) {
	other, ok := w.Application(rel.Counterpart(unit.App))
	if !ok || !other.Subordinate || unit.IsSubordinate() || rel.IsPeer() {
		return e, nil
	}
	for _, sub := range w.SubordinatesOf(unit.Name) {
		if sub.App != other.Name {
			continue
		}
		if sub.Life != entity.Alive && !e.Already {
			return e, refused.Why("its earlier subordinate %s is still %s", sub.Name, sub.Life).
				Try("drover why " + string(sub.Name)).Coded(CodeNotYet)
		}
		e.Subordinate = sub.Name
		return e, nil
	}
	if !e.Already {
		e.Create = other.Name
	}
	return e, nil
}

// Concerns reports whether the relation is one that the unit may take part in: a
// subordinate shares container-scoped relations only with its own principal and
// other subordinates.
func Concerns(w Entities, unit entity.Unit, rel entity.Relation) bool {
	if _, ok := rel.Endpoint(unit.App); !ok {
		return false
	}
	if rel.Scope() != entity.ScopeContainer || rel.IsPeer() || !unit.IsSubordinate() {
		return true
	}
	other := rel.Counterpart(unit.App)
	if other == unit.Principal.App() {
		return true
	}
	app, ok := w.Application(other)
	return ok && app.Subordinate
}

// Sees reports whether a unit with the role and root sees the member.
// Spec: 003 "Relations in depth" (invariants G2, G3).
func Sees(unit entity.UnitName, role entity.Role, root entity.UnitName, other entity.Member) bool {
	return other.Unit != unit && other.Role == role.Counterpart() && other.Root == root
}
