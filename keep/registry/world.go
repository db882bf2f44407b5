package registry

import (
	"cmp"
	"slices"

	"drover/decide/lifecycle"
	"drover/decide/why"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/work"
)

// World is one model of a reader. It is what decide/lifecycle and decide/why
// read, and what lifecycle.Check verifies.
type World struct {
	r  *Registry
	rd store.Reader
	m  entity.ModelUID
}

var (
	_ lifecycle.Snapshot = World{}
	_ why.World          = World{}
)

// World is the model as decisions read it.
func (r *Registry) World(rd store.Reader, m entity.ModelUID) World { return World{r, rd, m} }

// Model is the model's row.
func (w World) Model() entity.Model {
	m, _ := w.r.models.Get(w.rd, string(w.m))
	return m
}

// Machine is the machine's row.
func (w World) Machine(id entity.MachineID) (entity.Machine, bool) { return w.r.Machine(w.rd, w.m, id) }

// Application is the application's row.
func (w World) Application(a entity.AppName) (entity.Application, bool) {
	return w.r.Application(w.rd, w.m, a)
}

// Unit is the unit's row.
func (w World) Unit(u entity.UnitName) (entity.Unit, bool) { return w.r.Unit(w.rd, w.m, u) }

// Relation is the relation's row.
func (w World) Relation(id entity.RelationID) (entity.Relation, bool) {
	return w.r.Relation(w.rd, w.m, id)
}

// UnitCount is the number of the application's units.
func (w World) UnitCount(a entity.AppName) int { return w.r.UnitCount(w.rd, w.m, a) }

// ScopeCount is the number of units in scope of the relation.
func (w World) ScopeCount(id entity.RelationID) int { return w.r.ScopeCount(w.rd, w.m, id) }

// RelationsOf are the application's relations by id.
func (w World) RelationsOf(a entity.AppName) []entity.Relation {
	return slices.Collect(w.r.relationByApp.Rows(w.rd, appKey(w.m, a)))
}

// ScopesOf are the unit's memberships by relation.
func (w World) ScopesOf(u entity.UnitName) []entity.Member {
	return slices.Collect(w.r.memberByUnit.Rows(w.rd, unitKey(w.m, u)))
}

// SubordinatesOf are the unit's subordinates.
func (w World) SubordinatesOf(u entity.UnitName) []entity.Unit {
	return w.r.Subordinates(w.rd, w.m, u)
}

// PrincipalsOn are the units assigned to the machine.
func (w World) PrincipalsOn(id entity.MachineID) []entity.Unit { return w.r.UnitsOn(w.rd, w.m, id) }

// ChildMachines are the machines that the machine hosts.
func (w World) ChildMachines(id entity.MachineID) []entity.MachineID {
	var ids []entity.MachineID
	for m := range w.r.machineByParent.Rows(w.rd, machineKey(w.m, id)) {
		ids = append(ids, m.ID)
	}
	return ids
}

// AliveManagers counts the Alive machines with the manage job in all models.
func (w World) AliveManagers() int { return w.r.machineByManager.Count(w.rd, "manager") }

// HoldsWork reports whether the machine's cell holds instances or tasks.
func (w World) HoldsWork(id entity.MachineID) bool {
	return w.r.Work != nil && w.r.Work.CellBusy(w.rd, w.cell(id))
}

func (w World) cell(id entity.MachineID) work.CellID { return CellID(w.Model(), id) }

// Machines are the model's machines by number.
func (w World) Machines() []entity.Machine { return w.r.ListMachines(w.rd, w.m) }

// Applications are the model's applications by name.
func (w World) Applications() []entity.Application { return w.r.ListApplications(w.rd, w.m) }

// Units are the model's units by application and number.
func (w World) Units() []entity.Unit { return w.r.ListUnits(w.rd, w.m) }

// Relations are the model's relations by id.
func (w World) Relations() []entity.Relation { return w.r.ListRelations(w.rd, w.m) }

// Cleanups are the model's recorded cleanups.
func (w World) Cleanups() []entity.Cleanup {
	return slices.DeleteFunc(w.r.ListCleanups(w.rd), func(q entity.Cleanup) bool { return q.Model != w.m })
}

// Members are all memberships.
func (w World) Members() []entity.Member {
	return slices.Collect(w.r.members.Prefix(w.rd, string(w.m)+"/"))
}

// AllSettings are the settings of all relations, removed ones included.
func (w World) AllSettings() []entity.Settings {
	return slices.Collect(w.r.settings.Prefix(w.rd, string(w.m)+"/"))
}

// UnitsOf are up to limit of the application's units, by number; 0 means all.
func (w World) UnitsOf(a entity.AppName, limit int) []entity.Unit {
	if limit == 0 || w.UnitCount(a) <= limit {
		return w.r.UnitsOf(w.rd, w.m, a)
	}
	var out []entity.Unit
	for u := range w.r.unitByApp.Rows(w.rd, appKey(w.m, a)) {
		if out = append(out, u); len(out) == limit {
			break
		}
	}
	return sortUnits(out)
}

// MembersOf are up to limit of the units in scope of the relation; 0 means all.
func (w World) MembersOf(id entity.RelationID, limit int) []entity.Member {
	return w.r.Members(w.rd, w.m, id, limit)
}

func sortUnits(us []entity.Unit) []entity.Unit {
	slices.SortFunc(us, func(a, b entity.Unit) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Name.Number(), b.Name.Number()))
	})
	return us
}
