package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
)

func pad(n uint64) string { return fmt.Sprintf("%010d", n) }

// Machine is the machine's row.
func (r *Registry) Machine(rd store.Reader, m entity.ModelUID, id entity.MachineID) (entity.Machine, bool) {
	return r.machines.Get(rd, machineKey(m, id))
}

// Application is the application's row.
func (r *Registry) Application(rd store.Reader, m entity.ModelUID, app entity.AppName) (entity.Application, bool) {
	return r.apps.Get(rd, appKey(m, app))
}

// Unit is the unit's row.
func (r *Registry) Unit(rd store.Reader, m entity.ModelUID, unit entity.UnitName) (entity.Unit, bool) {
	return r.units.Get(rd, unitKey(m, unit))
}

// Relation is the relation's row.
func (r *Registry) Relation(rd store.Reader, m entity.ModelUID, id entity.RelationID) (entity.Relation, bool) {
	return r.relations.Get(rd, relationKey(m, id))
}

// ListMachines are the model's machines by number, children after their hosts.
func (r *Registry) ListMachines(rd store.Reader, m entity.ModelUID) []entity.Machine {
	ms := slices.Collect(r.machines.Prefix(rd, string(m)+"/"))
	slices.SortFunc(ms, func(a, b entity.Machine) int { return compareMachines(a.ID, b.ID) })
	return ms
}

func compareMachines(a, b entity.MachineID) int {
	as, bs := strings.Split(string(a), "/"), strings.Split(string(b), "/")
	for i := range min(len(as), len(bs)) {
		if n := cmp.Or(cmp.Compare(len(as[i]), len(bs[i])), cmp.Compare(as[i], bs[i])); n != 0 {
			return n
		}
	}
	return cmp.Compare(len(as), len(bs))
}

// ListApplications are the model's applications by name.
func (r *Registry) ListApplications(rd store.Reader, m entity.ModelUID) []entity.Application {
	return slices.Collect(r.apps.Prefix(rd, string(m)+"/"))
}

// ListUnits are the model's units by application and number.
func (r *Registry) ListUnits(rd store.Reader, m entity.ModelUID) []entity.Unit {
	return sortUnits(slices.Collect(r.units.Prefix(rd, string(m)+"/")))
}

// ListRelations are the model's relations by id.
func (r *Registry) ListRelations(rd store.Reader, m entity.ModelUID) []entity.Relation {
	return slices.Collect(r.relations.Prefix(rd, string(m)+"/"))
}

// ListCleanups are all recorded cleanups in the order of their ids.
func (r *Registry) ListCleanups(rd store.Reader) []entity.Cleanup {
	return slices.Collect(r.cleanups.All(rd))
}

// UnitsOf are the application's units by number.
func (r *Registry) UnitsOf(rd store.Reader, m entity.ModelUID, app entity.AppName) []entity.Unit {
	return sortUnits(slices.Collect(r.unitByApp.Rows(rd, appKey(m, app))))
}

// UnitsOn are the principals assigned to the machine, by name and number.
func (r *Registry) UnitsOn(rd store.Reader, m entity.ModelUID, id entity.MachineID) []entity.Unit {
	return sortUnits(slices.Collect(r.unitByMachine.Rows(rd, machineKey(m, id))))
}

// AllUnitsOn are the principals assigned to the machine, each followed by its
// subordinates.
func (r *Registry) AllUnitsOn(rd store.Reader, m entity.ModelUID, id entity.MachineID) []entity.Unit {
	var all []entity.Unit
	for _, u := range r.UnitsOn(rd, m, id) {
		all = append(all, u)
		all = append(all, r.Subordinates(rd, m, u.Name)...)
	}
	return all
}

// Subordinates are the unit's subordinates, by name and number.
func (r *Registry) Subordinates(rd store.Reader, m entity.ModelUID, principal entity.UnitName) []entity.Unit {
	return sortUnits(slices.Collect(r.unitByPrincipal.Rows(rd, unitKey(m, principal))))
}

// SubordinateWanted reports whether the subordinate's principal is Alive and an
// Alive container-scoped relation joins their applications.
func (r *Registry) SubordinateWanted(rd store.Reader, m entity.ModelUID, u entity.Unit) bool {
	return lifecycle.SubordinateWanted(World{r, rd, m}, u)
}

// MachineOf is the machine that a unit runs on; a subordinate's is its
// principal's.
func (r *Registry) MachineOf(rd store.Reader, m entity.ModelUID, u entity.Unit) (entity.Machine, bool) {
	if u.IsSubordinate() {
		p, ok := r.Unit(rd, m, u.Principal)
		if !ok {
			return entity.Machine{}, false
		}
		u = p
	}
	return r.Machine(rd, m, u.Machine)
}

// UnitCount is the number of the application's units.
func (r *Registry) UnitCount(rd store.Reader, m entity.ModelUID, app entity.AppName) int {
	return r.unitByApp.Count(rd, appKey(m, app))
}

// RelationCount is the number of the application's relations.
func (r *Registry) RelationCount(rd store.Reader, m entity.ModelUID, app entity.AppName) int {
	return r.relationByApp.Count(rd, appKey(m, app))
}

// ScopeCount is the number of units in scope of the relation.
func (r *Registry) ScopeCount(rd store.Reader, m entity.ModelUID, rel entity.RelationID) int {
	return r.memberByRelation.Count(rd, relationKey(m, rel))
}

// UnitRelations are the relations that concern the unit, by id: those of its
// application that it may take part in, and those whose scope it is in.
func (r *Registry) UnitRelations(rd store.Reader, m entity.ModelUID, unit entity.UnitName) []UnitRelation {
	u, ok := r.Unit(rd, m, unit)
	if !ok {
		return nil
	}
	w := World{r, rd, m}
	var out []UnitRelation
	for _, rel := range w.RelationsOf(u.App) {
		own, _ := rel.Endpoint(u.App)
		remote := own
		if e, ok := rel.Endpoint(rel.Counterpart(u.App)); ok {
			remote = e
		}
		member, in := r.members.Get(rd, memberKey(m, rel.ID, unit))
		if in || lifecycle.Concerns(w, u, rel) {
			out = append(out, UnitRelation{Relation: rel, Own: own, Remote: remote, Member: member, InScope: in})
		}
	}
	return out
}

// SeenMembers are the units that the unit sees in the relation, sorted by
// application and number: those of the counterpart role, in a container-scoped
// relation only those that share its principal (invariants G2, G3).
func (r *Registry) SeenMembers(rd store.Reader, m entity.ModelUID, unit entity.UnitName, id entity.RelationID) []SeenMember {
	u, ok := r.Unit(rd, m, unit)
	rel, found := r.Relation(rd, m, id)
	own, concerned := rel.Endpoint(u.App)
	if !ok || !found || !concerned {
		return nil
	}
	root, rows := entity.UnitName(""), r.memberByRelation.Rows(rd, relationKey(m, id))
	if rel.Scope() == entity.ScopeContainer {
		root = u.Root()
		rows = r.memberByRoot.Rows(rd, memberKey(m, id, root))
	}
	var out []SeenMember
	for other := range rows {
		if !lifecycle.Sees(unit, own.Role, root, other) {
			continue
		}
		s, _ := r.settings.Get(rd, settingsKey(m, id, string(other.Unit)))
		bag, _ := r.settings.Get(rd, settingsKey(m, id, string(other.Unit.App())))
		out = append(out, SeenMember{Member: other, SettingsVersion: s.Version, AppSettingsVersion: bag.Version})
	}
	slices.SortFunc(out, func(a, b SeenMember) int { return compareUnits(a.Member.Unit, b.Member.Unit) })
	return out
}

func compareUnits(a, b entity.UnitName) int {
	return cmp.Or(cmp.Compare(a.App(), b.App()), cmp.Compare(a.Number(), b.Number()))
}

// Members are the units in scope of the relation, sorted; limit 0 means all.
func (r *Registry) Members(rd store.Reader, m entity.ModelUID, rel entity.RelationID, limit int) []entity.Member {
	var out []entity.Member
	for member := range r.memberByRelation.Rows(rd, relationKey(m, rel)) {
		if out = append(out, member); limit > 0 && len(out) == limit {
			break
		}
	}
	slices.SortFunc(out, func(a, b entity.Member) int { return compareUnits(a.Unit, b.Unit) })
	return out
}

// UnitRevision is the revision of the unit's last change.
func (r *Registry) UnitRevision(rd store.Reader, m entity.ModelUID, unit entity.UnitName) store.Revision {
	return r.units.RevisionOf(rd, unitKey(m, unit))
}

// AppRevision is the revision of the application's last change.
func (r *Registry) AppRevision(rd store.Reader, m entity.ModelUID, app entity.AppName) store.Revision {
	return r.apps.RevisionOf(rd, appKey(m, app))
}

// MachineRevision is the revision of the machine's last change.
func (r *Registry) MachineRevision(rd store.Reader, m entity.ModelUID, id entity.MachineID) store.Revision {
	return r.machines.RevisionOf(rd, machineKey(m, id))
}

// RelationRevision is the revision of the relation's last change.
func (r *Registry) RelationRevision(rd store.Reader, m entity.ModelUID, id entity.RelationID) store.Revision {
	return r.relations.RevisionOf(rd, relationKey(m, id))
}
