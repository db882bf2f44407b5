package registry

import (
	"maps"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// The settings that every unit publishes before it is a member (SEMANTICS 60).
const (
	privateAddress = "private-address"
	ingressAddress = "ingress-address"
	egressSubnets  = "egress-subnets"
)

// EnterScope puts the unit into the relation's scope: its settings first, then
// the membership, and in a container-scoped relation the subordinate that a
// principal's entering brings. Entering again answers with what is there.
// Conflict when either is not Alive; with lifecycle.CodeNotYet while an earlier
// subordinate is still going (SEMANTICS 47). Spec: 000 "juju integrate", "Units".
func (r *Registry) EnterScope(tx *store.Txn, now when.Instant, m entity.ModelUID, ref UnitRef, id entity.RelationID, initial map[string]string) (Entered, error) {
	c := r.change(tx, now, m)
	u, err := c.unit(ref)
	if err != nil {
		return Entered{}, err
	}
	rel, ok := c.Relation(id)
	if !ok {
		return Entered{}, noRelation(id)
	}
	e, err := lifecycle.EnterScope(c, u, rel)
	if err != nil {
		return Entered{}, err
	}
	if e.Already {
		member, _ := r.members.Get(tx, memberKey(m, id, u.Name))
		return Entered{Subordinate: e.Subordinate, Incarnation: member.Incarnation}, nil
	}
	values := c.initialSettings(u, initial)
	if err := c.writeSettings(id, string(u.Name), values, nil); err != nil {
		return Entered{}, err
	}
	n := c.enter(u, rel, e)
	if e.Create != "" {
		e.Subordinate = c.addSubordinate(u, e.Create)
	}
	return Entered{Subordinate: e.Subordinate, Incarnation: n}, nil
}

// enter records the membership and returns its incarnation.
func (c change) enter(u entity.Unit, rel entity.Relation, e lifecycle.Entry) int {
	n := int(c.r.next(c.tx, c.m, "entry", 1))
	c.r.members.Put(c.tx, entity.Member{
		Model: c.m, Relation: rel.ID, Unit: u.Name, UnitUID: u.UID, Role: e.Own.Role,
		Root: e.Root, Incarnation: n, Since: c.now,
	})
	return n
}

func (c change) addSubordinate(principal entity.Unit, app entity.AppName) entity.UnitName {
	name := app.Unit(int(c.r.next(c.tx, c.m, "unit:"+string(app), 0)))
	c.putUnit(entity.Unit{Name: name, App: app, Principal: principal.Name})
	return name
}

// initialSettings are the agent's, completed from the machine's address.
func (w World) initialSettings(u entity.Unit, initial map[string]string) map[string]string {
	values := map[string]string{}
	machine, _ := w.r.MachineOf(w.rd, w.m, u)
	address := machine.Address
	if a := initial[privateAddress]; a != "" {
		address = a
	}
	if address == "" {
		address = "127.0.0.1" // an agent that asks before it reported is on this host
	}
	values[privateAddress], values[ingressAddress], values[egressSubnets] = address, address, address+"/32"
	maps.Copy(values, initial)
	return values
}

// LeaveScope takes the unit out of the relation's scope; the last one to leave a
// Dying relation removes it, and perhaps the counterpart application. Leaving a
// scope that the unit is not in, or a relation that is gone, is no error.
// Spec: 000 "juju remove-relation".
func (r *Registry) LeaveScope(tx *store.Txn, now when.Instant, m entity.ModelUID, ref UnitRef, id entity.RelationID) error {
	c := r.change(tx, now, m)
	u, err := c.unit(ref)
	if err != nil {
		return err
	}
	c.leave(u, id)
	return nil
}

func (c change) leave(u entity.Unit, id entity.RelationID) {
	if rel, ok := c.Relation(id); ok {
		c.do(lifecycle.LeaveScope(c, u, rel))
	}
}

// NewIncarnation serves an agent without a disk: in this transaction the unit
// leaves every scope it is recorded in and, where it and the relation are Alive,
// enters again with fresh settings (SEMANTICS 16). It returns the new number.
func (r *Registry) NewIncarnation(tx *store.Txn, now when.Instant, m entity.ModelUID, ref UnitRef) (int, error) {
	c := r.change(tx, now, m)
	u, err := c.unit(ref)
	if err != nil {
		return 0, err
	}
	for _, scope := range c.ScopesOf(u.Name) {
		c.reenter(u, scope.Relation)
	}
	u, err = c.unit(ref)
	if err != nil {
		return 0, err
	}
	u.Incarnation++
	u.Commits, u.Failure, u.Hook, u.Workflow, u.Ports = 0, nil, "", entity.WorkflowNew, nil
	r.units.Put(tx, u)
	return u.Incarnation, nil
}

func (c change) reenter(u entity.Unit, id entity.RelationID) {
	rel, ok := c.Relation(id)
	if !ok {
		return
	}
	if rel.Life != entity.Alive || u.Life != entity.Alive {
		c.leave(u, id)
		return
	}
	old, _ := c.r.members.Get(c.tx, memberKey(c.m, id, u.Name))
	own, _ := rel.Endpoint(u.App)
	s, _ := c.r.settings.Get(c.tx, settingsKey(c.m, id, string(u.Name)))
	s.Model, s.Relation, s.Owner = c.m, id, string(u.Name)
	s.Values, s.Version = c.initialSettings(u, nil), s.Version+1
	c.r.settings.Put(c.tx, s)
	c.r.members.Delete(c.tx, memberKey(c.m, id, u.Name))
	c.enter(u, rel, lifecycle.Entry{Own: own, Root: old.Root})
}

func noRelation(id entity.RelationID) error {
	return fault.New(fault.NotFound, "relation not found").Why("relation %d is gone", id)
}
