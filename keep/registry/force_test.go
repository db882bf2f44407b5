package registry

import (
	"testing"
	"time"
)

// Rule: E-039 E-153
func TestForceGoesOnWithoutAgents(t *testing.T) {
	for _, tc := range []struct {
		name   string
		remove func(*lab)
		gone   []string
		stays  []string
	}{
		{"remove-unit", func(l *lab) { l.removeUnit("blog/0", RemoveOptions{Force: true}) }, []string{"blog/0", "log/0"}, []string{"blog", "mysql/0", "log"}},
		{"remove-application", func(l *lab) { l.removeApp("blog", RemoveOptions{Force: true}) }, []string{"blog", "blog/0", "log/0"}, []string{"mysql/0", "log"}},
		{"remove-machine", func(l *lab) { l.removeMachine("1", RemoveOptions{Force: true}) }, []string{"1", "mysql/0"}, []string{"mysql", "blog/0"}},
		{"remove-relation", func(l *lab) { l.removeRelation("blog", "mysql", RemoveOptions{Force: true}) }, nil, []string{"blog/0", "mysql/0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, rel := pair(t)
			l.deploy("log", "log", -1)
			l.integrate("log", "blog")
			l.settle()
			tc.remove(l)
			// No agent acts; provisioner and cleaner do, a minute apart.
			began := l.now
			for range 12 {
				l.provision()
				l.clean()
				l.now = l.now.Add(DefaultMaxWait)
			}
			for _, what := range tc.gone {
				l.want(map[string]string{what: "gone"})
			}
			for _, what := range tc.stays {
				l.want(map[string]string{what: "alive"})
			}
			if tc.name == "remove-relation" && l.relationLife(rel.ID) != "gone" {
				t.Errorf("the relation is %s", l.relationLife(rel.ID))
			}
			if n := len(l.r.ListCleanups(l.s.View())); n != 0 {
				t.Errorf("%d cleanups are left after %v", n, l.now.Sub(began))
			}
		})
	}
}

func TestForceWaitsForTheOrderlyWay(t *testing.T) {
	l, rel := pair(t)
	l.removeUnit("blog/0", RemoveOptions{Force: true, MaxWait: time.Hour})
	l.now = l.now.Add(time.Hour - 1)
	l.clean()
	if n := l.r.ScopeCount(l.s.View(), l.m, rel.ID); n != 2 {
		t.Errorf("before its time %d units are in scope", n)
	}
	l.now = l.now.Add(1)
	l.clean()
	// One step after the wait: out of the scope, its counterpart sees a departure.
	l.want(map[string]string{"blog/0": "dying"})
	if n := l.r.ScopeCount(l.s.View(), l.m, rel.ID); n != 1 {
		t.Errorf("after its time %d units are in scope", n)
	}
	if _, err := l.r.ReadSettings(l.s.View(), l.m, UnitRef{Name: "mysql/0"}, rel.ID, "blog/0"); err != nil {
		t.Errorf("its settings cannot be read any more: %v", err)
	}
}

func TestADyingUnitWithNothingToDoIsLeftToItsAgent(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.settle()
	l.removeUnit("blog/0", RemoveOptions{})
	l.want(map[string]string{"blog/0": "dying"})
	l.settle()
	l.want(map[string]string{"blog/0": "gone", "blog": "alive"})
}
