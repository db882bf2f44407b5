package registry

import (
	"slices"
	"strings"
	"testing"
	"time"

	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
)

func removingMachine(l *lab, id entity.MachineID, o RemoveOptions) func(*store.Txn) error {
	return func(tx *store.Txn) error { _, err := l.r.RemoveMachine(tx, l.now, l.m, id, o); return err }
}

func removingUnit(l *lab, u entity.UnitName, o RemoveOptions) func(*store.Txn) error {
	return func(tx *store.Txn) error { _, err := l.r.RemoveUnit(tx, l.now, l.m, u, o); return err }
}

// pair is blog and mysql, related, with one deployed unit each in scope.
func pair(t *testing.T) (*lab, entity.Relation) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("mysql", "mysql", 1)
	rel := l.integrate("blog", "mysql")
	l.settle()
	return l, rel
}

// Rule: E-031
func TestRemovingWhatIsNotAliveChangesNothing(t *testing.T) {
	l, _ := pair(t)
	l.removeApp("blog", RemoveOptions{})
	l.removeUnit("mysql/0", RemoveOptions{})
	l.must(func(tx *store.Txn) error {
		_, err := l.r.AddMachine(tx, l.now, l.m, MachineSpec{Instance: "i", Provider: "manual"})
		return err
	})
	l.removeMachine("2", RemoveOptions{})
	before := l.s.View().Revision()
	for what, out := range map[string]Removed{
		"application": l.removeApp("blog", RemoveOptions{}),
		"unit":        l.removeUnit("mysql/0", RemoveOptions{}),
		"relation":    l.removeRelation("blog", "mysql", RemoveOptions{}),
		"machine":     l.removeMachine("2", RemoveOptions{}),
	} {
		if out.Changed || out.Gone {
			t.Errorf("removing a dying %s gave %+v", what, out)
		}
	}
	if l.s.View().Revision() != before {
		t.Error("something changed")
	}
}

// Rule: E-030
func TestRemovingWhatIsNotThereIsNotFound(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("mysql", "mysql", 1)
	for _, fn := range []func(*store.Txn) error{
		func(tx *store.Txn) error {
			_, err := l.r.RemoveApplication(tx, l.now, l.m, "nope", RemoveOptions{})
			return err
		},
		func(tx *store.Txn) error {
			_, err := l.r.RemoveRelation(tx, l.now, l.m, "blog", "mysql", RemoveOptions{})
			return err
		},
		removingUnit(l, "blog/9", RemoveOptions{}),
		removingMachine(l, "9", RemoveOptions{}),
	} {
		l.refused(fault.NotFound, fn)
	}
}

// Rule: E-046 E-092
func TestTheLastManagerStays(t *testing.T) {
	l := newLab(t)
	l.refused(fault.Conflict, removingMachine(l, "0", RemoveOptions{}))
	l.refused(fault.Conflict, removingMachine(l, "0", RemoveOptions{Force: true}))
	l.must(func(tx *store.Txn) error {
		_, err := l.r.AddMachine(tx, l.now, l.m, MachineSpec{Jobs: []entity.Job{entity.ManageModel}})
		return err
	})
	// Another one manages: machine 0 is demoted first.
	l.provision()
	l.removeMachine("0", RemoveOptions{})
	m, _ := l.r.Machine(l.s.View(), l.m, "0")
	if m.Life != entity.Dying || m.HasJob(entity.ManageModel) || !m.HasJob(entity.HostUnits) {
		t.Errorf("machine 0 is %v with jobs %v", m.Life, m.Jobs)
	}
	l.refused(fault.Conflict, removingMachine(l, "1", RemoveOptions{}))
}

// Rule: E-047 E-048 E-049 E-053 E-096 E-100 E-139
func TestAMachineGoesWhenItsUnitsHaveGone(t *testing.T) {
	l := newLab(t)
	l.deploy("mysql", "mysql", 1) // takes machine 0
	l.deploy("blog", "blog", 1)
	l.settle()
	if e := l.refused(fault.Conflict, removingMachine(l, "1", RemoveOptions{})); !strings.Contains(e.Because, "blog/0") {
		t.Errorf("the refusal does not name the unit: %v", e)
	}
	l.want(map[string]string{"blog/0": "alive", "1": "alive"})
	l.removeUnit("blog/0", RemoveOptions{KeepMachine: true})
	// A dying principal does not hold the machine's dying up, but its death.
	l.removeMachine("1", RemoveOptions{})
	l.want(map[string]string{"1": "dying", "blog/0": "dying"})
	setDead := func(tx *store.Txn) error { return l.r.SetMachineDead(tx, l.now, l.m, "1") }
	l.refused(fault.Conflict, setDead)
	l.refused(fault.Conflict, func(tx *store.Txn) error { return l.r.RemoveDeadMachine(tx, l.now, l.m, "1") })
	l.dead("blog/0")
	l.refused(fault.Conflict, setDead)
	l.recall("blog/0")
	l.must(setDead)
	l.want(map[string]string{"1": "dead"})
	l.must(func(tx *store.Txn) error { return l.r.RemoveDeadMachine(tx, l.now, l.m, "1") })
	l.want(map[string]string{"1": "gone"})
}

func TestAnAliveMachineIsNotSetDead(t *testing.T) {
	l := newLab(t)
	l.refused(fault.Conflict, func(tx *store.Txn) error { return l.r.SetMachineDead(tx, l.now, l.m, "0") })
}

func TestACellWithWorkKeepsItsMachineFromDying(t *testing.T) {
	l := newLab(t)
	cells := busyCells{"c1": true}
	l.r.Work = cells
	l.deploy("blog", "blog", 1)
	c := l.addUnits("blog", 1)
	l.settle()
	if c.Machines[0] != "1" {
		t.Fatalf("blog/1 is on machine %v", c.Machines)
	}
	// Its last unit goes, but the machine stays for the work on it.
	l.removeUnit("blog/1", RemoveOptions{})
	l.settle()
	l.want(map[string]string{"1": "alive", "blog/1": "gone"})
	l.removeMachine("1", RemoveOptions{})
	l.refused(fault.Conflict, func(tx *store.Txn) error { return l.r.SetMachineDead(tx, l.now, l.m, "1") })
	delete(cells, "c1")
	l.settle()
	l.want(map[string]string{"1": "gone"})
}

// Rule: E-097 E-099
func TestAMachineWithChildMachinesNeedsForce(t *testing.T) {
	l := newLab(t)
	l.must(func(tx *store.Txn) error {
		for _, id := range []entity.MachineID{"5", "5/nspawn/0"} {
			l.r.machines.Put(tx, entity.Machine{Model: l.m, ID: id, UID: entity.UID("uid" + id), Life: entity.Alive, Jobs: []entity.Job{entity.HostUnits},
				Provider: "manual", Instance: "i-" + string(id), InstanceState: entity.InstanceRunning})
		}
		return nil
	})
	if e := l.refused(fault.Conflict, removingMachine(l, "5", RemoveOptions{})); !strings.Contains(e.Because, "5/nspawn/0") {
		t.Errorf("the refusal does not name the child: %v", e)
	}
	l.removeMachine("5", RemoveOptions{Force: true})
	l.want(map[string]string{"5": "dying", "5/nspawn/0": "alive"})
	l.refused(fault.Conflict, func(tx *store.Txn) error { return l.r.SetMachineDead(tx, l.now, l.m, "5") })
	l.settle()
	l.want(map[string]string{"5": "gone", "5/nspawn/0": "gone"})
}

// Rule: E-098
func TestADyingModelsMachinesGoWithTheirChildren(t *testing.T) {
	l := newLab(t)
	l.must(func(tx *store.Txn) error {
		for _, id := range []entity.MachineID{"5", "5/nspawn/0"} {
			l.r.machines.Put(tx, entity.Machine{Model: l.m, ID: id, UID: entity.UID("uid" + id), Life: entity.Alive, Instance: "i", InstanceState: entity.InstanceRunning})
		}
		m, _ := l.r.Model(tx, l.m)
		m.Life = entity.Dying
		l.r.models.Put(tx, m)
		return nil
	})
	l.removeMachine("5", RemoveOptions{})
	l.want(map[string]string{"5": "dying"})
}

// Rule: E-067 E-077 E-079 E-129 E-131
func TestARelationWithMembersGoesWithTheLastOne(t *testing.T) {
	l, rel := pair(t)
	if out := l.removeRelation("blog:db", "mysql", RemoveOptions{}); out.Gone {
		t.Error("a relation with members went at once")
	}
	l.leave("blog/0", rel.ID)
	if got := l.relationLife(rel.ID); got != "dying" {
		t.Errorf("with one member the relation is %s", got)
	}
	l.leave("mysql/0", rel.ID)
	if got := l.relationLife(rel.ID); got != "gone" {
		t.Errorf("without members the relation is %s", got)
	}
	if n := len(l.r.ListCleanups(l.s.View())); n != 1 {
		t.Errorf("%d cleanups are recorded, want one for the settings", n)
	}
	l.want(map[string]string{"blog": "alive", "mysql": "alive"})
}

// Rule: E-068 E-069 E-071 E-072 E-128
func TestARelationWithoutMembersGoesAtOnce(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("mysql", "mysql", 1)
	rel := l.integrate("blog", "mysql")
	out := l.removeRelation("mysql", "blog", RemoveOptions{})
	if !out.Gone || l.relationLife(rel.ID) != "gone" {
		t.Errorf("remove-relation gave %+v, it is %s", out, l.relationLife(rel.ID))
	}
	v := l.s.View()
	if a, b := l.r.RelationCount(v, l.m, "blog"), l.r.RelationCount(v, l.m, "mysql"); a != 0 || b != 0 {
		t.Errorf("the applications count %d and %d relations", a, b)
	}
	if n := len(l.r.ListCleanups(v)); n != 1 {
		t.Errorf("%d cleanups are recorded, want 1", n)
	}
}

// Rule: E-078 E-080 E-081 E-090
func TestTheLastMemberTakesAnApplicationThatOnlyTheRelationHeld(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(*lab, entity.RelationID)
		want    string
	}{
		{"without units, in this relation only", func(l *lab, rel entity.RelationID) {
			l.removeApp("mysql", RemoveOptions{})
			l.bury("mysql/0", rel)
		}, "gone"},
		{"with a unit", func(l *lab, rel entity.RelationID) {
			l.addUnits("mysql", 1, "1")
			l.deployed("mysql/1")
			l.removeApp("mysql", RemoveOptions{})
			l.bury("mysql/0", rel)
		}, "dying"},
		{"in another relation", func(l *lab, rel entity.RelationID) {
			l.deploy("blog", "wiki", 1)
			other := l.integrate("wiki", "mysql")
			l.deployed("wiki/0")
			l.enter("wiki/0", other.ID)
			l.removeApp("mysql", RemoveOptions{})
			l.bury("mysql/0", rel)
		}, "dying"},
		{"alive", func(l *lab, rel entity.RelationID) {
			l.removeRelation("blog", "mysql", RemoveOptions{})
			l.leave("mysql/0", rel)
		}, "alive"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, rel := pair(t)
			tc.prepare(l, rel.ID)
			if got := l.relationLife(rel.ID); got != "dying" {
				t.Fatalf("before its last member leaves, the relation is %s", got)
			}
			l.leave("blog/0", rel.ID)
			l.want(map[string]string{"mysql": tc.want, "blog": "alive"})
			if got := l.relationLife(rel.ID); got != "gone" {
				t.Errorf("the relation is %s", got)
			}
		})
	}
}

// bury takes a unit of a Dying application from its relation to its end.
func (l *lab) bury(u entity.UnitName, rel entity.RelationID) {
	l.Helper()
	l.must(func(tx *store.Txn) error { return l.r.DestroyUnit(tx, l.now, l.m, UnitRef{Name: u}) })
	l.leave(u, rel)
	l.dead(u)
	l.recall(u)
}

// Rule: E-083 E-086 E-105 E-120
func TestRemoveApplicationMakesItsRelationsDyingOrGone(t *testing.T) {
	l, rel := pair(t)
	l.deploy("one", "one", 0)
	empty := l.integrate("one", "mysql")
	l.removeApp("mysql", RemoveOptions{})
	if a, b := l.relationLife(rel.ID), l.relationLife(empty.ID); a != "dying" || b != "gone" {
		t.Errorf("the relation with members is %s, the one without %s", a, b)
	}
	l.want(map[string]string{"mysql": "dying", "mysql/0": "alive", "blog": "alive", "one": "alive"})
}

// Rule: E-084
func TestRemoveApplicationSkipsDyingRelations(t *testing.T) {
	l, rel := pair(t)
	l.removeRelation("blog", "mysql", RemoveOptions{})
	before, _ := l.r.Relation(l.s.View(), l.m, rel.ID)
	l.now = l.now.Add(time.Minute)
	l.removeApp("mysql", RemoveOptions{})
	after, _ := l.r.Relation(l.s.View(), l.m, rel.ID)
	if after.Since != before.Since || after.Life != entity.Dying {
		t.Errorf("the dying relation was touched: %v since %v, was %v", after.Life, after.Since, before.Since)
	}
}

// Rule: E-085 E-087 E-090
func TestAnApplicationThatNothingHoldsGoesAtOnce(t *testing.T) {
	l := newLab(t)
	l.deploy("mysql", "mysql", 0)
	l.deploy("blog", "blog", 0)
	l.integrate("blog", "mysql")
	out := l.removeApp("mysql", RemoveOptions{})
	if !out.Gone {
		t.Errorf("remove-application gave %+v", out)
	}
	l.want(map[string]string{"mysql": "gone", "blog": "alive"})
	if _, err := l.r.Config(l.s.View(), l.m, "mysql"); !fault.Is(err, fault.NotFound) {
		t.Errorf("its config answers %v", err)
	}
	if _, left := l.r.configs.Get(l.s.View(), appKey(l.m, "mysql")); left {
		t.Error("its config is left")
	}
}

// Rule: E-110 E-111
func TestRemoveApplicationOfASubordinate(t *testing.T) {
	l, _ := pair(t)
	l.deploy("log", "log", -1)
	l.integrate("log", "blog")
	l.settle()
	l.removeApp("log", RemoveOptions{})
	// No unit's life changes with the application's: each agent sets its own.
	l.want(map[string]string{"log": "dying", "log/0": "alive"})
	l.settle()
	l.want(map[string]string{"log": "gone", "log/0": "gone", "blog/0": "alive"})
}

func TestAPlanIsToldAndADryRunChangesNothing(t *testing.T) {
	l, _ := pair(t)
	before := l.s.View().Revision()
	out := l.removeApp("mysql", RemoveOptions{DryRun: true})
	if l.s.View().Revision() != before {
		t.Error("a dry run changed something")
	}
	want := []string{
		`relation "blog:db mysql:server" becomes dying until its units have left`,
		"application mysql becomes dying",
		"units of mysql that were never deployed are removed",
		"unit mysql/0 will leave its relations, stop and be removed",
		"machine 1, made for it, will be removed",
	}
	if !slices.Equal(out.Plan, want) {
		t.Errorf("the plan is\n%s", strings.Join(out.Plan, "\n"))
	}
}
