package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/work"
)

func deploying(l *lab, q DeployRequest) func(*store.Txn) error {
	return func(tx *store.Txn) error { _, err := l.r.Deploy(tx, l.now, l.m, q); return err }
}

func adding(l *lab, q AddUnitsRequest) func(*store.Txn) error {
	return func(tx *store.Txn) error { _, err := l.r.AddUnits(tx, l.now, l.m, q); return err }
}

func integrating(l *lab, a, b string) func(*store.Txn) error {
	return func(tx *store.Txn) error { _, err := l.r.Integrate(tx, l.now, l.m, a, b); return err }
}

// Rule: E-009 E-014 E-017
func TestDeployCreatesTheApplicationItsUnitsAndTheirMachines(t *testing.T) {
	l := newLab(t)
	c := l.deploy("blog", "wiki", 3)
	if c.App.Name != "wiki" || !slices.Equal(c.Units, []entity.UnitName{"wiki/0", "wiki/1", "wiki/2"}) {
		t.Errorf("created %s with %v", c.App.Name, c.Units)
	}
	// Machine 0 is there and empty, two more are made.
	if !slices.Equal(c.Machines, []entity.MachineID{"1", "2"}) {
		t.Errorf("machines made: %v, want 1 and 2", c.Machines)
	}
	l.want(map[string]string{"wiki": "alive", "wiki/0": "alive", "wiki/2": "alive", "2": "alive"})
}

// Rule: E-015 E-016
func TestUnitsAreOneByDefaultAndNoneForASubordinate(t *testing.T) {
	l := newLab(t)
	if c := l.deploy("blog", "blog", -1); len(c.Units) != 1 {
		t.Errorf("a principal got %d units, want 1", len(c.Units))
	}
	if c := l.deploy("log", "log", -1); len(c.Units) != 0 {
		t.Errorf("a subordinate got %d units, want 0", len(c.Units))
	}
	one := 1
	l.refused(fault.Invalid, deploying(l, DeployRequest{App: "mon", Charm: "sha-mon", NumUnits: &one}))
}

// Rule: E-011 E-013
func TestPeerRelationsComeAndGoWithTheApplication(t *testing.T) {
	l := newLab(t)
	c := l.deploy("ring", "ring", 1)
	if len(c.Relations) != 1 {
		t.Fatalf("deploy made %d relations, want the peer relation", len(c.Relations))
	}
	rel, _ := l.r.Relation(l.s.View(), l.m, c.Relations[0])
	if !rel.IsPeer() || rel.CanonicalName() != "ring:members" {
		t.Errorf("the relation is %q", rel.CanonicalName())
	}
	l.refused(fault.Invalid, integrating(l, "ring:members", "ring:members"))
	l.refused(fault.Conflict, func(tx *store.Txn) error {
		_, err := l.r.RemoveRelation(tx, l.now, l.m, "ring:members", "", RemoveOptions{})
		return err
	})
	l.removeApp("ring", RemoveOptions{})
	l.settle()
	if got := l.relationLife(rel.ID); got != "gone" {
		t.Errorf("after remove-application the peer relation is %s", got)
	}
}

// Rule: E-012 E-043
func TestDeployIsWholeOrNothing(t *testing.T) {
	l := newLab(t)
	broken := errors.New("the connection broke")
	err := l.try(func(tx *store.Txn) error {
		if err := deploying(l, DeployRequest{Charm: "sha-ring"})(tx); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	w := l.r.World(l.s.View(), l.m)
	if len(w.Applications())+len(w.Units())+len(w.Relations()) != 0 {
		t.Errorf("half a deployment is left: %v %v %v", w.Applications(), w.Units(), w.Relations())
	}
}

// Rule: E-010 E-041 E-115
func TestANameIsFreeOnlyWhenItsApplicationIsGone(t *testing.T) {
	l := newLab(t)
	c := l.deploy("blog", "blog", 1)
	if e := l.refused(fault.Conflict, deploying(l, DeployRequest{Charm: "sha-blog"})); len(e.Next) == 0 {
		t.Errorf("the refusal says nothing of what to do: %v", e)
	}
	l.deployed(c.Units...)
	l.removeApp("blog", RemoveOptions{})
	if e := l.refused(fault.Conflict, deploying(l, DeployRequest{Charm: "sha-blog"})); !strings.Contains(e.Because, "dying") {
		t.Errorf("the refusal does not say that it is dying: %v", e)
	}
	l.settle()
	l.want(map[string]string{"blog": "gone"})
	again := l.deploy("blog", "blog", 1)
	// Numbers are never given twice.
	if again.Units[0] != "blog/1" {
		t.Errorf("the new application's unit is %s, want blog/1", again.Units[0])
	}
}

// Rule: E-116
func TestNumbersOfUnitsAndMachinesAreNeverGivenTwice(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	seen := map[string]bool{}
	for range 5 {
		c := l.addUnits("blog", 1, "new")
		for _, name := range []string{string(c.Units[0]), string(c.Machines[0])} {
			if seen[name] {
				t.Errorf("%s was given twice", name)
			}
			seen[name] = true
		}
		l.settle()
		l.removeUnit(c.Units[0], RemoveOptions{})
		l.settle()
		if got := l.life(string(c.Machines[0])); got != "gone" {
			t.Errorf("machine %s is %s", c.Machines[0], got)
		}
	}
}

// Rule: E-018 E-019 E-022 E-102
func TestAddUnitIsForAlivePrincipals(t *testing.T) {
	l := newLab(t)
	l.refused(fault.NotFound, adding(l, AddUnitsRequest{App: "blog"}))
	c := l.deploy("blog", "blog", 1)
	l.deploy("log", "log", -1)
	l.refused(fault.Conflict, adding(l, AddUnitsRequest{App: "log"}))
	if got := l.addUnits("blog", 2); !slices.Equal(got.Units, []entity.UnitName{"blog/1", "blog/2"}) {
		t.Errorf("add-unit gave %v", got.Units)
	}
	l.deployed(c.Units...)
	l.removeApp("blog", RemoveOptions{})
	l.refused(fault.Conflict, adding(l, AddUnitsRequest{App: "blog"}))
}

// Rule: E-020 E-021
func TestUnitsGoToTheLowestCleanMachineElseToANewOne(t *testing.T) {
	big := entity.Constraints{MemoryMB: 4096}
	for _, tc := range []struct {
		name    string
		prepare func(*lab)
		want    entity.MachineID
		ask     entity.Constraints
	}{
		{"machine 0 is clean", func(*lab) {}, "0", entity.Constraints{}},
		{"machine 0 has a unit", func(l *lab) { l.deploy("mysql", "mysql", 1) }, "1", entity.Constraints{}},
		{"machine 1 became empty again", func(l *lab) {
			l.deploy("mysql", "mysql", 2)
			l.settle()
			l.removeUnit("mysql/1", RemoveOptions{KeepMachine: true})
			l.settle()
		}, "1", entity.Constraints{}},
		{"machine 0's cell holds work", func(l *lab) { l.r.Work = busyCells{"c0": true} }, "1", entity.Constraints{}},
		{"machine 0 is too small", func(l *lab) {
			l.must(func(tx *store.Txn) error {
				return l.r.ReportMachine(tx, l.now, l.m, "0", MachineReport{Hardware: entity.Hardware{MemoryMB: 2048, CPUs: 1}})
			})
		}, "1", big},
		{"machine 0 meets the constraints", func(l *lab) {
			l.must(func(tx *store.Txn) error {
				return l.r.ReportMachine(tx, l.now, l.m, "0", MachineReport{Hardware: entity.Hardware{MemoryMB: 8192, CPUs: 1}})
			})
		}, "0", big},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			tc.prepare(l)
			l.must(deploying(l, DeployRequest{Charm: "sha-blog", Constraints: tc.ask}))
			u, _ := l.r.Unit(l.s.View(), l.m, "blog/0")
			if u.Machine != tc.want {
				t.Errorf("blog/0 is on machine %s, want %s", u.Machine, tc.want)
			}
		})
	}
}

// Rule: E-094 E-095
func TestPlacementsAreRefusedWhereUnitsCannotBe(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	var bare, dying entity.Machine
	l.must(func(tx *store.Txn) (err error) {
		bare, err = l.r.AddMachine(tx, l.now, l.m, MachineSpec{})
		if err != nil {
			return err
		}
		dying, err = l.r.AddMachine(tx, l.now, l.m, MachineSpec{Jobs: []entity.Job{entity.HostUnits}, Instance: "i", Provider: "manual"})
		return err
	})
	l.removeMachine(dying.ID, RemoveOptions{})
	l.refused(fault.Conflict, adding(l, AddUnitsRequest{App: "blog", To: []string{string(bare.ID)}}))
	l.refused(fault.Conflict, adding(l, AddUnitsRequest{App: "blog", To: []string{string(dying.ID)}}))
	l.refused(fault.NotFound, adding(l, AddUnitsRequest{App: "blog", To: []string{"99"}}))
	l.refused(fault.Invalid, adding(l, AddUnitsRequest{App: "blog", Count: 1, To: []string{"0", "0"}}))
	if c := l.addUnits("blog", 1, "0"); len(c.Machines) != 0 {
		t.Errorf("a unit placed on machine 0 made %v", c.Machines)
	}
}

// Rule: E-023 E-121 E-123 E-124
func TestIntegrateInfersTheEndpoints(t *testing.T) {
	l := newLab(t)
	for name, units := range map[string]int{"blog": 1, "mysql": 1, "pg": 1, "one": 1} { // order-free: four applications
		l.deploy(name, entity.AppName(name), units)
	}
	l.deploy("log", "log", -1)
	l.deploy("mon", "mon", -1)
	for _, tc := range []struct {
		a, b, want string
		kind       fault.Kind // of the refusal; 0: none
		says       []string
	}{
		{"blog", "mysql", "blog:db mysql:server", 0, nil},
		{"pg:admin", "blog", "blog:db pg:admin", 0, nil},
		{"blog", "pg", "", fault.Invalid, []string{"blog:db pg:admin", "blog:db pg:db"}},
		{"mysql", "pg", "", fault.Invalid, []string{"mysql:server (provider of sql)", "pg:db (provider of sql)"}},
		{"blog:web", "mysql", "", fault.Invalid, []string{"blog:db mysql:server"}},
		{"blog:nope", "mysql", "", fault.NotFound, []string{"blog:db", "blog:web"}},
		{"blog", "nope", "", fault.NotFound, nil},
		{"blog", "blog", "", fault.Invalid, nil},
		{"blog:", "mysql", "", fault.Invalid, nil},
		{"log", "mysql", "log:host mysql:juju-info", 0, nil},
		{"mon", "blog", "mon:target blog:probe", 0, nil},
		{"mon:host", "blog", "mon:host blog:juju-info", 0, nil},
		{"one", "mysql", "one:db mysql:server", 0, nil},
		{"one", "pg:db", "", fault.Conflict, []string{"1 relation"}},
		{"mysql", "blog", "", fault.Conflict, []string{"exists"}},
	} {
		t.Run(tc.a+" "+tc.b, func(t *testing.T) {
			l.tester = t
			if tc.kind != 0 {
				e := l.refused(tc.kind, integrating(l, tc.a, tc.b))
				for _, s := range tc.says {
					if !strings.Contains(e.Error()+strings.Join(e.Next, " "), s) {
						t.Errorf("%v / %v does not say %q", e, e.Next, s)
					}
				}
				return
			}
			if rel := l.integrate(tc.a, tc.b); rel.CanonicalName() != tc.want {
				t.Errorf("got %q, want %q", rel.CanonicalName(), tc.want)
			}
		})
	}
}

// Rule: E-024 E-125
func TestJujuInfoMakesAContainerScopedRelation(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("log", "log", -1)
	if rel := l.integrate("log", "blog"); rel.Scope() != entity.ScopeContainer {
		t.Errorf("the scope is %v", rel.Scope())
	}
}

// Rule: E-028 E-082 E-119
func TestRelationsAreAddedBetweenAliveApplicationsOnly(t *testing.T) {
	l := newLab(t)
	c := l.deploy("mysql", "mysql", 1)
	l.deploy("blog", "blog", 1)
	l.deployed(c.Units...)
	l.removeApp("mysql", RemoveOptions{})
	l.want(map[string]string{"mysql": "dying"})
	l.refused(fault.Conflict, integrating(l, "blog", "mysql"))
}

// Rule: E-042 E-122
func TestARelationOfTheSameNameWaitsForTheOldOne(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("mysql", "mysql", 1)
	rel := l.integrate("blog", "mysql")
	l.settle()
	l.removeRelation("blog", "mysql", RemoveOptions{})
	if e := l.refused(fault.Conflict, integrating(l, "mysql:server", "blog:db")); !strings.Contains(e.Because, "dying") {
		t.Errorf("the refusal does not say why: %v", e)
	}
	l.settle()
	if again := l.integrate("blog", "mysql"); again.ID == rel.ID || again.UID == rel.UID {
		t.Errorf("the new relation is %d %s, as the old one", again.ID, again.UID)
	}
}

func TestADyingModelTakesNothingNew(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("mysql", "mysql", 1)
	l.must(func(tx *store.Txn) error {
		m, _ := l.r.Model(tx, l.m)
		m.Life = entity.Dying
		l.r.models.Put(tx, m)
		return nil
	})
	l.refused(fault.Conflict, deploying(l, DeployRequest{App: "wiki", Charm: "sha-blog"}))
	l.refused(fault.Conflict, adding(l, AddUnitsRequest{App: "blog"}))
	l.refused(fault.Conflict, integrating(l, "blog", "mysql"))
}

func TestBadRequestsChangeNothing(t *testing.T) {
	l := newLab(t)
	negative, huge := -1, MaxUnitsWanted+1
	for _, tc := range []struct {
		name string
		kind fault.Kind
		q    DeployRequest
	}{
		{"an unknown charm", fault.NotFound, DeployRequest{Charm: "nope"}},
		{"a bad name", fault.Invalid, DeployRequest{App: "Blog!", Charm: "sha-blog"}},
		{"less than no units", fault.Invalid, DeployRequest{Charm: "sha-blog", NumUnits: &negative}},
		{"too many units", fault.Invalid, DeployRequest{Charm: "sha-blog", NumUnits: &huge}},
		{"an unknown option", fault.Invalid, DeployRequest{Charm: "sha-blog", Config: map[string]string{"nope": "1"}}},
		{"a machine that does not exist", fault.NotFound, DeployRequest{Charm: "sha-blog", To: []string{"77"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l.tester = t
			l.refused(tc.kind, deploying(l, tc.q))
		})
	}
}

func TestBootstrapHappensOnce(t *testing.T) {
	l := newLab(t)
	var model entity.Model
	var m entity.Machine
	before := l.s.View().Revision()
	l.must(func(tx *store.Txn) (err error) { model, m, err = l.r.Bootstrap(tx, l.now, "other"); return })
	if l.s.View().Revision() != before {
		t.Error("a second bootstrap changed something")
	}
	if model.Name != DefaultModel || m.ID != "0" || m.Provider != "fake" || !m.HasJob(entity.ManageModel) || !m.HasJob(entity.HostUnits) {
		t.Errorf("bootstrap made %+v %+v", model, m)
	}
	if found, err := l.r.FindModel(l.s.View(), ""); err != nil || found.UID != model.UID {
		t.Errorf("the model without a name is %v, %v", found, err)
	}
	if got := CellID(model, "0"); got != "c0" {
		t.Errorf("the cell of machine 0 is %s", got)
	}
	if got := CellID(entity.Model{UID: "abcdefgh", Name: "other"}, "3/nspawn/0"); got != work.CellID("c3-nspawn-0-abcdef") {
		t.Errorf("the cell of another model's machine is %s", got)
	}
}

func TestCharmsAreNumberedByName(t *testing.T) {
	l := newLab(t)
	c := labCharms[0]
	for i, sha := range []entity.CharmSHA{"sha-2", "sha-3", "sha-2", "sha-blog"} {
		c.SHA = sha
		l.must(func(tx *store.Txn) error {
			got, err := l.r.AddCharm(tx, l.now, c)
			if want := []int{1, 2, 1, 0}[i]; got.Revision != want {
				err = fmt.Errorf("%s has revision %d, want %d", sha, got.Revision, want)
			}
			return err
		})
	}
}

func TestRandomIDsDiffer(t *testing.T) {
	r := New(store.NewSchema())
	if a, b := r.NewID(), r.NewID(); a == b || len(a) != 20 {
		t.Errorf("ids are %q and %q", a, b)
	}
}
