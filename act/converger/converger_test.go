package converger

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"drover/act/presence"
	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// bench is a converger before a board in memory; it notes what the auctioneer
// and the cells are told. It runs in a bubble of synctest.
type bench struct {
	*testing.T
	b     *board.Board
	s     *store.Store
	p     *presence.Tracker
	c     *Converger
	alive map[string]bool // machines that send heartbeats

	mu    sync.Mutex // guards heard
	heard []string
}

func (w *bench) hear(words string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, words)
}

func (w *bench) EmitLRP(k work.LRPKey) {
	w.hear(fmt.Sprintf("start %s/%d", k.ProcessGUID, k.Index))
}
func (w *bench) EmitTask(g work.TaskGUID) { w.hear("start " + string(g)) }
func (w *bench) Stop(_ context.Context, cell work.CellID, s Stop) error {
	if s.TaskIncarnation != "" {
		w.hear("cancel on " + string(cell))
		return nil
	}
	w.hear(fmt.Sprintf("stop %s/%d %s on %s", s.LRP.ProcessGUID, s.LRP.Index, s.Instance, cell))
	return nil
}

func setUp(t *testing.T) *bench {
	schema := store.NewSchema()
	w := &bench{T: t, b: board.New(schema), alive: map[string]bool{}}
	w.s = store.OpenMemory(schema)
	w.p = presence.New(presence.Config{Now: time.Now})
	w.c = New(Config{
		Store: w.s, Board: w.b, Presence: w.p, Starts: w, Cells: w, Epoch: 3, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = w.c.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done; _ = w.s.Close() })
	synctest.Wait()
	return w
}

func (w *bench) update(fn func(tx *store.Txn, now when.Instant) error) {
	w.Helper()
	if _, err := w.s.Update(w.Context(), func(tx *store.Txn) error { return fn(tx, when.Of(time.Now())) }); err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
	if err := w.b.Check(w.s.View()); err != nil {
		w.Fatal(err)
	}
}

func (w *bench) cell(id work.CellID) {
	w.Helper()
	w.alive[string(id)] = true
	w.p.Heard(string(id))
	w.update(func(tx *store.Txn, now when.Instant) error {
		return w.b.UpsertCell(tx, now, work.Cell{ID: id, Machine: string(id), MachineUID: string(id), Stack: "linux"})
	})
}

// pass lets time pass second by second, with the heartbeats of who is alive.
func (w *bench) pass(d time.Duration) {
	for range int(d / time.Second) {
		<-time.After(time.Second)
		for m, alive := range w.alive { // order-free: each on its own
			if alive {
				w.p.Heard(m)
			}
		}
		synctest.Wait()
	}
}

func (w *bench) desire(n int) {
	w.Helper()
	w.update(func(tx *store.Txn, now when.Instant) error {
		_, err := w.b.DesireLRP(tx, now, work.DesiredLRP{ProcessGUID: "web", Domain: "d", Instances: n, Spec: spec()})
		return err
	})
}

func spec() work.Spec { return work.Spec{Action: work.Action{Run: &work.RunAction{Path: "true"}}} }

func (w *bench) ask(i int, cell work.CellID) board.Ask {
	d, _ := w.b.Desired(w.s.View(), "web")
	return board.Ask{
		Key: work.LRPKey{ProcessGUID: "web", Index: i}, Seen: board.AnyRevision, Domain: "d", Incarnation: d.Incarnation,
		Holder: work.Holder{Instance: work.InstanceGUID(fmt.Sprint("i", i)), Cell: cell},
	}
}

func (w *bench) start(i int, cell work.CellID) {
	w.Helper()
	w.update(func(tx *store.Txn, now when.Instant) error { return w.b.Start(tx, now, w.ask(i, cell), work.NetInfo{}) })
}

func (w *bench) records() string {
	var out []string
	for a := range w.b.AllActual(w.s.View()) {
		s := fmt.Sprintf("%d %s", a.Index, a.State)
		if a.Evacuating {
			s = fmt.Sprintf("%d/e %s", a.Index, a.State)
		}
		if a.Stopping {
			s += " stopping"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func (w *bench) want(records string, heard ...string) {
	w.Helper()
	synctest.Wait()
	if got := w.records(); got != records {
		w.Errorf("records %q, want %q", got, records)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.heard, heard) {
		w.Errorf("heard %q, want %q", w.heard, heard)
	}
	w.heard = nil
}

func test(t *testing.T, name string, fn func(w *bench)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { fn(setUp(t)) })
	})
}

func TestConverger(t *testing.T) {
	test(t, "D-119 a removed record is created again", func(w *bench) {
		w.cell("c0")
		w.desire(1)
		w.start(0, "c0")
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.Remove(tx, now, w.ask(0, "c0")) })
		w.want("0 UNCLAIMED")
	})
	test(t, "D-123 an UNCLAIMED record's start is emitted every 30 s", func(w *bench) {
		w.desire(1)
		w.pass(29 * time.Second)
		w.want("0 UNCLAIMED")
		w.pass(time.Second)
		w.want("0 UNCLAIMED", "start web/0")
		w.pass(30 * time.Second)
		w.want("0 UNCLAIMED", "start web/0")
	})
	test(t, "D-122 a CRASHED record is restarted at its second", func(w *bench) {
		w.cell("c0")
		w.desire(1)
		for range 4 {
			w.start(0, "c0")
			w.update(func(tx *store.Txn, now when.Instant) error { return w.b.Crash(tx, now, w.ask(0, "c0"), "exit 1") })
		}
		w.pass(59 * time.Second)
		w.want("0 CRASHED")
		w.pass(time.Second)
		w.want("0 UNCLAIMED")
	})
	test(t, "D-067 D-049 an extra is stopped by its cell, told again while it is there", func(w *bench) {
		w.cell("c0")
		w.desire(1)
		w.start(0, "c0")
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.RemoveLRP(tx, now, "web") })
		w.want("0 RUNNING stopping", "stop web/0 i0 on c0")
		w.pass(9 * time.Second)
		w.want("0 RUNNING stopping")
		w.pass(time.Second)
		w.want("0 RUNNING stopping", "stop web/0 i0 on c0")
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.Remove(tx, now, w.ask(0, "c0")) })
		w.pass(time.Minute)
		w.want("")
	})
	test(t, "D-121 a record that nobody desires is stopped once its domain is fresh", func(w *bench) {
		w.cell("c0")
		w.start(0, "c0")
		w.pass(time.Minute)
		w.want("0 RUNNING")
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.UpsertDomain(tx, now, "d", time.Minute) })
		w.want("0 RUNNING stopping", "stop web/0 i0 on c0")
		w.pass(time.Minute + time.Second)
		if n := len(w.b.AllDomains(w.s.View())); n != 0 {
			w.Errorf("%d domains after their time", n)
		}
	})
	test(t, "D-116 D-117 D-118 D-146 D-148 a silent cell is lost after the TTL and its work freed at once", func(w *bench) {
		w.cell("c0")
		w.pass(20 * time.Second)
		w.desire(2)
		w.start(0, "c0")
		w.alive["c0"] = false
		w.pass(14 * time.Second)
		w.want("0 RUNNING, 1 UNCLAIMED")
		w.pass(time.Second)
		w.want("0 UNCLAIMED, 1 UNCLAIMED")
		if c, _ := w.b.Cell(w.s.View(), "c0"); c.Presence != work.Lost {
			w.Errorf("the cell is %s", c.Presence)
		}
	})
	test(t, "a reset connection loses LRPs after its grace, tasks after the TTL", func(w *bench) {
		w.cell("c0")
		w.pass(20 * time.Second)
		w.desire(1)
		w.start(0, "c0")
		w.runTask("c0")
		w.alive["c0"] = false
		w.p.Disconnected("c0")
		w.pass(4 * time.Second)
		w.want("0 RUNNING")
		w.pass(time.Second)
		w.want("0 UNCLAIMED")
		if w.task().State != work.TaskRunning {
			w.Error("the task failed too early")
		}
		w.pass(10 * time.Second) // Rule: D-191
		if j := w.task(); !j.Failed || j.FailureReason != "cell disappeared before completion" {
			w.Errorf("%+v", j)
		}
	})
	test(t, "a cell that said goodbye keeps its work until its time", func(w *bench) {
		w.cell("c0")
		w.desire(1)
		w.start(0, "c0")
		w.runTask("c0")
		w.alive["c0"] = false
		w.p.Goodbye("c0", time.Now().Add(time.Minute))
		synctest.Wait()
		if c, _ := w.b.Cell(w.s.View(), "c0"); c.Presence != work.Away {
			w.Errorf("the cell is %s", c.Presence)
		}
		w.pass(59 * time.Second)
		w.want("0 RUNNING")
		if w.task().State != work.TaskRunning {
			w.Error("the task failed")
		}
		w.pass(time.Second)
		w.want("0 UNCLAIMED")
	})
	test(t, "an evacuating record goes with its time, or its cell", func(w *bench) {
		w.cell("c0")
		w.cell("c1")
		w.desire(2)
		w.start(0, "c1")
		w.start(1, "c1")
		w.update(func(tx *store.Txn, now when.Instant) error {
			return w.b.CreateEvacuating(tx, now, w.ask(0, "c0"), work.NetInfo{}, time.Minute)
		})
		w.update(func(tx *store.Txn, now when.Instant) error {
			return w.b.CreateEvacuating(tx, now, w.ask(1, "c0"), work.NetInfo{}, time.Hour)
		})
		w.pass(time.Minute)
		w.want("0 RUNNING, 1/e RUNNING, 1 RUNNING")
		w.alive["c0"] = false
		w.pass(15 * time.Second)
		w.want("0 RUNNING, 1 RUNNING")
	})
}

func (w *bench) runTask(cell work.CellID) {
	w.Helper()
	w.update(func(tx *store.Txn, now when.Instant) error {
		_, err := w.b.DesireTask(tx, now, work.Task{GUID: "job", Domain: "d", Spec: spec()})
		return err
	})
	if cell != "" {
		w.update(func(tx *store.Txn, now when.Instant) error {
			return w.b.StartTask(tx, now, board.TaskAsk{GUID: "job", Incarnation: w.task().Incarnation, Cell: cell, Seen: board.AnyRevision})
		})
	}
}

func (w *bench) task() work.Task {
	t, _ := w.b.Task(w.s.View(), "job")
	return t
}

func TestTasks(t *testing.T) {
	test(t, "D-162 D-192 a PENDING task's start is emitted every 30 s", func(w *bench) {
		w.runTask("")
		w.pass(30 * time.Second)
		w.want("", "start job")
		w.pass(30 * time.Second)
		w.want("", "start job")
	})
	test(t, "D-184 a cancelled task's cell is told once", func(w *bench) {
		w.cell("c0")
		w.runTask("c0")
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.CancelTask(tx, now, "job") })
		w.want("", "cancel on c0")
		w.pass(time.Minute)
		w.want("")
	})
	test(t, "D-193 a COMPLETED task goes after 2 minutes", func(w *bench) {
		w.runTask("")
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.CancelTask(tx, now, "job") })
		w.pass(2*time.Minute - time.Second)
		if w.task().GUID == "" {
			w.Error("it went too early")
		}
		w.pass(time.Second)
		if w.task().GUID != "" {
			w.Error("it is still there")
		}
	})
	test(t, "D-171 D-195 a RESOLVING task goes back after 30 s", func(w *bench) {
		w.runTask("")
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.CancelTask(tx, now, "job") })
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.ResolveTask(tx, now, "job") })
		w.pass(30 * time.Second)
		if w.task().State != work.TaskCompleted {
			w.Errorf("it is %s", w.task().State)
		}
	})
}

// With every wake-up lost, the sweep alone finds what is to be done.
// Rule: D-115
func TestTheSweepFindsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		schema := store.NewSchema()
		w := &bench{T: t, b: board.New(schema)}
		w.s = store.OpenMemory(schema)
		defer func() { _ = w.s.Close() }()
		w.p = presence.New(presence.Config{Now: time.Now})
		w.c = New(Config{Store: w.s, Board: w.b, Presence: w.p, Starts: w, Cells: w, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		step := func() {
			for due := w.c.Loop().Due(time.Now()); len(due) > 0; due = w.c.Loop().Due(time.Now()) {
				if err := w.c.Loop().StepKey(t.Context(), due[0]); err != nil {
					t.Fatal(err)
				}
			}
		}
		step()
		w.p.Heard("c0")
		w.update(func(tx *store.Txn, now when.Instant) error {
			return w.b.UpsertCell(tx, now, work.Cell{ID: "c0", Machine: "c0", MachineUID: "c0", Stack: "linux"})
		})
		w.desire(2)
		w.start(0, "c0")
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.Remove(tx, now, w.ask(0, "c0")) })
		step()
		if w.records() != "1 UNCLAIMED" {
			t.Errorf("it heard of it: %s", w.records())
		}
		<-time.After(SweepEvery)
		step()
		if w.records() != "0 UNCLAIMED, 1 UNCLAIMED" {
			t.Errorf("after the sweep: %s", w.records())
		}
	})
}
