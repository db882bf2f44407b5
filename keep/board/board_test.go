package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
)

const t0 = when.Instant(1_000_000 * int64(time.Second))

// world is a board over a store in memory, on a clock of its own.
type world struct {
	t   testing.TB
	b   *Board
	s   *store.Store
	now when.Instant
}

func newWorld(t testing.TB) *world {
	t.Helper()
	schema := store.NewSchema()
	w := &world{t: t, b: New(schema), now: t0}
	n := 0
	w.b.NewID = func() string { n++; return fmt.Sprint("id", n) }
	w.s = store.OpenMemory(schema)
	t.Cleanup(func() { _ = w.s.Close() })
	return w
}

// do runs a transaction, and checks the board and the change.
func (w *world) do(fn func(*store.Txn) error) error {
	w.t.Helper()
	before := w.s.View()
	_, err := w.s.Update(w.t.Context(), fn)
	after := w.s.View()
	if bad := w.b.Check(after); bad != nil {
		w.t.Fatal(bad)
	}
	if bad := w.b.CheckChange(before, after); bad != nil {
		w.t.Fatal(bad)
	}
	return err
}

func (w *world) must(fn func(*store.Txn) error) {
	w.t.Helper()
	if err := w.do(fn); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) refused(kind fault.Kind, fn func(*store.Txn) error) {
	w.t.Helper()
	rev := w.s.View().Revision()
	if err := w.do(fn); !fault.Is(err, kind) {
		w.t.Errorf("got %v, want it %s", err, kind)
	}
	if w.s.View().Revision() != rev {
		w.t.Error("something changed")
	}
}

func (w *world) cell(id work.CellID) {
	w.t.Helper()
	w.must(func(tx *store.Txn) error {
		return w.b.UpsertCell(tx, w.now, work.Cell{ID: id, Machine: "m/" + string(id), MachineUID: string(id), Stack: "linux"})
	})
}

func (w *world) desire(instances int) {
	w.t.Helper()
	w.must(func(tx *store.Txn) error {
		_, err := w.b.DesireLRP(tx, w.now, lrp(instances))
		return err
	})
}

func (w *world) scale(n int) {
	w.t.Helper()
	w.must(func(tx *store.Txn) error {
		_, err := w.b.UpdateLRP(tx, w.now, "web", LRPUpdate{Instances: &n})
		return err
	})
}

func (w *world) converge() {
	w.t.Helper()
	for range 10 {
		actions, _ := w.b.LRPView(w.s.View(), w.now, "web").Decide(w.now)
		changed := false
		w.must(func(tx *store.Txn) error {
			for _, a := range actions {
				c, err := w.b.Converge(tx, w.now, a)
				if err != nil {
					return err
				}
				changed = changed || c
			}
			return nil
		})
		if !changed {
			return
		}
	}
	w.t.Fatal("convergence does not end")
}

func lrp(instances int) work.DesiredLRP {
	return work.DesiredLRP{
		ProcessGUID: "web", Domain: "d", Instances: instances,
		Spec: work.Spec{MemoryMB: 10, Action: work.Action{Run: &work.RunAction{Path: "true"}}},
	}
}

func task() work.Task {
	return work.Task{GUID: "job", Domain: "d", Spec: work.Spec{Action: work.Action{Run: &work.RunAction{Path: "true"}}}}
}

// ask is a wish about an index by the instance "i<index>" on the cell, on the
// record as it is.
func (w *world) ask(i int, cell work.CellID) Ask {
	d, _ := w.b.Desired(w.s.View(), "web")
	return Ask{
		Key: work.LRPKey{ProcessGUID: "web", Index: i}, Domain: "d", Incarnation: d.Incarnation, Seen: AnyRevision,
		Holder: work.Holder{Instance: work.InstanceGUID(fmt.Sprint("i", i)), Cell: cell},
	}
}

func (w *world) claim(i int, cell work.CellID) {
	w.t.Helper()
	w.must(func(tx *store.Txn) error { return w.b.Claim(tx, w.now, w.ask(i, cell)) })
}

func (w *world) start(i int, cell work.CellID) {
	w.t.Helper()
	w.must(func(tx *store.Txn) error {
		return w.b.Start(tx, w.now, w.ask(i, cell), work.NetInfo{Address: "127.0.0.9"})
	})
}

func (w *world) crash(i int, cell work.CellID) {
	w.t.Helper()
	w.must(func(tx *store.Txn) error { return w.b.Crash(tx, w.now, w.ask(i, cell), "exit 1") })
}

func (w *world) actual(i int) work.ActualLRP {
	a, _ := w.b.Actual(w.s.View(), work.LRPKey{ProcessGUID: "web", Index: i}, false)
	return a
}

// records is a line of all records: "0 RUNNING i0@c0, 1 UNCLAIMED".
func (w *world) records() string {
	var out []string
	for a := range w.b.AllActual(w.s.View()) {
		s := fmt.Sprintf("%d %s", a.Index, a.State)
		if a.Evacuating {
			s = fmt.Sprintf("%d/e %s", a.Index, a.State)
		}
		if a.Holder.Cell != "" {
			s += fmt.Sprintf(" %s@%s", a.Holder.Instance, a.Holder.Cell)
		}
		if a.Stopping {
			s += " stopping"
		}
		if a.CrashCount > 0 {
			s += fmt.Sprintf(" crashes=%d", a.CrashCount)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func (w *world) want(records string) {
	w.t.Helper()
	if got := w.records(); got != records {
		w.t.Errorf("got %q, want %q", got, records)
	}
}

// Rule: D-028 D-040 D-050 D-054 D-041
func TestDesiringMakesUnclaimedRecordsForEveryIndex(t *testing.T) {
	w := newWorld(t)
	w.desire(3)
	w.want("0 UNCLAIMED, 1 UNCLAIMED, 2 UNCLAIMED")
	w.refused(fault.Conflict, func(tx *store.Txn) error {
		_, err := w.b.DesireLRP(tx, w.now, lrp(1))
		return err
	})
}

func TestManyInstancesAreCreatedInSteps(t *testing.T) {
	w := newWorld(t)
	w.desire(MaxCreated + 5)
	if n := len(strings.Split(w.records(), ",")); n != MaxCreated {
		t.Errorf("%d records at once", n)
	}
	w.converge()
	if n := len(strings.Split(w.records(), ",")); n != MaxCreated+5 {
		t.Errorf("%d records after convergence", n)
	}
}

// Rule: D-029 D-030 D-065 D-066
func TestUpdatesLeaveInstancesAlone(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.desire(1)
	w.claim(0, "c0")
	w.start(0, "c0")
	before := w.actual(0)
	note, routes := "hello", []work.Route{{Router: "cf", Data: []byte("x")}}
	w.must(func(tx *store.Txn) error {
		_, err := w.b.UpdateLRP(tx, w.now, "web", LRPUpdate{Annotation: &note, Routes: &routes})
		return err
	})
	if got := w.actual(0); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("%v, was %v", got, before)
	}
	d, _ := w.b.Desired(w.s.View(), "web")
	if d.Annotation != "hello" || d.ModTag.Index != 1 || len(d.Routes) != 1 {
		t.Errorf("%+v", d)
	}
	w.refused(fault.NotFound, func(tx *store.Txn) error {
		_, err := w.b.UpdateLRP(tx, w.now, "nope", LRPUpdate{})
		return err
	})
}

// Rule: D-051 D-067 D-070
func TestScaleDownStopsExtrasAtOnceInAStaleDomain(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.desire(4)
	w.claim(1, "c0")
	w.claim(2, "c0")
	w.start(2, "c0")
	w.scale(1)
	w.want("0 UNCLAIMED, 1 CLAIMED i1@c0 stopping, 2 RUNNING i2@c0 stopping")
	if w.actual(2).Routable {
		t.Error("a stopping instance is routable")
	}
	w.must(func(tx *store.Txn) error { return w.b.RemoveLRP(tx, w.now, "web") })
	w.want("1 CLAIMED i1@c0 stopping, 2 RUNNING i2@c0 stopping")
	for _, i := range []int{1, 2} {
		w.must(func(tx *store.Txn) error { return w.b.Remove(tx, w.now, w.ask(i, "c0")) })
	}
	w.want("")
}

// Rule: D-062 D-042 D-043 D-066
func TestClaimThenStart(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.desire(1)
	w.must(func(tx *store.Txn) error {
		return w.b.SetPlacementError(tx, w.now, work.LRPKey{ProcessGUID: "web"}, "insufficient resources")
	})
	if w.actual(0).PlacementError != "insufficient resources" {
		t.Error("no placement error") // Rule: D-090
	}
	w.claim(0, "c0")
	if a := w.actual(0); a.State != work.Claimed || a.PlacementError != "" || a.Holder.Cell != "c0" {
		t.Errorf("%+v", a) // Rule: D-091
	}
	w.now = w.now.Add(time.Second)
	w.start(0, "c0")
	if a := w.actual(0); a.State != work.Running || !a.Routable || a.Since != w.now || a.Net.Address == "" {
		t.Errorf("%+v", a) // Rule: D-046
	}
}

// Rule: D-026
func TestAStepOnAChangedRecordIsAConflict(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.desire(1)
	key := work.LRPKey{ProcessGUID: "web"}
	seen := w.b.ActualRevision(w.s.View(), key, false)
	w.claim(0, "c0")
	a := w.ask(0, "c0")
	for name, fn := range map[string]func(*store.Txn) error{ // order-free: each changes nothing
		"claim":   func(tx *store.Txn) error { return w.b.Claim(tx, w.now, a) },
		"start":   func(tx *store.Txn) error { return w.b.Start(tx, w.now, a, work.NetInfo{}) },
		"crash":   func(tx *store.Txn) error { return w.b.Crash(tx, w.now, a, "") },
		"remove":  func(tx *store.Txn) error { return w.b.Remove(tx, w.now, a) },
		"unclaim": func(tx *store.Txn) error { return w.b.Unclaim(tx, w.now, a) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, seen := range []store.Revision{seen, 0} {
				a.Seen = seen
				w.refused(fault.Conflict, fn)
			}
		})
	}
	a.Seen = w.b.ActualRevision(w.s.View(), key, false)
	w.must(func(tx *store.Txn) error { return w.b.Start(tx, w.now, a, work.NetInfo{}) })
}

func TestRecordsOfAnotherAreRefused(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.cell("c1")
	w.desire(1)
	w.claim(0, "c0")
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.Claim(tx, w.now, w.ask(0, "c1")) })
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.Remove(tx, w.now, w.ask(0, "c1")) })
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.Crash(tx, w.now, w.ask(0, "c1"), "") })
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.Unclaim(tx, w.now, w.ask(0, "c1")) })
	w.start(0, "c1") // a container that runs wins over one that starts
	w.want("0 RUNNING i0@c1")
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.Start(tx, w.now, w.ask(0, "c0"), work.NetInfo{}) })
}

// Rule: D-097 D-098 D-105 D-044 D-045
func TestCrashDance(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.desire(1)
	for n := 1; n <= 4; n++ {
		w.claim(0, "c0")
		w.start(0, "c0")
		w.now = w.now.Add(time.Second)
		w.crash(0, "c0")
		state := "UNCLAIMED"
		if n == 4 {
			state = "CRASHED"
		}
		w.want(fmt.Sprintf("0 %s crashes=%d", state, n))
		if w.actual(0).Since != w.now {
			t.Error("Since is not the crash's")
		}
	}
	w.now = w.now.Add(time.Minute - 1)
	w.converge()
	w.want("0 CRASHED crashes=4")
	w.now = w.now.Add(1)
	w.converge() // Rule: D-056 D-122
	w.want("0 UNCLAIMED crashes=4")
}

// Rule: D-LRP-22
func TestACrashOnABlankBoardIsRecorded(t *testing.T) {
	w := newWorld(t)
	w.crash(0, "c0")
	w.want("0 UNCLAIMED crashes=1")
}

// Rule: D-LRP-15
func TestAStartOnABlankBoardIsRecorded(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.start(0, "c0")
	w.want("0 RUNNING i0@c0")
	w.must(func(tx *store.Txn) error { return w.b.UpsertDomain(tx, w.now, "d", time.Minute) })
	w.converge()
	w.want("0 RUNNING i0@c0 stopping")
}
