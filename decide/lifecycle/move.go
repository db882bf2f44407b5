package lifecycle

import (
	"errors"

	"drover/noun/entity"
)

// CheckMove verifies that one state of a model may follow another by a single
// transaction, and lists every breach. Invariants: L1, L6–L8, L10.
func CheckMove(before, after Snapshot) error {
	m := mover{checker: checker{w: after}, before: before}
	m.machines()
	m.applications()
	m.units()
	m.relations()
	m.members()
	return errors.Join(m.found...)
}

type mover struct {
	checker
	before Snapshot
}

// life checks that a row's life went forward. A uid that was not there before is
// a creation.
func (m *mover) life(what string, was, is entity.Life) {
	if is < was {
		m.breach("L1", "%s went from %s to %s", what, was, is)
	}
}

func (m *mover) born(what string, life entity.Life) {
	if life != entity.Alive {
		m.breach("L1", "%s was created %s", what, life)
	}
}

func (m *mover) machines() {
	was := map[entity.UID]entity.Machine{}
	ids := map[entity.MachineID]bool{}
	for _, x := range m.before.Machines() {
		was[x.UID], ids[x.ID] = x, true
	}
	for _, x := range m.w.Machines() {
		old, known := was[x.UID]
		if known {
			m.life("machine "+string(x.ID), old.Life, x.Life)
		} else {
			m.born("machine "+string(x.ID), x.Life)
			if ids[x.ID] {
				m.breach("L10", "machine id %s was given again", x.ID)
			}
		}
	}
}

func (m *mover) applications() {
	was := map[entity.AppName]entity.Application{}
	for _, x := range m.before.Applications() {
		was[x.Name] = x
	}
	for _, x := range m.w.Applications() {
		old, known := was[x.Name]
		switch {
		case !known:
			m.born("application "+string(x.Name), x.Life)
		case old.UID != x.UID:
			m.breach("L10", "application %s took the name of one that was there", x.Name)
		default:
			m.life("application "+string(x.Name), old.Life, x.Life)
		}
	}
}

func (m *mover) units() {
	was := map[entity.UnitName]entity.Unit{}
	most := map[entity.AppName]int{}
	for _, x := range m.before.Units() {
		was[x.Name] = x
		most[x.App] = max(most[x.App], x.Name.Number())
	}
	for _, x := range m.w.Units() {
		old, known := was[x.Name]
		if known && old.UID == x.UID {
			m.life("unit "+string(x.Name), old.Life, x.Life)
			continue
		}
		m.born("unit "+string(x.Name), x.Life)
		if n, had := most[x.App]; had && x.Name.Number() <= n {
			m.breach("L10", "unit number of %s was given again", x.Name)
		}
		m.unitBorn(x)
	}
	for _, x := range m.before.Units() {
		now, ok := m.w.Unit(x.Name)
		if ok && now.UID == x.UID {
			continue
		}
		if x.Life != entity.Dead && x.Deployed && !x.Forced {
			m.breach("L6", "unit %s was removed while %s", x.Name, x.Life)
		}
	}
}

// unitBorn checks a new unit's parents (L7, L8).
func (m *mover) unitBorn(x entity.Unit) {
	if app, _ := m.w.Application(x.App); app.Life != entity.Alive {
		m.breach("L7", "unit %s was created for a %s application", x.Name, app.Life)
	}
	if machine, _ := m.w.Machine(x.Machine); x.Machine != "" && machine.Life != entity.Alive {
		m.breach("L7", "unit %s was assigned to a %s machine", x.Name, machine.Life)
	}
	if !x.IsSubordinate() {
		return
	}
	if p, _ := m.w.Unit(x.Principal); p.Life != entity.Alive {
		m.breach("L8", "subordinate %s was created by a %s principal", x.Name, p.Life)
	}
	if !SubordinateWanted(m.w, x) {
		m.breach("L8", "subordinate %s was created without an alive container-scoped relation", x.Name)
	}
}

func (m *mover) relations() {
	for _, x := range m.w.Relations() {
		old, known := m.before.Relation(x.ID)
		if known {
			m.life("relation "+x.CanonicalName(), old.Life, x.Life)
			continue
		}
		m.born("relation "+x.CanonicalName(), x.Life)
	}
}

func (m *mover) members() {
	type key struct {
		rel  entity.RelationID
		unit entity.UnitName
		n    int
	}
	was := map[key]bool{}
	for _, x := range m.before.Members() {
		was[key{x.Relation, x.Unit, x.Incarnation}] = true
	}
	for _, x := range m.w.Members() {
		if was[key{x.Relation, x.Unit, x.Incarnation}] {
			continue
		}
		u, _ := m.w.Unit(x.Unit)
		rel, _ := m.w.Relation(x.Relation)
		if u.Life != entity.Alive || rel.Life != entity.Alive {
			m.breach("L7", "%s unit %s entered the scope of %s relation %d", u.Life, x.Unit, rel.Life, x.Relation)
		}
	}
}
