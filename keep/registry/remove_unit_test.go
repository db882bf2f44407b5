package registry

import (
	"strings"
	"testing"

	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
)

// Rule: E-055 E-105 E-107 E-108
func TestAUnitLeavesItsScopesBeforeItIsDead(t *testing.T) {
	l, rel := pair(t)
	if out := l.removeUnit("blog/0", RemoveOptions{}); !out.Changed || out.Gone {
		t.Errorf("remove-unit gave %+v", out)
	}
	l.want(map[string]string{"blog/0": "dying", "blog": "alive"})
	setDead := func(tx *store.Txn) error { return l.r.SetUnitDead(tx, l.now, l.m, UnitRef{Name: "blog/0"}) }
	l.refused(fault.Conflict, setDead)
	l.refused(fault.Conflict, func(tx *store.Txn) error { return l.r.RemoveDeadUnit(tx, l.now, l.m, UnitRef{Name: "blog/0"}) })
	l.leave("blog/0", rel.ID)
	l.must(setDead)
	l.want(map[string]string{"blog/0": "dead"})
	l.recall("blog/0")
	l.want(map[string]string{"blog/0": "gone", "blog": "alive", "mysql/0": "alive"})
}

// Rule: E-062 E-064
func TestTheMachineMadeForAUnitGoesWithIt(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(*lab)
		o       RemoveOptions
		want    string
	}{
		{"made for it", func(*lab) {}, RemoveOptions{}, "dying"},
		{"to be kept", func(*lab) {}, RemoveOptions{KeepMachine: true}, "alive"},
		{"another unit is there", func(l *lab) { l.addUnits("blog", 1, "1"); l.settle() }, RemoveOptions{}, "alive"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			l.deploy("mysql", "mysql", 1)
			l.deploy("blog", "blog", 1)
			l.settle()
			tc.prepare(l)
			l.removeUnit("blog/0", tc.o)
			l.dead("blog/0")
			l.recall("blog/0")
			l.want(map[string]string{"blog/0": "gone", "1": tc.want, "0": "alive"})
		})
	}
}

// Rule: E-063 E-065
func TestRemovingAUnitUnassignsIt(t *testing.T) {
	l, _ := pair(t)
	l.deploy("log", "log", -1)
	l.integrate("log", "blog")
	l.settle()
	if subs := l.r.Subordinates(l.s.View(), l.m, "blog/0"); len(subs) != 1 {
		t.Fatalf("subordinates are %v", subs)
	}
	l.removeRelation("log", "blog", RemoveOptions{})
	l.settle()
	if subs := l.r.Subordinates(l.s.View(), l.m, "blog/0"); len(subs) != 0 {
		t.Errorf("subordinates are left: %v", subs)
	}
	l.removeUnit("blog/0", RemoveOptions{KeepMachine: true})
	l.settle()
	if units := l.r.UnitsOn(l.s.View(), l.m, "0"); len(units) != 0 {
		t.Errorf("units are left on machine 0: %v", units)
	}
	if n := l.r.UnitCount(l.s.View(), l.m, "blog"); n != 0 {
		t.Errorf("blog counts %d units", n)
	}
	l.want(map[string]string{"blog": "alive"})
}

// Rule: E-066 E-089 E-118
func TestTheLastUnitTakesItsDyingApplication(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 2)
	l.settle()
	l.removeApp("blog", RemoveOptions{})
	for _, u := range []entity.UnitName{"blog/0", "blog/1"} {
		l.want(map[string]string{"blog": "dying"})
		l.must(func(tx *store.Txn) error { return l.r.DestroyUnit(tx, l.now, l.m, UnitRef{Name: u}) })
		l.dead(u)
		l.recall(u)
	}
	l.want(map[string]string{"blog": "gone"})
}

// Rule: E-109
func TestASubordinateIsNotRemovedByItself(t *testing.T) {
	l, _ := pair(t)
	l.deploy("log", "log", -1)
	l.integrate("log", "blog")
	l.settle()
	e := l.refused(fault.Conflict, removingUnit(l, "log/0", RemoveOptions{}))
	if text := e.Error() + strings.Join(e.Next, " "); !strings.Contains(text, "blog/0") || !strings.Contains(text, "log:host blog:juju-info") {
		t.Errorf("the refusal does not name principal and relation: %v %v", e, e.Next)
	}
}

// Rule: E-106
func TestAgentsDestroyUnitsOnlyWithAReason(t *testing.T) {
	l, _ := pair(t)
	destroy := func(u entity.UnitName) func(*store.Txn) error {
		return func(tx *store.Txn) error { return l.r.DestroyUnit(tx, l.now, l.m, UnitRef{Name: u}) }
	}
	l.refused(fault.Conflict, destroy("blog/0"))
	l.deploy("log", "log", -1)
	l.integrate("log", "blog")
	l.settle()
	l.refused(fault.Conflict, destroy("log/0"))
	l.removeApp("blog", RemoveOptions{})
	l.must(destroy("blog/0"))
	l.want(map[string]string{"blog/0": "dying"})
}

// Rule: E-112 E-113 E-076 E-140
func TestASubordinateDiesWithItsPrincipalOrTheLastRelation(t *testing.T) {
	for _, tc := range []struct {
		name   string
		remove func(*lab)
		wanted bool
	}{
		{"nothing is removed", func(*lab) {}, true},
		{"its principal", func(l *lab) { l.removeUnit("blog/0", RemoveOptions{}) }, false},
		{"one of two relations", func(l *lab) { l.removeRelation("mon:host", "blog", RemoveOptions{}) }, true},
		{"both relations", func(l *lab) {
			l.removeRelation("mon:host", "blog", RemoveOptions{})
			l.removeRelation("mon:target", "blog", RemoveOptions{})
		}, false},
		{"a global relation", func(l *lab) { l.removeRelation("blog", "mysql", RemoveOptions{}) }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, _ := pair(t)
			l.deploy("mon", "mon", -1)
			l.integrate("mon:host", "blog")
			l.integrate("mon:target", "blog")
			l.settle()
			tc.remove(l)
			u, _ := l.r.Unit(l.s.View(), l.m, "mon/0")
			if got := l.r.SubordinateWanted(l.s.View(), l.m, u); got != tc.wanted {
				t.Errorf("mon/0 is wanted: %v, want %v", got, tc.wanted)
			}
			l.settle()
			if alive := l.life("mon/0") == "alive"; alive != tc.wanted {
				t.Errorf("at rest mon/0 is %s", l.life("mon/0"))
			}
		})
	}
}

// Rule: E-064
func TestUnitsThatWereNeverDeployedGoWithoutAnAgent(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 2)
	if out := l.removeUnit("blog/1", RemoveOptions{}); !out.Gone {
		t.Errorf("remove-unit gave %+v", out)
	}
	// Its machine had no instance and goes straight to Dead.
	l.want(map[string]string{"blog/1": "gone", "1": "dead"})
	l.removeApp("blog", RemoveOptions{})
	l.want(map[string]string{"blog": "dying", "blog/0": "alive"})
	l.refused(fault.Conflict, func(tx *store.Txn) error {
		return l.r.RemoveDeadMachine(tx, l.now, l.m, "0")
	})
	l.recall("blog/0") // its deployer sees that its application is dying
	l.want(map[string]string{"blog": "gone", "blog/0": "gone"})
}
