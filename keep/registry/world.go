package registry

import (
	"cmp"
	"slices"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/work"
)

// world is one model of a reader, as decide/lifecycle reads it.
type world struct {
	r  *Registry
	rd store.Reader
	m  entity.ModelUID
}

// World is the model as decisions read it, and as lifecycle.Check verifies it.
func (r *Registry) World(rd store.Reader, m entity.ModelUID) lifecycle.Snapshot {
	return world{r, rd, m}
}

func (w world) Model() entity.Model {
	m, _ := w.r.models.Get(w.rd, string(w.m))
	return m
}

func (w world) Machine(id entity.MachineID) (entity.Machine, bool) { return w.r.Machine(w.rd, w.m, id) }

func (w world) Application(a entity.AppName) (entity.Application, bool) {
	return w.r.Application(w.rd, w.m, a)
}

func (w world) Unit(u entity.UnitName) (entity.Unit, bool) { return w.r.Unit(w.rd, w.m, u) }

func (w world) Relation(id entity.RelationID) (entity.Relation, bool) {
	return w.r.Relation(w.rd, w.m, id)
}

func (w world) UnitCount(a entity.AppName) int { return w.r.UnitCount(w.rd, w.m, a) }

func (w world) ScopeCount(id entity.RelationID) int { return w.r.ScopeCount(w.rd, w.m, id) }

func (w world) RelationsOf(a entity.AppName) []entity.Relation {
	return slices.Collect(w.r.relationByApp.Rows(w.rd, appKey(w.m, a)))
}

func (w world) ScopesOf(u entity.UnitName) []entity.Member {
	return slices.Collect(w.r.memberByUnit.Rows(w.rd, unitKey(w.m, u)))
}

func (w world) SubordinatesOf(u entity.UnitName) []entity.Unit {
	return w.r.Subordinates(w.rd, w.m, u)
}

func (w world) PrincipalsOn(id entity.MachineID) []entity.Unit { return w.r.UnitsOn(w.rd, w.m, id) }

func (w world) ChildMachines(id entity.MachineID) []entity.MachineID {
	var ids []entity.MachineID
	for m := range w.r.machineByParent.Rows(w.rd, machineKey(w.m, id)) {
		ids = append(ids, m.ID)
	}
	return ids
}

func (w world) AliveManagers() int { return w.r.machineByManager.Count(w.rd, "manager") }

func (w world) HoldsWork(id entity.MachineID) bool {
	return w.r.Work != nil && w.r.Work.CellBusy(w.rd, w.cell(id))
}

func (w world) cell(id entity.MachineID) work.CellID { return CellID(w.Model(), id) }

func (w world) Machines() []entity.Machine         { return w.r.ListMachines(w.rd, w.m) }
func (w world) Applications() []entity.Application { return w.r.ListApplications(w.rd, w.m) }
func (w world) Units() []entity.Unit               { return w.r.ListUnits(w.rd, w.m) }
func (w world) Relations() []entity.Relation       { return w.r.ListRelations(w.rd, w.m) }

func (w world) Cleanups() []entity.Cleanup {
	return slices.DeleteFunc(w.r.ListCleanups(w.rd), func(q entity.Cleanup) bool { return q.Model != w.m })
}

func (w world) Members() []entity.Member {
	return slices.Collect(w.r.members.Prefix(w.rd, string(w.m)+"/"))
}

func (w world) AllSettings() []entity.Settings {
	return slices.Collect(w.r.settings.Prefix(w.rd, string(w.m)+"/"))
}

func sortUnits(us []entity.Unit) []entity.Unit {
	slices.SortFunc(us, func(a, b entity.Unit) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Name.Number(), b.Name.Number()))
	})
	return us
}
