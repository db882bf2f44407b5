package registry

import (
	"fmt"
	"testing"

	"drover/keep/store"
	"drover/noun/entity"
	"pgregory.net/rapid"
)

// TestWhateverIsAskedEverythingDyingGoes drives random requests and agents in
// any order through the real registry. The lab checks the invariants after every
// transaction; here, that at rest nothing is left half-way.
//
// Rule: E-003 E-004 E-006 E-033 E-040 E-043 E-073 E-077 E-081 E-088 E-089 E-107 E-108
func TestWhateverIsAskedEverythingDyingGoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := openLab(rt)
		defer func() { _ = l.s.Close() }()
		if rapid.IntRange(0, 3).Draw(rt, "populated") > 0 {
			l.populate()
		}
		steps := rapid.IntRange(5, 60).Draw(rt, "steps")
		for range steps {
			l.randomStep(rt)
		}
		l.settle()
		l.checkAtRest()
		for _, app := range l.r.ListApplications(l.s.View(), l.m) {
			l.removeApp(app.Name, RemoveOptions{})
		}
		l.settle()
		l.checkGone()
	})
}

// populate makes the world in which most of the rules meet.
func (l *lab) populate() {
	l.deploy("blog", "blog", 2)
	l.deploy("mysql", "mysql", 1)
	l.deploy("log", "log", -1)
	l.deploy("mon", "mon", -1)
	l.deploy("ring", "ring", 2)
	l.integrate("blog", "mysql")
	l.integrate("log", "blog")
	l.integrate("mon:host", "blog")
	l.integrate("mon:target", "blog")
	l.settle()
}

var apps = []entity.AppName{"blog", "wiki", "mysql", "pg", "log", "mon", "ring"}

var charmOf = map[entity.AppName]string{"blog": "blog", "wiki": "blog", "mysql": "mysql", "pg": "pg", "log": "log", "mon": "mon", "ring": "ring"}

func (l *lab) randomStep(rt *rapid.T) {
	app := rapid.SampledFrom(apps).Draw(rt, "app")
	o := RemoveOptions{Force: rapid.IntRange(0, 9).Draw(rt, "force") == 0}
	v := l.s.View()
	switch rapid.SampledFrom([]string{
		"deploy", "deploy", "deploy", "add-unit", "integrate", "integrate", "integrate", "remove-app", "remove-unit", "remove-relation",
		"remove-machine", "machine-agent", "machine-agent", "unit-agent", "unit-agent", "unit-agent", "unit-agent", "provision", "clean", "lost-disk", "agents",
	}).Draw(rt, "step") {
	case "deploy":
		q := DeployRequest{App: app, Charm: entity.CharmSHA("sha-" + charmOf[app])}
		if n := rapid.IntRange(0, 3).Draw(rt, "units"); app != "log" && app != "mon" {
			q.NumUnits = &n
		}
		l.soft(func(tx *store.Txn) error { _, err := l.r.Deploy(tx, l.now, l.m, q); return err })
	case "add-unit":
		l.soft(func(tx *store.Txn) error {
			_, err := l.r.AddUnits(tx, l.now, l.m, AddUnitsRequest{App: app})
			return err
		})
	case "integrate":
		a, b := string(app), string(rapid.SampledFrom(apps).Draw(rt, "other"))
		if b == "pg" {
			b = "pg:db"
		}
		_ = l.try(func(tx *store.Txn) error { _, err := l.r.Integrate(tx, l.now, l.m, a, b); return err })
	case "remove-app":
		l.soft(func(tx *store.Txn) error { _, err := l.r.RemoveApplication(tx, l.now, l.m, app, o); return err })
	case "remove-unit":
		if units := l.r.ListUnits(v, l.m); len(units) > 0 {
			u := rapid.SampledFrom(units).Draw(rt, "unit")
			o.KeepMachine = rapid.Bool().Draw(rt, "keep")
			l.soft(func(tx *store.Txn) error { _, err := l.r.RemoveUnit(tx, l.now, l.m, u.Name, o); return err })
		}
	case "remove-relation":
		if rels := l.r.ListRelations(v, l.m); len(rels) > 0 {
			rel := rapid.SampledFrom(rels).Draw(rt, "relation")
			a, b := rel.Endpoints[0].String(), rel.Endpoints[len(rel.Endpoints)-1].String()
			l.soft(func(tx *store.Txn) error { _, err := l.r.RemoveRelation(tx, l.now, l.m, a, b, o); return err })
		}
	case "remove-machine":
		m := rapid.SampledFrom(l.r.ListMachines(v, l.m)).Draw(rt, "machine")
		l.soft(func(tx *store.Txn) error { _, err := l.r.RemoveMachine(tx, l.now, l.m, m.ID, o); return err })
	case "machine-agent":
		l.machineAgent(rapid.SampledFrom(l.r.ListMachines(v, l.m)).Draw(rt, "machine").ID)
	case "unit-agent":
		if units := l.r.ListUnits(v, l.m); len(units) > 0 {
			l.unitAgent(rapid.SampledFrom(units).Draw(rt, "unit").Name)
		}
	case "agents":
		l.agents()
	case "provision":
		l.provision()
	case "clean":
		l.clean()
	case "lost-disk":
		if units := l.r.ListUnits(v, l.m); len(units) > 0 {
			u := rapid.SampledFrom(units).Draw(rt, "unit")
			l.must(func(tx *store.Txn) error {
				_, err := l.r.NewIncarnation(tx, l.now, l.m, UnitRef{Name: u.Name})
				return err
			})
		}
	}
}

// checkAtRest: nothing is Dying or Dead, members are complete, bulk work is done.
func (l *lab) checkAtRest() {
	l.Helper()
	v := l.s.View()
	w := l.r.World(v, l.m)
	for _, u := range w.Units() {
		if u.Life != entity.Alive || !u.Deployed {
			l.Errorf("at rest unit %s is %s, deployed %v", u.Name, u.Life, u.Deployed)
		}
		if u.IsSubordinate() && !l.r.SubordinateWanted(v, l.m, u) {
			l.Errorf("at rest subordinate %s is alive and nothing wants it", u.Name)
		}
		for _, rel := range l.r.UnitRelations(v, l.m, u.Name) {
			if !rel.InScope {
				l.Errorf("at rest unit %s is not in scope of %q", u.Name, rel.Relation.CanonicalName())
			}
		}
	}
	for _, a := range w.Applications() {
		if a.Life != entity.Alive {
			l.Errorf("at rest application %s is %s", a.Name, a.Life)
		}
		if (a.Leader == "") != (w.UnitCount(a.Name) == 0) {
			l.Errorf("at rest application %s has %d units and leader %q", a.Name, w.UnitCount(a.Name), a.Leader)
		}
	}
	for _, rel := range w.Relations() {
		if rel.Life != entity.Alive {
			l.Errorf("at rest relation %q is %s", rel.CanonicalName(), rel.Life)
		}
		l.checkSubordinates(rel)
	}
	for _, m := range w.Machines() {
		if m.Life != entity.Alive {
			l.Errorf("at rest machine %s is %s", m.ID, m.Life)
		}
	}
	if n := len(w.Cleanups()); n != 0 {
		l.Errorf("at rest %d cleanups are left", n)
	}
}

// checkSubordinates: each principal in a container-scoped relation has one
// subordinate of the other application.
func (l *lab) checkSubordinates(rel entity.Relation) {
	l.Helper()
	if rel.Scope() != entity.ScopeContainer {
		return
	}
	w := l.r.World(l.s.View(), l.m)
	for _, e := range rel.Endpoints {
		app, _ := w.Application(e.App)
		other, _ := w.Application(rel.Counterpart(e.App))
		if app.Subordinate || !other.Subordinate {
			continue
		}
		for _, u := range l.r.UnitsOf(l.s.View(), l.m, e.App) {
			n := 0
			for _, s := range w.SubordinatesOf(u.Name) {
				if s.App == other.Name {
					n++
				}
			}
			if n != 1 {
				l.Errorf("at rest %s has %d subordinates of %s", u.Name, n, other.Name)
			}
		}
	}
}

// checkGone: after removing all applications, only machines are left.
func (l *lab) checkGone() {
	l.Helper()
	w := l.r.World(l.s.View(), l.m)
	left := fmt.Sprint(len(w.Applications()), len(w.Units()), len(w.Relations()), len(w.Members()), len(w.AllSettings()), len(w.Cleanups()))
	if left != "0 0 0 0 0 0" {
		l.Errorf("applications, units, relations, members, settings, cleanups left: %s", left)
	}
}
