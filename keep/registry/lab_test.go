package registry

import (
	"context"
	"fmt"
	"testing"
	"time"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
)

// tester is *testing.T or *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// lab is a real registry on a store in memory, with agents played by the test.
// After every transaction it checks the invariants.
type lab struct {
	tester
	s   *store.Store
	r   *Registry
	m   entity.ModelUID
	now when.Instant
	ids int
	was *store.View
}

func newLab(t *testing.T) *lab {
	l := openLab(t)
	t.Cleanup(func() { _ = l.s.Close() })
	return l
}

func openLab(t tester) *lab {
	schema := store.NewSchema()
	l := &lab{tester: t, r: New(schema), now: when.Of(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	l.r.NewID = func() string { l.ids++; return fmt.Sprintf("id%d", l.ids) }
	l.s = store.OpenMemory(schema)
	if _, err := l.s.Update(context.Background(), func(tx *store.Txn) error {
		model, _, err := l.r.Bootstrap(tx, l.now, "fake")
		l.m = model.UID
		for _, c := range labCharms {
			if _, err := l.r.AddCharm(tx, l.now, c); err != nil {
				return err
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	l.was = l.s.View()
	return l
}

func endpoint(name string, role entity.Role, iface string, scope entity.Scope) entity.Endpoint {
	return entity.Endpoint{Name: name, Role: role, Interface: iface, Scope: scope}
}

// labCharms are: blog requires two databases' interface and offers http; mysql
// offers sql twice; proxy joins http; log is a subordinate of anything, mon of
// what speaks "probe"; ring has a peer relation; one takes a single client.
var labCharms = []charm.Charm{
	{SHA: "sha-blog", Meta: charm.Meta{Name: "blog", Endpoints: []entity.Endpoint{
		endpoint("db", entity.Requirer, "sql", entity.ScopeGlobal), endpoint("probe", entity.Provider, "probe", entity.ScopeGlobal),
		endpoint("web", entity.Provider, "http", entity.ScopeGlobal)}},
		Options: map[string]charm.Option{
			"title": {Type: "string", Default: "Blog", HasDefault: true}, "port": {Type: "int"},
			"debug": {Type: "boolean"}, "ratio": {Type: "float"}}},
	{SHA: "sha-mysql", Meta: charm.Meta{Name: "mysql", Endpoints: []entity.Endpoint{endpoint("server", entity.Provider, "sql", entity.ScopeGlobal)}}},
	{SHA: "sha-pg", Meta: charm.Meta{Name: "pg", Endpoints: []entity.Endpoint{
		endpoint("admin", entity.Provider, "sql", entity.ScopeGlobal), endpoint("db", entity.Provider, "sql", entity.ScopeGlobal)}}},
	{SHA: "sha-log", Meta: charm.Meta{Name: "log", Subordinate: true, Endpoints: []entity.Endpoint{
		endpoint("host", entity.Requirer, entity.JujuInfo, entity.ScopeContainer)}}},
	{SHA: "sha-mon", Meta: charm.Meta{Name: "mon", Subordinate: true, Endpoints: []entity.Endpoint{
		endpoint("host", entity.Requirer, entity.JujuInfo, entity.ScopeContainer), endpoint("target", entity.Requirer, "probe", entity.ScopeContainer)}}},
	{SHA: "sha-ring", Meta: charm.Meta{Name: "ring", Endpoints: []entity.Endpoint{endpoint("members", entity.Peer, "ring", entity.ScopeGlobal)}}},
	{SHA: "sha-one", Meta: charm.Meta{Name: "one", Endpoints: []entity.Endpoint{
		{Name: "db", Role: entity.Requirer, Interface: "sql", Scope: entity.ScopeGlobal, Limit: 1}}}},
}

// try runs a transaction and checks the state after it.
func (l *lab) try(fn func(tx *store.Txn) error) error {
	l.Helper()
	_, err := l.s.Update(context.Background(), fn)
	view := l.s.View()
	after, before := l.r.World(view, l.m), l.r.World(l.was, l.m)
	if broken := lifecycle.Check(after); broken != nil {
		l.Fatalf("invariants: %v", broken)
	}
	if broken := lifecycle.CheckMove(before, after); broken != nil {
		l.Fatalf("invariants of the move: %v", broken)
	}
	l.was = view
	return err
}

func (l *lab) must(fn func(tx *store.Txn) error) {
	l.Helper()
	if err := l.try(fn); err != nil {
		l.Fatal(err)
	}
}

// refused runs a transaction that must be refused and change nothing.
func (l *lab) refused(kind fault.Kind, fn func(tx *store.Txn) error) *fault.Error {
	l.Helper()
	before := l.s.View().Revision()
	err := l.try(fn)
	if !fault.Is(err, kind) {
		l.Fatalf("got %v, want a refusal of kind %v", err, kind)
	}
	if now := l.s.View().Revision(); now != before {
		l.Fatalf("a refused request changed something: revision %d, was %d", now, before)
	}
	f, _ := err.(*fault.Error)
	return f
}

func (l *lab) deploy(charmName string, name entity.AppName, units int) Created {
	l.Helper()
	q := DeployRequest{App: name, Charm: entity.CharmSHA("sha-" + charmName)}
	if units >= 0 {
		q.NumUnits = &units
	}
	var out Created
	l.must(func(tx *store.Txn) (err error) { out, err = l.r.Deploy(tx, l.now, l.m, q); return })
	return out
}

func (l *lab) addUnits(app entity.AppName, n int, to ...string) Created {
	l.Helper()
	var out Created
	l.must(func(tx *store.Txn) (err error) {
		out, err = l.r.AddUnits(tx, l.now, l.m, AddUnitsRequest{App: app, Count: n, To: to})
		return
	})
	return out
}

func (l *lab) integrate(a, b string) entity.Relation {
	l.Helper()
	var rel entity.Relation
	l.must(func(tx *store.Txn) (err error) { rel, err = l.r.Integrate(tx, l.now, l.m, a, b); return })
	return rel
}

func (l *lab) removeApp(app entity.AppName, o RemoveOptions) Removed {
	l.Helper()
	var out Removed
	l.must(func(tx *store.Txn) (err error) { out, err = l.r.RemoveApplication(tx, l.now, l.m, app, o); return })
	return out
}

func (l *lab) removeUnit(u entity.UnitName, o RemoveOptions) Removed {
	l.Helper()
	var out Removed
	l.must(func(tx *store.Txn) (err error) { out, err = l.r.RemoveUnit(tx, l.now, l.m, u, o); return })
	return out
}

func (l *lab) removeRelation(a, b string, o RemoveOptions) Removed {
	l.Helper()
	var out Removed
	l.must(func(tx *store.Txn) (err error) { out, err = l.r.RemoveRelation(tx, l.now, l.m, a, b, o); return })
	return out
}

func (l *lab) removeMachine(id entity.MachineID, o RemoveOptions) Removed {
	l.Helper()
	var out Removed
	l.must(func(tx *store.Txn) (err error) { out, err = l.r.RemoveMachine(tx, l.now, l.m, id, o); return })
	return out
}

func (l *lab) deployed(units ...entity.UnitName) {
	l.Helper()
	for _, u := range units {
		l.must(func(tx *store.Txn) error { return l.r.SetUnitDeployed(tx, l.now, l.m, UnitRef{Name: u}) })
	}
}

func (l *lab) enter(u entity.UnitName, rel entity.RelationID) Entered {
	l.Helper()
	var out Entered
	l.must(func(tx *store.Txn) (err error) {
		out, err = l.r.EnterScope(tx, l.now, l.m, UnitRef{Name: u}, rel, nil)
		return
	})
	return out
}

func (l *lab) leave(u entity.UnitName, rel entity.RelationID) {
	l.Helper()
	l.must(func(tx *store.Txn) error { return l.r.LeaveScope(tx, l.now, l.m, UnitRef{Name: u}, rel) })
}

func (l *lab) dead(u entity.UnitName) {
	l.Helper()
	l.must(func(tx *store.Txn) error { return l.r.SetUnitDead(tx, l.now, l.m, UnitRef{Name: u}) })
}

func (l *lab) recall(u entity.UnitName) {
	l.Helper()
	l.must(func(tx *store.Txn) error { return l.r.RemoveDeadUnit(tx, l.now, l.m, UnitRef{Name: u}) })
}

// life is the entity's life in words; "gone" without it.
func (l *lab) life(what string) string {
	w := l.r.World(l.s.View(), l.m)
	var lf entity.Life
	var ok bool
	switch {
	case entity.UnitName(what).Number() >= 0:
		var u entity.Unit
		u, ok = w.Unit(entity.UnitName(what))
		lf = u.Life
	case what[0] >= '0' && what[0] <= '9':
		var m entity.Machine
		m, ok = w.Machine(entity.MachineID(what))
		lf = m.Life
	default:
		var a entity.Application
		a, ok = w.Application(entity.AppName(what))
		lf = a.Life
	}
	if !ok {
		return "gone"
	}
	return lf.String()
}

func (l *lab) relationLife(id entity.RelationID) string {
	rel, ok := l.r.Relation(l.s.View(), l.m, id)
	if !ok {
		return "gone"
	}
	return rel.Life.String()
}

func (l *lab) want(lives map[string]string) {
	l.Helper()
	for what, want := range lives { // order-free: independent checks
		if got := l.life(what); got != want {
			l.Errorf("%s is %s, want %s", what, got, want)
		}
	}
}

// settle plays all agents, the provisioner and the cleaner until nothing
// changes any more.
func (l *lab) settle() {
	l.Helper()
	for range 400 {
		before := l.s.View().Revision()
		l.agents()
		l.provision()
		waiting := l.clean()
		if l.s.View().Revision() == before {
			if !waiting {
				return
			}
		}
		l.now = l.now.Add(time.Minute)
	}
	l.Fatalf("the agents never come to rest")
}

// soft runs an agent's call; a refusal means that it looks again later.
func (l *lab) soft(fn func(tx *store.Txn) error) {
	l.Helper()
	if err := l.try(fn); err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
		l.Fatal(err)
	}
}

func (l *lab) agents() {
	l.Helper()
	for _, m := range l.r.ListMachines(l.s.View(), l.m) {
		l.machineAgent(m.ID)
	}
	for _, u := range l.r.ListUnits(l.s.View(), l.m) {
		l.unitAgent(u.Name)
	}
}

// deployer is what the deployer of the units does for each.
func (l *lab) deployer(units []entity.Unit) {
	l.Helper()
	for _, u := range units {
		ref := UnitRef{u.Name, u.UID}
		app, _ := l.r.Application(l.s.View(), l.m, u.App)
		switch {
		case u.Life == entity.Dead, !u.Deployed && (u.Life != entity.Alive || app.Life != entity.Alive):
			l.soft(func(tx *store.Txn) error { return l.r.RemoveDeadUnit(tx, l.now, l.m, ref) })
		case !u.Deployed:
			l.soft(func(tx *store.Txn) error { return l.r.SetUnitDeployed(tx, l.now, l.m, ref) })
		}
	}
}

func (l *lab) machineAgent(id entity.MachineID) {
	l.Helper()
	m, ok := l.r.Machine(l.s.View(), l.m, id)
	if !ok || m.Instance == "" || m.Life == entity.Dead {
		return
	}
	l.deployer(l.r.UnitsOn(l.s.View(), l.m, id))
	if m.Life == entity.Dying {
		l.soft(func(tx *store.Txn) error { return l.r.SetMachineDead(tx, l.now, l.m, id) })
	}
}

func (l *lab) unitAgent(name entity.UnitName) {
	l.Helper()
	v := l.s.View()
	u, ok := l.r.Unit(v, l.m, name)
	if !ok || !u.Deployed || u.Life == entity.Dead {
		return
	}
	ref := UnitRef{u.Name, u.UID}
	app, _ := l.r.Application(v, l.m, u.App)
	if u.Life == entity.Alive && (app.Life != entity.Alive || u.IsSubordinate() && !l.r.SubordinateWanted(v, l.m, u)) {
		l.soft(func(tx *store.Txn) error { return l.r.DestroyUnit(tx, l.now, l.m, ref) })
		return
	}
	subs := l.r.Subordinates(v, l.m, name)
	if u.Life == entity.Dying {
		for _, s := range subs {
			if s.Life == entity.Alive {
				l.soft(func(tx *store.Txn) error { return l.r.DestroyUnit(tx, l.now, l.m, UnitRef{s.Name, s.UID}) })
			}
		}
	}
	for _, rel := range l.r.UnitRelations(v, l.m, name) {
		id := rel.Relation.ID
		switch {
		case rel.InScope && (rel.Relation.Life != entity.Alive || u.Life != entity.Alive):
			l.soft(func(tx *store.Txn) error { return l.r.LeaveScope(tx, l.now, l.m, ref, id) })
		case !rel.InScope && rel.Relation.Life == entity.Alive && u.Life == entity.Alive:
			l.soft(func(tx *store.Txn) error { _, err := l.r.EnterScope(tx, l.now, l.m, ref, id, nil); return err })
		}
	}
	l.deployer(l.r.Subordinates(l.s.View(), l.m, name))
	if u.Life == entity.Dying {
		l.soft(func(tx *store.Txn) error { return l.r.SetUnitDead(tx, l.now, l.m, ref) })
	}
}

func (l *lab) provision() {
	l.Helper()
	for _, m := range l.r.ListMachines(l.s.View(), l.m) {
		switch {
		case m.Life == entity.Alive && m.Instance == "":
			l.must(func(tx *store.Txn) error { return l.r.InstanceStarting(tx, l.now, l.m, m.ID, m.UID) })
			l.must(func(tx *store.Txn) error {
				return l.r.InstanceRunning(tx, l.now, l.m, m.ID, m.UID, "i-"+string(m.UID), "10.0.0."+string(m.ID))
			})
		case m.Life == entity.Dead:
			l.must(func(tx *store.Txn) error { return l.r.RemoveDeadMachine(tx, l.now, l.m, m.ID) })
		case m.Life == entity.Dying && m.Instance == "":
			l.soft(func(tx *store.Txn) error { return l.r.RemoveUnprovisioned(tx, l.now, l.m, m.ID) })
		}
	}
}

// clean steps every cleanup once and reports whether one waits for its time.
func (l *lab) clean() (waiting bool) {
	l.Helper()
	for _, q := range l.r.ListCleanups(l.s.View()) {
		var res CleanResult
		l.must(func(tx *store.Txn) (err error) { res, err = l.r.CleanStep(tx, l.now, q.ID); return })
		waiting = waiting || !res.Done
	}
	return waiting
}

// busyCells is a board on which some cells hold work.
type busyCells map[work.CellID]bool

func (b busyCells) CellBusy(_ store.Reader, c work.CellID) bool               { return b[c] }
func (b busyCells) EvacuateCell(_ *store.Txn, _ when.Instant, _ work.CellID)  {}
func (b busyCells) RemoveCell(_ *store.Txn, _ when.Instant, cell work.CellID) { delete(b, cell) }
