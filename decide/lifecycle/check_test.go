package lifecycle

import (
	"strings"
	"testing"

	"drover/noun/entity"
)

// rows is a world of a handful of rows. Counts may be made to lie.
type rows struct {
	machines  []entity.Machine
	apps      []entity.Application
	units     []entity.Unit
	relations []entity.Relation
	members   []entity.Member
	settings  []entity.Settings
	cleanups  []entity.Cleanup
	busy      bool
	unitsLie  int
	scopeLie  int
}

func pick[T any](all []T, is func(T) bool) []T {
	var out []T
	for _, x := range all {
		if is(x) {
			out = append(out, x)
		}
	}
	return out
}

func first[T any](all []T, is func(T) bool) (T, bool) {
	for _, x := range pick(all, is) {
		return x, true
	}
	var zero T
	return zero, false
}

func (r *rows) Model() entity.Model { return entity.Model{Name: "default", Life: entity.Alive} }
func (r *rows) Machine(id entity.MachineID) (entity.Machine, bool) {
	return first(r.machines, func(x entity.Machine) bool { return x.ID == id })
}
func (r *rows) Application(n entity.AppName) (entity.Application, bool) {
	return first(r.apps, func(x entity.Application) bool { return x.Name == n })
}
func (r *rows) Unit(n entity.UnitName) (entity.Unit, bool) {
	return first(r.units, func(x entity.Unit) bool { return x.Name == n })
}
func (r *rows) Relation(id entity.RelationID) (entity.Relation, bool) {
	return first(r.relations, func(x entity.Relation) bool { return x.ID == id })
}
func (r *rows) UnitCount(a entity.AppName) int {
	return len(pick(r.units, func(x entity.Unit) bool { return x.App == a })) + r.unitsLie
}
func (r *rows) RelationsOf(a entity.AppName) []entity.Relation {
	return pick(r.relations, func(x entity.Relation) bool { _, ok := x.Endpoint(a); return ok })
}
func (r *rows) ScopeCount(id entity.RelationID) int {
	return len(pick(r.members, func(x entity.Member) bool { return x.Relation == id })) + r.scopeLie
}
func (r *rows) ScopesOf(u entity.UnitName) []entity.Member {
	return pick(r.members, func(x entity.Member) bool { return x.Unit == u })
}
func (r *rows) SubordinatesOf(u entity.UnitName) []entity.Unit {
	return pick(r.units, func(x entity.Unit) bool { return x.Principal == u })
}
func (r *rows) PrincipalsOn(id entity.MachineID) []entity.Unit {
	return pick(r.units, func(x entity.Unit) bool { return x.Machine == id })
}
func (r *rows) ChildMachines(id entity.MachineID) []entity.MachineID {
	var out []entity.MachineID
	for _, m := range r.machines {
		if m.ID.Parent() == id {
			out = append(out, m.ID)
		}
	}
	return out
}
func (r *rows) AliveManagers() int                 { return 1 }
func (r *rows) HoldsWork(entity.MachineID) bool    { return r.busy }
func (r *rows) Machines() []entity.Machine         { return r.machines }
func (r *rows) Applications() []entity.Application { return r.apps }
func (r *rows) Units() []entity.Unit               { return r.units }
func (r *rows) Relations() []entity.Relation       { return r.relations }
func (r *rows) Members() []entity.Member           { return r.members }
func (r *rows) AllSettings() []entity.Settings     { return r.settings }
func (r *rows) Cleanups() []entity.Cleanup         { return r.cleanups }

// sound is a world that obeys all invariants: blog with a subordinate log in a
// container-scoped relation, and ring with its peers.
func sound() *rows {
	host := entity.Endpoint{App: "log", Name: "host", Role: entity.Requirer, Interface: entity.JujuInfo, Scope: entity.ScopeContainer}
	info := entity.Endpoint{App: "blog", Name: entity.JujuInfo, Role: entity.Provider, Interface: entity.JujuInfo, Scope: entity.ScopeGlobal}
	peer := entity.Endpoint{App: "ring", Name: "all", Role: entity.Peer, Interface: "ring", Scope: entity.ScopeGlobal}
	published := map[string]string{"private-address": "10.0.0.1"}
	return &rows{
		machines: []entity.Machine{
			{ID: "0", UID: "m0", Life: entity.Alive, Jobs: []entity.Job{entity.ManageModel}},
			{ID: "1", UID: "m1", Life: entity.Alive, Jobs: []entity.Job{entity.HostUnits}},
			{ID: "2", UID: "m2", Life: entity.Dying},
		},
		apps: []entity.Application{
			{Name: "blog", UID: "a1", Life: entity.Alive, Endpoints: []entity.Endpoint{info}, Leader: "blog/0"},
			{Name: "log", UID: "a2", Life: entity.Alive, Subordinate: true, Endpoints: []entity.Endpoint{host}},
			{Name: "ring", UID: "a3", Life: entity.Alive, Endpoints: []entity.Endpoint{peer}},
		},
		units: []entity.Unit{
			{Name: "blog/0", UID: "u1", App: "blog", Life: entity.Alive, Machine: "1", Deployed: true},
			{Name: "log/0", UID: "u2", App: "log", Life: entity.Alive, Principal: "blog/0", Deployed: true},
		},
		relations: []entity.Relation{
			{ID: 1, UID: "r1", Life: entity.Alive, Endpoints: []entity.Endpoint{host, info}},
			{ID: 2, UID: "r2", Life: entity.Alive, Endpoints: []entity.Endpoint{peer}},
		},
		members: []entity.Member{
			{Relation: 1, Unit: "blog/0", UnitUID: "u1", Role: entity.Provider, Root: "blog/0", Incarnation: 1},
			{Relation: 1, Unit: "log/0", UnitUID: "u2", Role: entity.Requirer, Root: "blog/0", Incarnation: 2},
		},
		settings: []entity.Settings{
			{Relation: 1, Owner: "blog/0", Values: published}, {Relation: 1, Owner: "log/0", Values: published},
			{Relation: 9, Owner: "gone/0", Values: published},
		},
		cleanups: []entity.Cleanup{{Kind: entity.CleanSettings, Target: "9"}},
	}
}

func TestASoundWorldPasses(t *testing.T) {
	if err := Check(sound()); err != nil {
		t.Error(err)
	}
	if err := CheckMove(sound(), sound()); err != nil {
		t.Error(err)
	}
	if err := CheckMove(&rows{}, &rows{}); err != nil {
		t.Error(err)
	}
}

// Rule: E-001 E-002 E-082 E-132 E-133 E-134 E-135 E-136
func TestCheckFindsEachBreach(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		spoil      func(*rows)
	}{
		{"L1", "a machine without a life", func(r *rows) { r.machines[1].Life = 0 }},
		{"L3", "a stored dead application", func(r *rows) { r.apps[2].Life = entity.Dead }},
		{"L3", "a stored dead relation", func(r *rows) { r.relations[1].Life = entity.Dead }},
		{"L4", "a dead unit in a scope", func(r *rows) { r.units[1].Life = entity.Dead }},
		{"L4", "a dead unit with a subordinate", func(r *rows) { r.units[0].Life, r.members = entity.Dead, nil }},
		{"L5", "a dying manager", func(r *rows) { r.machines[0].Life = entity.Dying }},
		{"L5", "a dying machine with an alive principal", func(r *rows) { r.machines[1].Life = entity.Dying }},
		{"L5", "a dead machine with a dying unit", func(r *rows) { r.machines[1].Life, r.units[0].Life = entity.Dead, entity.Dying }},
		{"L5", "a dead machine with a child", func(r *rows) {
			r.machines[2].Life = entity.Dead
			r.machines = append(r.machines, entity.Machine{ID: "2/x/0", Life: entity.Alive})
		}},
		{"L5", "a dead machine with work", func(r *rows) { r.machines[2].Life, r.busy = entity.Dead, true }},
		{"L7", "an alive relation of a dying application", func(r *rows) { r.apps[0].Life = entity.Dying }},
		{"L8", "two subordinates of one application", func(r *rows) {
			r.units = append(r.units, entity.Unit{Name: "log/1", App: "log", Life: entity.Alive, Principal: "blog/0"})
		}},
		{"L10", "two relations of one name", func(r *rows) { x := r.relations[0]; x.ID = 5; r.relations = append(r.relations, x) }},
		{"R1", "a wrong count of units", func(r *rows) { r.unitsLie = 1 }},
		{"R3", "a wrong count of members", func(r *rows) { r.scopeLie = 1 }},
		{"R6", "a unit without its application", func(r *rows) { r.units[0].App = "nope" }},
		{"R6", "a unit without its machine", func(r *rows) { r.units[0].Machine = "77" }},
		{"R6", "a subordinate without its principal", func(r *rows) { r.units[1].Principal = "blog/9" }},
		{"R6", "a child machine without its host", func(r *rows) { r.machines[2].ID = "8/x/0" }},
		{"R6", "a relation without an application", func(r *rows) { r.apps = r.apps[:2] }},
		{"R6", "a member without its unit", func(r *rows) { r.members[0].Unit = "blog/4" }},
		{"R6", "a member of another incarnation of the unit", func(r *rows) { r.members[0].UnitUID = "other" }},
		{"R6", "a member without its relation", func(r *rows) { r.members[0].Relation = 44 }},
		{"R6", "a leader that is gone", func(r *rows) { r.apps[0].Leader = "blog/8" }},
		{"R7", "a dying application that nothing holds", func(r *rows) { r.apps[2].Life, r.relations = entity.Dying, r.relations[:1] }},
		{"R7", "a dying relation without members", func(r *rows) { r.relations[1].Life = entity.Dying }},
		{"R8", "a missing peer relation", func(r *rows) { r.relations = r.relations[:1] }},
		{"R9", "settings without relation and record", func(r *rows) { r.cleanups = nil }},
		{"G1", "a member without address", func(r *rows) { r.settings[0].Values = nil }},
		{"G2", "a member under another principal", func(r *rows) { r.members[1].Root = "blog/1" }},
		{"G2", "a member under no principal", func(r *rows) { r.members[1].Root = "" }},
		{"G3", "a member in another role", func(r *rows) { r.members[1].Role = entity.Provider }},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			r := sound()
			tc.spoil(r)
			wantBreach(t, Check(r), tc.rule)
		})
	}
}

func wantBreach(t *testing.T, err error, rule string) {
	t.Helper()
	if err == nil {
		t.Fatalf("nothing was found, want a breach of %s", rule)
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if strings.HasPrefix(line, rule+": ") {
			return
		}
	}
	t.Errorf("found %v, want a breach of %s", err, rule)
}

// Rule: E-003 E-004 E-041 E-116
func TestCheckMoveFindsEachBreach(t *testing.T) {
	for _, tc := range []struct {
		rule, name    string
		before, after func(*rows)
	}{
		{"L1", "a machine comes back to life", nil, func(r *rows) { r.machines[2].Life = entity.Alive }},
		{"L1", "a machine is born dying", func(r *rows) { r.machines = r.machines[:2] }, nil},
		{"L1", "an application comes back to life", func(r *rows) { r.apps[0].Life = entity.Dying }, nil},
		{"L1", "an application is born dying", func(r *rows) { r.apps = nil }, func(r *rows) { r.apps[0].Life = entity.Dying }},
		{"L1", "a unit comes back to life", func(r *rows) { r.units[0].Life = entity.Dead }, nil},
		{"L1", "a unit is born dying", func(r *rows) { r.units = nil }, func(r *rows) { r.units[0].Life = entity.Dying }},
		{"L1", "a relation comes back to life", func(r *rows) { r.relations[0].Life = entity.Dying }, nil},
		{"L1", "a relation is born dying", func(r *rows) { r.relations = nil }, func(r *rows) { r.relations[0].Life = entity.Dying }},
		{"L6", "a unit that was not dead is gone", nil, func(r *rows) { r.units = r.units[:1] }},
		{"L7", "a unit of a dying application", func(r *rows) { r.units = nil }, func(r *rows) { r.apps[0].Life = entity.Dying }},
		{"L7", "a unit on a dying machine", func(r *rows) { r.units = nil }, func(r *rows) { r.units[0].Machine = "2" }},
		{"L7", "a dying unit enters", func(r *rows) { r.members = nil }, func(r *rows) { r.units[0].Life = entity.Dying }},
		{"L7", "a dying relation is entered", func(r *rows) { r.members = nil }, func(r *rows) { r.relations[0].Life = entity.Dying }},
		{"L8", "a subordinate of a dying principal", func(r *rows) { r.units = r.units[:1] }, func(r *rows) { r.units[0].Life = entity.Dying }},
		{"L8", "a subordinate without a relation", func(r *rows) { r.units = r.units[:1] }, func(r *rows) { r.relations = r.relations[1:] }},
		{"L10", "a machine's id again", nil, func(r *rows) { r.machines[1].UID = "new" }},
		{"L10", "an application's name again", nil, func(r *rows) { r.apps[1].UID = "new" }},
		{"L10", "a unit's number again", nil, func(r *rows) { r.units[0].UID = "new" }},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			before, after := sound(), sound()
			if tc.before != nil {
				tc.before(before)
			}
			if tc.after != nil {
				tc.after(after)
			}
			wantBreach(t, CheckMove(before, after), tc.rule)
		})
	}
}

func TestStepsReadAsSentences(t *testing.T) {
	seen := map[string]bool{}
	for v := Verb(1); v < numVerbs; v++ {
		s := Step{Verb: v, Machine: "3", Unit: "blog/0", App: "blog", Relation: 7}.String()
		if seen[s] || strings.Contains(s, "%") || s == "nothing" {
			t.Errorf("verb %d reads %q", v, s)
		}
		seen[s] = true
	}
	if got := (Step{Verb: UnitDying, Unit: "blog/0"}).String(); got != "unit blog/0 becomes dying" {
		t.Errorf("got %q", got)
	}
	if got := (Step{}).String(); got != "nothing" {
		t.Errorf("the zero step reads %q", got)
	}
}

func TestDecisionsAreStepsInOrder(t *testing.T) {
	r := sound()
	say := func(steps []Step, err error) string {
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, s := range steps {
			out = append(out, s.String())
		}
		return strings.Join(out, "; ")
	}
	ring, _ := r.Application("ring")
	rel, _ := r.Relation(1)
	unit, _ := r.Unit("blog/0")
	machine, _ := r.Machine("2")
	for _, tc := range []struct{ name, got, want string }{
		{"an application with an empty peer relation", say(DestroyApplication(r, ring), nil), "relation 2 is removed; application ring is removed"},
		{"a relation with members", say(DestroyRelation(r, rel)), "relation 1 becomes dying"},
		{"a unit", say(DestroyUnit(r, unit)), "unit blog/0 becomes dying"},
		{"a member of an alive relation", say(LeaveScope(r, unit, rel), nil), "unit blog/0 leaves relation 1"},
		{"a unit that is in no such scope", say(LeaveScope(r, unit, entity.Relation{ID: 2}), nil), ""},
		{"a dying machine", say(SetMachineDead(r, machine)), "machine 2 becomes dead"},
		{"a dying machine without an instance", say(RemoveUnprovisioned(r, machine)), "machine 2 becomes dead; machine 2 is removed"},
		{"a dying machine again", say(RemoveMachine(r, machine, false)), ""},
		{"a unit with a subordinate", say(SetUnitDead(r, entity.Unit{Name: "blog/0", Life: entity.Dying})), "unit blog/0 cannot become dead: its subordinate log/0 still exists"},
		{"an alive unit's removal", say(RemoveUnit(r, unit)), "cannot delete unit blog/0: it is alive, not dead"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got %q, want %q", tc.got, tc.want)
			}
		})
	}
}
