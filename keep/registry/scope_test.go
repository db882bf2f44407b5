package registry

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
)

func entering(l *lab, u entity.UnitName, rel entity.RelationID) func(*store.Txn) error {
	return func(tx *store.Txn) error {
		_, err := l.r.EnterScope(tx, l.now, l.m, UnitRef{Name: u}, rel, nil)
		return err
	}
}

func (l *lab) settings(u entity.UnitName, rel entity.RelationID, owner string) entity.Settings {
	l.Helper()
	s, err := l.r.ReadSettings(l.s.View(), l.m, UnitRef{Name: u}, rel, owner)
	if err != nil {
		l.Fatal(err)
	}
	return s
}

func (l *lab) sees(u entity.UnitName, rel entity.RelationID) string {
	var names []string
	for _, m := range l.r.SeenMembers(l.s.View(), l.m, u, rel) {
		names = append(names, string(m.Member.Unit))
	}
	return strings.Join(names, " ")
}

// Rule: E-104 E-130
func TestOnlyAliveUnitsEnterAliveRelations(t *testing.T) {
	l, rel := pair(t)
	l.addUnits("blog", 2, "0", "0")
	l.deployed("blog/1", "blog/2")
	l.enter("blog/1", rel.ID)
	l.removeUnit("blog/2", RemoveOptions{})
	l.refused(fault.Conflict, entering(l, "blog/2", rel.ID))
	l.addUnits("blog", 1, "0")
	l.deployed("blog/3")
	l.removeRelation("blog", "mysql", RemoveOptions{})
	l.refused(fault.Conflict, entering(l, "blog/3", rel.ID))
	l.refused(fault.NotFound, entering(l, "blog/3", 99))
}

func TestEnteringAgainAnswersAsBefore(t *testing.T) {
	l, rel := pair(t)
	before := l.s.View().Revision()
	a := l.enter("blog/0", rel.ID)
	member := l.r.Members(l.s.View(), l.m, rel.ID, 0)[0]
	if l.s.View().Revision() != before || a.Incarnation != member.Incarnation {
		t.Errorf("entering again gave %+v, the member has incarnation %d", a, member.Incarnation)
	}
}

// Rule: E-025 E-026 E-027 E-029
func TestEnteringAContainerScopedRelationMakesTheSubordinate(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 2)
	l.deploy("mon", "mon", -1)
	host, target := l.integrate("mon:host", "blog"), l.integrate("mon:target", "blog")
	l.want(map[string]string{"mon/0": "gone"})
	l.deployed("blog/0", "blog/1")
	if got := l.enter("blog/0", host.ID); got.Subordinate != "mon/0" {
		t.Errorf("entering gave %+v, want mon/0", got)
	}
	if got := l.enter("blog/0", target.ID); got.Subordinate != "mon/0" {
		t.Errorf("entering the second relation gave %+v, want mon/0 again", got)
	}
	if got := l.enter("blog/1", host.ID); got.Subordinate != "mon/1" {
		t.Errorf("another principal's entering gave %+v, want mon/1", got)
	}
	u, _ := l.r.Unit(l.s.View(), l.m, "mon/0")
	if u.Principal != "blog/0" || u.Machine != "" {
		t.Errorf("mon/0 has principal %q and machine %q", u.Principal, u.Machine)
	}
	if m, ok := l.r.MachineOf(l.s.View(), l.m, u); !ok || m.ID != "0" {
		t.Errorf("mon/0 runs on machine %q", m.ID)
	}
}

func TestEnteringWaitsForAnEarlierSubordinateToGo(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("log", "log", -1)
	old := l.integrate("log", "blog")
	l.settle()
	l.removeRelation("log", "blog", RemoveOptions{})
	l.must(func(tx *store.Txn) error { return l.r.DestroyUnit(tx, l.now, l.m, UnitRef{Name: "log/0"}) })
	l.leave("blog/0", old.ID)
	l.leave("log/0", old.ID)
	again := l.integrate("log", "blog")
	if e := l.refused(fault.Conflict, entering(l, "blog/0", again.ID)); e.Code != lifecycle.CodeNotYet {
		t.Errorf("the refusal has code %q, want %q: %v", e.Code, lifecycle.CodeNotYet, e)
	}
	l.dead("log/0")
	l.recall("log/0")
	if got := l.enter("blog/0", again.ID); got.Subordinate != "log/1" {
		t.Errorf("entering gave %+v, want log/1", got)
	}
}

// G1, G2, G3
func TestWhoSeesWhom(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 2)
	l.deploy("mysql", "mysql", 2)
	l.deploy("ring", "ring", 3)
	l.deploy("mon", "mon", -1)
	db, host := l.integrate("blog", "mysql"), l.integrate("mon:host", "blog")
	l.settle()
	peer, _ := l.r.FindRelation(l.s.View(), l.m, "ring", "")
	for _, tc := range []struct {
		unit entity.UnitName
		rel  entity.RelationID
		want string
	}{
		{"blog/0", db.ID, "mysql/0 mysql/1"},
		{"mysql/1", db.ID, "blog/0 blog/1"},
		{"ring/1", peer.ID, "ring/0 ring/2"},
		{"blog/1", host.ID, "mon/1"},
		{"mon/0", host.ID, "blog/0"},
	} {
		if got := l.sees(tc.unit, tc.rel); got != tc.want {
			t.Errorf("%s sees %q, want %q", tc.unit, got, tc.want)
		}
	}
	if got := len(l.r.UnitRelations(l.s.View(), l.m, "mon/0")); got != 1 {
		t.Errorf("mon/0 has %d relations, want 1", got)
	}
}

func TestASubordinateHasNothingToDoWithOtherPrincipalsRelations(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("mysql", "mysql", 1)
	l.deploy("log", "log", -1)
	l.integrate("log", "blog")
	other := l.integrate("log", "mysql")
	l.settle()
	subs := l.r.Subordinates(l.s.View(), l.m, "blog/0")
	if len(subs) != 1 {
		t.Fatalf("blog/0 has subordinates %v", subs)
	}
	l.refused(fault.NotFound, entering(l, subs[0].Name, other.ID))
	for _, rel := range l.r.UnitRelations(l.s.View(), l.m, subs[0].Name) {
		if rel.Relation.ID == other.ID {
			t.Errorf("%s is shown the relation of mysql", subs[0].Name)
		}
	}
}

func TestSettingsAreThereBeforeTheMember(t *testing.T) {
	l, rel := pair(t)
	s := l.settings("blog/0", rel.ID, "mysql/0")
	m, _ := l.r.Machine(l.s.View(), l.m, "1")
	want := map[string]string{"private-address": m.Address, "ingress-address": m.Address, "egress-subnets": m.Address + "/32"}
	if !maps.Equal(s.Values, want) || s.Version != 1 {
		t.Errorf("the initial settings are %v version %d, want %v version 1", s.Values, s.Version, want)
	}
}

// Rule: E-034 E-035
func TestAUnitWithoutItsDiskEntersItsScopesAgain(t *testing.T) {
	l, rel := pair(t)
	l.commit("mysql/0", HookCommit{Number: 1, Settings: []SettingsWrite{{Relation: rel.ID, Set: map[string]string{"password": "x"}}}})
	before := l.r.SeenMembers(l.s.View(), l.m, "blog/0", rel.ID)[0]
	var n int
	l.must(func(tx *store.Txn) (err error) {
		n, err = l.r.NewIncarnation(tx, l.now, l.m, UnitRef{Name: "mysql/0"})
		return
	})
	after := l.r.SeenMembers(l.s.View(), l.m, "blog/0", rel.ID)[0]
	if n != 1 || after.Member.Incarnation <= before.Member.Incarnation || after.SettingsVersion <= before.SettingsVersion {
		t.Errorf("incarnation %d, member %d then %d, settings %d then %d", n, before.Member.Incarnation, after.Member.Incarnation, before.SettingsVersion, after.SettingsVersion)
	}
	if s := l.settings("blog/0", rel.ID, "mysql/0"); s.Values["password"] != "" || s.Values["private-address"] == "" {
		t.Errorf("the settings are not fresh: %v", s.Values)
	}
	// The agent of before has no say any more.
	l.refused(fault.Conflict, func(tx *store.Txn) error {
		_, err := l.r.CommitHook(tx, l.now, l.m, UnitRef{Name: "mysql/0"}, HookCommit{Incarnation: 0, Number: 2})
		return err
	})
	l.refused(fault.Conflict, func(tx *store.Txn) error {
		return l.r.ReportUnit(tx, l.now, l.m, UnitRef{Name: "mysql/0"}, UnitReport{Incarnation: 0})
	})
}

func TestAUnitWithoutItsDiskLeavesWhatIsDying(t *testing.T) {
	l, rel := pair(t)
	l.removeRelation("blog", "mysql", RemoveOptions{})
	for _, u := range []entity.UnitName{"mysql/0", "blog/0"} {
		l.must(func(tx *store.Txn) error { _, err := l.r.NewIncarnation(tx, l.now, l.m, UnitRef{Name: u}); return err })
	}
	if got := l.relationLife(rel.ID); got != "gone" {
		t.Errorf("the relation is %s", got)
	}
}

func (l *lab) commit(u entity.UnitName, c HookCommit) HookCommitted {
	l.Helper()
	var out HookCommitted
	l.must(func(tx *store.Txn) (err error) {
		out, err = l.r.CommitHook(tx, l.now, l.m, UnitRef{Name: u}, c)
		return
	})
	return out
}

func TestAHookIsCommittedOnce(t *testing.T) {
	l, rel := pair(t)
	c := HookCommit{Number: 3, Hook: "db-relation-changed", HookMS: 12, Version: "8.1", Workflow: entity.WorkflowRunning,
		Open:     []entity.Port{{From: 80, To: 80, Protocol: "tcp"}, {From: 443, To: 443, Protocol: "tcp"}},
		Settings: []SettingsWrite{{Relation: rel.ID, Set: map[string]string{"user": "a", "password": "b"}}}}
	if out := l.commit("mysql/0", c); out.Repeated || out.Dropped != nil {
		t.Errorf("the first commit gave %+v", out)
	}
	u, _ := l.r.Unit(l.s.View(), l.m, "mysql/0")
	if u.Commits != 3 || len(u.Ports) != 2 || u.Version != "8.1" || u.Workflow != entity.WorkflowRunning || u.LastHook != "db-relation-changed" || u.LastHookMS != 12 {
		t.Errorf("after the commit the unit is %+v", u)
	}
	before := l.s.View().Revision()
	c.Settings[0].Set["user"] = "c"
	if out := l.commit("mysql/0", c); !out.Repeated || l.s.View().Revision() != before {
		t.Errorf("the same number again gave %+v", out)
	}
	if s := l.settings("blog/0", rel.ID, "mysql/0"); s.Values["user"] != "a" || s.Version != 2 {
		t.Errorf("the settings are %v version %d", s.Values, s.Version)
	}
	// Unchanged values make no new version; an empty one deletes; ports close.
	l.commit("mysql/0", HookCommit{Number: 4, Settings: []SettingsWrite{{Relation: rel.ID, Set: map[string]string{"user": "a"}}}})
	if s := l.settings("blog/0", rel.ID, "mysql/0"); s.Version != 2 {
		t.Errorf("unchanged settings made version %d", s.Version)
	}
	l.commit("mysql/0", HookCommit{Number: 5, Close: []entity.Port{{From: 80, To: 80, Protocol: "tcp"}},
		Settings: []SettingsWrite{{Relation: rel.ID, Set: map[string]string{"user": ""}, Delete: []string{"password"}}}})
	s := l.settings("blog/0", rel.ID, "mysql/0")
	if _, left := s.Values["user"]; left || len(s.Values) != 3 || s.Version != 3 {
		t.Errorf("after deleting the settings are %v version %d", s.Values, s.Version)
	}
	if u, _ := l.r.Unit(l.s.View(), l.m, "mysql/0"); !slices.Equal(u.Ports, []entity.Port{{From: 443, To: 443, Protocol: "tcp"}}) {
		t.Errorf("ports are %v", u.Ports)
	}
}

func TestWritesWithNoPlaceToGoAreDroppedAndTold(t *testing.T) {
	l, rel := pair(t)
	l.deploy("ring", "ring", 1)
	foreign, _ := l.r.FindRelation(l.s.View(), l.m, "ring", "")
	l.removeRelation("blog", "mysql", RemoveOptions{})
	l.leave("blog/0", rel.ID)
	l.leave("mysql/0", rel.ID)
	set := map[string]string{"k": "v"}
	out := l.commit("mysql/0", HookCommit{Number: 1, Version: "2", Settings: []SettingsWrite{{Relation: rel.ID, Set: set}, {Relation: foreign.ID, Set: set}}})
	if len(out.Dropped) != 2 {
		t.Errorf("dropped: %q, want both writes", out.Dropped)
	}
	if u, _ := l.r.Unit(l.s.View(), l.m, "mysql/0"); u.Version != "2" {
		t.Error("the rest of the commit is lost")
	}
}

func TestOnlyTheLeaderWritesItsApplicationsSettings(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("mysql", "mysql", 2)
	rel := l.integrate("blog", "mysql")
	l.settle()
	write := []SettingsWrite{{Relation: rel.ID, Application: true, Set: map[string]string{"primary": "me"}}}
	if out := l.commit("mysql/1", HookCommit{Number: 1, Settings: write}); len(out.Dropped) != 1 {
		t.Errorf("a unit that does not lead wrote: %+v", out)
	}
	if out := l.commit("mysql/0", HookCommit{Number: 1, Settings: write}); len(out.Dropped) != 0 {
		t.Errorf("the leader could not write: %+v", out)
	}
	if s := l.settings("blog/0", rel.ID, "mysql"); s.Values["primary"] != "me" {
		t.Errorf("the application's settings are %v", s.Values)
	}
	if seen := l.r.SeenMembers(l.s.View(), l.m, "blog/0", rel.ID); seen[1].AppSettingsVersion != 1 {
		t.Errorf("blog/0 sees %+v", seen)
	}
	l.removeUnit("mysql/0", RemoveOptions{})
	if app, _ := l.r.Application(l.s.View(), l.m, "mysql"); app.Leader != "mysql/1" {
		t.Errorf("after the leader's dying %q leads", app.Leader)
	}
}

func TestSettingsHaveALimit(t *testing.T) {
	l, rel := pair(t)
	l.refused(fault.ResourceExhausted, func(tx *store.Txn) error {
		_, err := l.r.CommitHook(tx, l.now, l.m, UnitRef{Name: "mysql/0"}, HookCommit{Number: 1,
			Settings: []SettingsWrite{{Relation: rel.ID, Set: map[string]string{"k": strings.Repeat("x", MaxSettings)}}}})
		return err
	})
}

// G4
func TestADepartedUnitsSettingsStayReadable(t *testing.T) {
	l, rel := pair(t)
	l.removeUnit("mysql/0", RemoveOptions{KeepMachine: true})
	l.leave("mysql/0", rel.ID)
	l.dead("mysql/0")
	l.recall("mysql/0")
	if s := l.settings("blog/0", rel.ID, "mysql/0"); s.Values["private-address"] == "" {
		t.Errorf("the settings are %v", s.Values)
	}
	if got := l.sees("blog/0", rel.ID); got != "" {
		t.Errorf("blog/0 still sees %q", got)
	}
	l.removeRelation("blog", "mysql", RemoveOptions{})
	l.leave("blog/0", rel.ID)
	if _, err := l.r.ReadSettings(l.s.View(), l.m, UnitRef{Name: "blog/0"}, rel.ID, "mysql/0"); !fault.Is(err, fault.NotFound) {
		t.Errorf("after the relation's end they answer %v", err)
	}
}

func TestNobodyReadsWhatIsNotTheirs(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 2)
	l.deploy("log", "log", -1)
	l.deploy("mysql", "mysql", 1)
	host := l.integrate("log", "blog")
	l.settle()
	for _, tc := range []struct {
		unit  entity.UnitName
		rel   entity.RelationID
		owner string
	}{
		{"log/0", host.ID, "blog/1"},
		{"mysql/0", host.ID, "blog/0"},
		{"blog/0", host.ID, "mysql/0"},
		{"blog/0", 99, "mysql/0"},
	} {
		if _, err := l.r.ReadSettings(l.s.View(), l.m, UnitRef{Name: tc.unit}, tc.rel, tc.owner); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s reads the settings of %s in %d: %v", tc.unit, tc.owner, tc.rel, err)
		}
	}
}

func TestAnAgentOfAnEarlierUnitIsToldThatItIsGone(t *testing.T) {
	l, rel := pair(t)
	old := UnitRef{Name: "blog/0", UID: "earlier"}
	for name, fn := range map[string]func(*store.Txn) error{
		"SetUnitDeployed": func(tx *store.Txn) error { return l.r.SetUnitDeployed(tx, l.now, l.m, old) },
		"SetUnitDead":     func(tx *store.Txn) error { return l.r.SetUnitDead(tx, l.now, l.m, old) },
		"DestroyUnit":     func(tx *store.Txn) error { return l.r.DestroyUnit(tx, l.now, l.m, old) },
		"NewIncarnation":  func(tx *store.Txn) error { _, err := l.r.NewIncarnation(tx, l.now, l.m, old); return err },
		"ReportUnit":      func(tx *store.Txn) error { return l.r.ReportUnit(tx, l.now, l.m, old, UnitReport{}) },
		"SetStatus":       func(tx *store.Txn) error { return l.r.SetStatus(tx, l.now, l.m, old, entity.Status{Value: "active"}) },
		"EnterScope":      func(tx *store.Txn) error { _, err := l.r.EnterScope(tx, l.now, l.m, old, rel.ID, nil); return err },
		"LeaveScope":      func(tx *store.Txn) error { return l.r.LeaveScope(tx, l.now, l.m, old, rel.ID) },
		"CommitHook": func(tx *store.Txn) error {
			_, err := l.r.CommitHook(tx, l.now, l.m, old, HookCommit{Number: 1})
			return err
		},
		"ClearResolved": func(tx *store.Txn) error { return l.r.ClearResolved(tx, l.now, l.m, old) },
	} {
		t.Run(name, func(t *testing.T) { l.tester = t; l.refused(fault.NotFound, fn) })
	}
	l.must(func(tx *store.Txn) error { return l.r.RemoveDeadUnit(tx, l.now, l.m, old) })
	l.want(map[string]string{"blog/0": "alive"})
}
