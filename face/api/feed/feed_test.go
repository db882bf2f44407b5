package feed

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"drover/keep/board"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// mirror is what an agent makes of its feed.
type mirror struct {
	state    map[string]*droverv1.Delta
	revision uint64
}

func (m *mirror) fold(t tester, msg *droverv1.FeedResponse) {
	t.Helper()
	if msg.Reset_ {
		m.state = map[string]*droverv1.Delta{}
	}
	for _, d := range msg.Deltas {
		if d.GetRemoved() {
			delete(m.state, d.Key)
		} else {
			m.state[d.Key] = d
		}
	}
	if msg.Synced && msg.Revision < m.revision {
		t.Errorf("the revision went back from %d to %d", m.revision, msg.Revision)
	}
	m.revision = msg.Revision
}

type tester interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

type world struct {
	tester
	st     *store.Store
	source *Source
	model  entity.ModelUID
	now    when.Instant
	ids    int
}

func endpoint(name string, role entity.Role, iface string, scope entity.Scope) entity.Endpoint {
	return entity.Endpoint{Name: name, Role: role, Interface: iface, Scope: scope}
}

var charms = []charm.Charm{
	{SHA: "sha-blog", Meta: charm.Meta{Name: "blog", Endpoints: []entity.Endpoint{endpoint("db", entity.Requirer, "sql", entity.ScopeGlobal)}},
		Options: map[string]charm.Option{"title": {Type: "string", Default: "Blog", HasDefault: true}}},
	{SHA: "sha-mysql", Meta: charm.Meta{Name: "mysql", Endpoints: []entity.Endpoint{endpoint("server", entity.Provider, "sql", entity.ScopeGlobal)}}},
	{SHA: "sha-log", Meta: charm.Meta{Name: "log", Subordinate: true, Endpoints: []entity.Endpoint{
		endpoint("host", entity.Requirer, entity.JujuInfo, entity.ScopeContainer)}}},
}

func newWorld(t tester, retain int) *world {
	schema := store.NewSchema()
	w := &world{tester: t, now: when.Of(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	reg, b := registry.New(schema), board.New(schema)
	newID := func() string { w.ids++; return fmt.Sprintf("id%d", w.ids) }
	reg.NewID, b.NewID = newID, newID
	st, err := store.Open(store.Config{Schema: schema, Log: store.NewMemoryLog(), Now: w.now.Time, RetainSets: retain})
	if err != nil {
		t.Fatal(err)
	}
	w.st = st
	w.source = &Source{
		Store: st, Registry: reg, Board: b, Cluster: func(store.Reader) string { return "c" },
		Servers: func() []string { return []string{"127.0.0.1:7443"} }, Log: slog.New(slog.DiscardHandler),
	}
	w.do(func(tx *store.Txn) error {
		model, _, err := reg.Bootstrap(tx, w.now, "local")
		w.model = model.UID
		for _, c := range charms {
			if _, err := reg.AddCharm(tx, w.now, c); err != nil {
				return err
			}
		}
		for range 2 {
			if _, err := reg.AddMachine(tx, w.now, model.UID, registry.MachineSpec{Jobs: []entity.Job{entity.HostUnits}}); err != nil {
				return err
			}
		}
		return err
	})
	return w
}

// do runs a change that must succeed.
func (w *world) do(fn func(tx *store.Txn) error) {
	w.Helper()
	if _, err := w.st.Update(context.Background(), fn); err != nil {
		w.Fatal(err)
	}
}

// try runs a change that may be refused.
func (w *world) try(fn func(tx *store.Txn) error) { _, _ = w.st.Update(context.Background(), fn) }

func (w *world) machine(id string) Machine {
	m, _ := w.source.Registry.Machine(w.st.View(), w.model, entity.MachineID(id))
	return Machine{Model: w.model, ID: m.ID, UID: m.UID, Cell: work.CellID("c" + id)}
}

func (w *world) deploy(app string, to ...string) {
	w.Helper()
	n := len(to)
	w.do(func(tx *store.Txn) error {
		q := registry.DeployRequest{App: entity.AppName(app), Charm: entity.CharmSHA("sha-" + app), To: to}
		if n > 0 {
			q.NumUnits = &n
		}
		_, err := w.source.Registry.Deploy(tx, w.now, w.model, q)
		return err
	})
}

func (w *world) ref(name string) registry.UnitRef {
	u, _ := w.source.Registry.Unit(w.st.View(), w.model, entity.UnitName(name))
	return registry.UnitRef{Name: entity.UnitName(name), UID: u.UID}
}

func keysOf(msgs []*droverv1.FeedResponse) []string {
	var keys []string
	for _, m := range msgs {
		for _, d := range m.Deltas {
			key := d.Key
			if d.GetRemoved() {
				key = "-" + key
			}
			keys = append(keys, key)
		}
	}
	return keys
}

func TestAFeedBeginsWithTheMachinesState(t *testing.T) {
	w := newWorld(t, 0)
	w.deploy("blog", "1")
	w.deploy("mysql", "2")
	c := w.source.Open(w.machine("1"), 0)
	defer c.Close()
	msgs := c.Poll()
	want := []string{"machine", "unit/blog/0"}
	if got := keysOf(msgs); !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
	if first, last := msgs[0], msgs[len(msgs)-1]; !first.Reset_ || !last.Synced || last.Revision != uint64(w.st.View().Revision()) {
		t.Errorf("first %v last %v", first, last)
	}
	if again := c.Poll(); again != nil {
		t.Errorf("a second poll sends %q", keysOf(again))
	}
}

func TestOnlyWhatChangedIsSent(t *testing.T) {
	w := newWorld(t, 0)
	w.deploy("blog", "1", "2")
	w.deploy("mysql", "2")
	one, two := w.source.Open(w.machine("1"), 0), w.source.Open(w.machine("2"), 0)
	defer one.Close()
	defer two.Close()
	one.Poll()
	two.Poll()
	reg := w.source.Registry
	for _, tc := range []struct {
		name     string
		do       func(tx *store.Txn) error
		one, two []string
	}{
		{"a relation comes to the units of both applications",
			func(tx *store.Txn) error { _, err := reg.Integrate(tx, w.now, w.model, "blog", "mysql"); return err },
			[]string{"relation/blog/0/1"}, []string{"relation/blog/1/1", "relation/mysql/0/1"}},
		{"a member is shown to its counterparts",
			func(tx *store.Txn) error {
				_, err := reg.EnterScope(tx, w.now, w.model, w.ref("mysql/0"), 1, map[string]string{"private-address": "10.0.0.2"})
				return err
			},
			[]string{"member/blog/0/1/mysql/0"}, []string{"member/blog/1/1/mysql/0", "relation/mysql/0/1"}},
		{"configuration goes to the application's units",
			func(tx *store.Txn) error {
				return reg.SetConfig(tx, w.now, w.model, "mysql", nil, nil)
			}, nil, nil},
		{"an option that is set goes to each of them",
			func(tx *store.Txn) error {
				return reg.SetConfig(tx, w.now, w.model, "blog", map[string]string{"title": "New"}, nil)
			}, []string{"unit/blog/0"}, []string{"unit/blog/1"}},
		{"an instance comes to its cell",
			func(tx *store.Txn) error {
				return w.source.Board.Start(tx, w.now, board.Ask{Key: work.LRPKey{ProcessGUID: "web"}, Seen: board.AnyRevision, Domain: "d",
					Holder: work.Holder{Instance: "i", Cell: "c2"}}, work.NetInfo{})
			}, nil, []string{"lrp/web/0/i"}},
		{"and goes with it",
			func(tx *store.Txn) error {
				return w.source.Board.Remove(tx, w.now, board.Ask{Key: work.LRPKey{ProcessGUID: "web"}, Seen: board.AnyRevision, Holder: work.Holder{Instance: "i", Cell: "c2"}})
			}, nil, []string{"-lrp/web/0/i"}},
	} {
		w.do(tc.do)
		if got := keysOf(one.Poll()); !sameKeys(got, tc.one) {
			t.Errorf("%s: machine 1 gets %q, want %q", tc.name, got, tc.one)
		}
		if got := keysOf(two.Poll()); !sameKeys(got, tc.two) {
			t.Errorf("%s: machine 2 gets %q, want %q", tc.name, got, tc.two)
		}
	}
}

func sameKeys(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// step is one thing that happens at random.
func (w *world) step(rt *rapid.T) {
	reg, b := w.source.Registry, w.source.Board
	units := reg.ListUnits(w.st.View(), w.model)
	rels := reg.ListRelations(w.st.View(), w.model)
	key := work.LRPKey{ProcessGUID: "web", Index: rapid.IntRange(0, 2).Draw(rt, "index")}
	ask := board.Ask{Key: key, Seen: board.AnyRevision, Domain: "d", Incarnation: "i",
		Holder: work.Holder{Instance: work.InstanceGUID(fmt.Sprint("g", key.Index)), Cell: rapid.SampledFrom([]work.CellID{"c1", "c2"}).Draw(rt, "cell")}}
	onUnit := func(fn func(tx *store.Txn, u registry.UnitRef) error) {
		if len(units) > 0 {
			u := rapid.SampledFrom(units).Draw(rt, "unit")
			w.try(func(tx *store.Txn) error { return fn(tx, registry.UnitRef{Name: u.Name, UID: u.UID}) })
		}
	}
	onScope := func(fn func(tx *store.Txn, u registry.UnitRef, rel entity.RelationID) error) {
		if len(rels) > 0 {
			rel := rapid.SampledFrom(rels).Draw(rt, "relation")
			onUnit(func(tx *store.Txn, u registry.UnitRef) error { return fn(tx, u, rel.ID) })
		}
	}
	app := entity.AppName(rapid.SampledFrom([]string{"blog", "mysql", "log"}).Draw(rt, "app"))
	to := rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "to")
	w.now = w.now.Add(time.Second)
	switch rapid.IntRange(0, 15).Draw(rt, "what") {
	case 0:
		w.try(func(tx *store.Txn) error {
			q := registry.DeployRequest{App: app, Charm: entity.CharmSHA("sha-" + app)}
			if app != "log" {
				q.To = []string{to}
			}
			_, err := reg.Deploy(tx, w.now, w.model, q)
			return err
		})
	case 1:
		w.try(func(tx *store.Txn) error {
			_, err := reg.AddUnits(tx, w.now, w.model, registry.AddUnitsRequest{App: app, Count: 1, To: []string{to}})
			return err
		})
	case 2:
		pair := rapid.SampledFrom([][2]string{{"blog", "mysql"}, {"log", "blog"}, {"log", "mysql"}}).Draw(rt, "pair")
		w.try(func(tx *store.Txn) error { _, err := reg.Integrate(tx, w.now, w.model, pair[0], pair[1]); return err })
	case 3, 4:
		onScope(func(tx *store.Txn, u registry.UnitRef, rel entity.RelationID) error {
			if err := reg.SetUnitDeployed(tx, w.now, w.model, u); err != nil {
				return err
			}
			_, err := reg.EnterScope(tx, w.now, w.model, u, rel, map[string]string{"private-address": "10.0.0.1"})
			return err
		})
	case 5:
		onScope(func(tx *store.Txn, u registry.UnitRef, rel entity.RelationID) error {
			return reg.LeaveScope(tx, w.now, w.model, u, rel)
		})
	case 6:
		onUnit(func(tx *store.Txn, u registry.UnitRef) error { return reg.SetUnitDeployed(tx, w.now, w.model, u) })
	case 7:
		onUnit(func(tx *store.Txn, u registry.UnitRef) error { return reg.DestroyUnit(tx, w.now, w.model, u) })
	case 8:
		onUnit(func(tx *store.Txn, u registry.UnitRef) error { return reg.SetUnitDead(tx, w.now, w.model, u) })
	case 9:
		onUnit(func(tx *store.Txn, u registry.UnitRef) error { return reg.RemoveDeadUnit(tx, w.now, w.model, u) })
	case 10:
		w.try(func(tx *store.Txn) error {
			_, err := reg.RemoveApplication(tx, w.now, w.model, app, registry.RemoveOptions{})
			return err
		})
	case 11:
		onUnit(func(tx *store.Txn, u registry.UnitRef) error {
			return reg.SetStatus(tx, w.now, w.model, u, entity.Status{Value: entity.StatusActive, Since: w.now})
		})
	case 12:
		w.try(func(tx *store.Txn) error { return b.Start(tx, w.now, ask, work.NetInfo{Address: "127.0.0.1"}) })
	case 13:
		w.try(func(tx *store.Txn) error { return b.CreateEvacuating(tx, w.now, ask, work.NetInfo{}, 0) })
	case 14:
		w.try(func(tx *store.Txn) error { return b.Crash(tx, w.now, ask, "boom") })
	default:
		w.try(func(tx *store.Txn) error { return b.RemoveEvacuating(tx, w.now, ask) })
	}
}

func TestFoldingAFeedEqualsTheState(t *testing.T) {
	resets, resumes := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, rapid.SampledFrom([]int{0, 4}).Draw(rt, "retained"))
		defer func() { _ = w.st.Close() }()
		m := w.machine("1")
		got := &mirror{}
		cursor := w.source.Open(m, 0)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			w.step(rt)
			switch rapid.IntRange(0, 5).Draw(rt, "then") {
			case 0: // the connection breaks; messages that were under way are lost
				if rapid.Bool().Draw(rt, "lost") {
					cursor.Poll()
				}
				cursor.Close()
				cursor = w.source.Open(m, store.Revision(got.revision))
			case 1, 2, 3:
				for _, msg := range cursor.Poll() {
					if msg.Reset_ {
						resets++
					} else if msg.Synced {
						resumes++
					}
					got.fold(rt, msg)
				}
				fresh := w.source.Open(m, 0)
				want := &mirror{}
				for _, msg := range fresh.Poll() {
					want.fold(rt, msg)
				}
				fresh.Close()
				if diff := cmp.Diff(want.state, got.state, protocmp.Transform()); diff != "" {
					rt.Fatalf("the mirror differs from the state (-state +mirror):\n%s", diff)
				}
			}
		}
		cursor.Close()
	})
	if resets == 0 || resumes == 0 {
		t.Errorf("%d resets, %d deltas: the test does not reach both", resets, resumes)
	}
}

func TestAResumeSendsOnlyWhatChangedSince(t *testing.T) {
	w := newWorld(t, 0)
	w.deploy("blog", "1", "1")
	c := w.source.Open(w.machine("1"), 0)
	got := &mirror{}
	for _, msg := range c.Poll() {
		got.fold(t, msg)
	}
	c.Close()
	w.do(func(tx *store.Txn) error {
		return w.source.Registry.SetStatus(tx, w.now, w.model, w.ref("blog/1"), entity.Status{Value: entity.StatusActive, Since: w.now})
	})
	c = w.source.Open(w.machine("1"), store.Revision(got.revision))
	defer c.Close()
	msgs := c.Poll()
	for _, msg := range msgs {
		if msg.Reset_ {
			t.Error("the resume is a reset")
		}
	}
	if keys := keysOf(msgs); slices.Contains(keys, "unit/blog/0") || !slices.Contains(keys, "unit/blog/1") {
		t.Errorf("resumed with %q", keys)
	}
}

func TestAResumeBeyondWhatIsKeptIsAReset(t *testing.T) {
	w := newWorld(t, 2)
	for _, at := range []store.Revision{1, 1 << 40} {
		w.deploy([]string{"blog", "mysql"}[at&1], "1")
		w.do(func(tx *store.Txn) error {
			_, err := w.source.Registry.AddMachine(tx, w.now, w.model, registry.MachineSpec{})
			return err
		})
		w.do(func(tx *store.Txn) error {
			_, err := w.source.Registry.AddMachine(tx, w.now, w.model, registry.MachineSpec{})
			return err
		})
		c := w.source.Open(w.machine("1"), at)
		if msgs := c.Poll(); !msgs[0].Reset_ {
			t.Errorf("resume at %d: no reset", at)
		}
		c.Close()
	}
}

func TestAMachineHearsNothingOfOthers(t *testing.T) {
	w := newWorld(t, 0)
	w.deploy("blog", "2")
	c := w.source.Open(w.machine("1"), 0)
	defer c.Close()
	c.Poll()
	w.do(func(tx *store.Txn) error {
		return w.source.Registry.SetStatus(tx, w.now, w.model, w.ref("blog/0"), entity.Status{Value: entity.StatusActive, Since: w.now})
	})
	select {
	case <-c.C():
		t.Error("a change on machine 2 woke the feed of machine 1")
	default:
	}
}

func TestLongStatesComeInBoundedMessages(t *testing.T) {
	w := newWorld(t, 0)
	w.do(func(tx *store.Txn) error {
		for i := range 300 {
			err := w.source.Board.Start(tx, w.now, board.Ask{Key: work.LRPKey{ProcessGUID: "web", Index: i}, Seen: board.AnyRevision, Domain: "d",
				Holder: work.Holder{Instance: "i", Cell: "c1"}}, work.NetInfo{})
			if err != nil {
				return err
			}
		}
		return nil
	})
	c := w.source.Open(w.machine("1"), 0)
	defer c.Close()
	msgs, synced := c.Poll(), 0
	for i, msg := range msgs {
		if len(msg.Deltas) > maxDeltas || msg.Reset_ != (i == 0) {
			t.Errorf("message %d: %d deltas, reset %v", i, len(msg.Deltas), msg.Reset_)
		}
		if msg.Synced {
			synced++
		}
	}
	if len(msgs) < 3 || synced != 1 || !msgs[len(msgs)-1].Synced {
		t.Errorf("%d messages, %d synced", len(msgs), synced)
	}
}

func TestCommandsWaitForTheirAgent(t *testing.T) {
	h := NewHub()
	batch := func(id uint64) *droverv1.WorkBatch { return &droverv1.WorkBatch{Id: id} }
	if err := h.SendWork("m/1", batch(1)); err == nil {
		t.Error("work is taken for a machine that nobody connected for")
	}
	ids := func(ds []*droverv1.Delta) string {
		var out []string
		for _, d := range ds {
			out = append(out, fmt.Sprint(d.Key, d.GetWork().GetId()))
		}
		return strings.Join(out, " ")
	}
	old := h.Connect("m/1")
	for id := range uint64(3) {
		if err := h.SendWork("m/1", batch(id+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Send("m/1", &droverv1.Delta{Key: "stop"}); err != nil {
		t.Fatal(err)
	}
	if got := ids(old.Take()); got != "work1 work2 work3 stop0" {
		t.Errorf("the agent gets %q", got)
	}
	if got := ids(old.Take()); got != "" {
		t.Errorf("and again %q", got)
	}
	h.Acknowledge("m/1", 1)
	line := h.Connect("m/1")
	select {
	case <-old.Closed():
	default:
		t.Error("the older line is still open")
	}
	old.Disconnect()
	if !h.Connected("m/1") {
		t.Error("the end of the older line disconnected the newer one")
	}
	if got := ids(line.Take()); got != "work2 work3" {
		t.Errorf("after reconnecting the agent gets %q, want what it did not acknowledge", got)
	}
	line.Disconnect()
	if h.Connected("m/1") {
		t.Error("still connected")
	}
	if len(slices.Collect(maps.Keys(h.boxes))) != 1 {
		t.Error("the outbox is forgotten with work in it")
	}
}
