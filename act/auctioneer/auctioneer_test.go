package auctioneer

import (
	"context"
	"errors"
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

// bench is an auctioneer before a board in memory and cells that only listen.
// It runs in a bubble of synctest, whose clock it uses.
type bench struct {
	*testing.T
	b *board.Board
	s *store.Store
	p *presence.Tracker
	a *Auctioneer

	mu   sync.Mutex // guards what follows, which Send touches
	got  []string   // "c0: web/0 web/1"
	sent map[work.CellID]Batch
	down map[work.CellID]bool
}

func (w *bench) Send(_ context.Context, cell work.CellID, b Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down[cell] {
		return errors.New("not connected")
	}
	var items []string
	for _, i := range b.Items {
		if i.Task != "" {
			items = append(items, string(i.Task))
			continue
		}
		items = append(items, fmt.Sprintf("%s/%d", i.LRP.ProcessGUID, i.LRP.Index))
	}
	w.got = append(w.got, string(cell)+": "+strings.Join(items, " "))
	w.sent[cell] = b
	return nil
}

func setUp(t *testing.T) *bench {
	schema := store.NewSchema()
	w := &bench{T: t, b: board.New(schema), sent: map[work.CellID]Batch{}, down: map[work.CellID]bool{}}
	w.s = store.OpenMemory(schema)
	w.p = presence.New(presence.Config{Now: time.Now})
	n := 0
	w.a = New(Config{
		Store: w.s, Board: w.b, Presence: w.p, Cells: w, Epoch: 3, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		NewID: func() string { n++; return fmt.Sprint("i", n) },
	})
	return w
}

// run starts the auctioneer for the rest of the test.
func (w *bench) run() {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() { _ = w.a.Run(ctx); close(done) }()
	w.Cleanup(func() { cancel(); <-done; _ = w.s.Close() })
	synctest.Wait()
}

func (w *bench) update(fn func(tx *store.Txn, now when.Instant) error) {
	w.Helper()
	if _, err := w.s.Update(w.Context(), func(tx *store.Txn) error { return fn(tx, when.Of(time.Now())) }); err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
}

func (w *bench) cell(id work.CellID, memory int64) {
	w.Helper()
	capacity := work.Resources{MemoryMB: memory, DiskMB: 1000, Containers: 10}
	w.update(func(tx *store.Txn, now when.Instant) error {
		return w.b.UpsertCell(tx, now, work.Cell{ID: id, Machine: string(id), MachineUID: string(id), Stack: "linux", Runtimes: []string{"process"}, Capacity: capacity})
	})
	w.p.Report(id, presence.Report{Capacity: capacity})
	synctest.Wait()
}

func (w *bench) desire(guid work.ProcessGUID, instances int, memory int64) {
	w.Helper()
	w.update(func(tx *store.Txn, now when.Instant) error {
		_, err := w.b.DesireLRP(tx, now, work.DesiredLRP{ProcessGUID: guid, Domain: "d", Instances: instances, Spec: spec(memory)})
		return err
	})
}

func (w *bench) desireTask(guid work.TaskGUID, memory int64) {
	w.Helper()
	w.update(func(tx *store.Txn, now when.Instant) error {
		_, err := w.b.DesireTask(tx, now, work.Task{GUID: guid, Domain: "d", Spec: spec(memory)})
		return err
	})
}

func spec(memory int64) work.Spec {
	return work.Spec{MemoryMB: memory, Action: work.Action{Run: &work.RunAction{Path: "true"}}}
}

// want compares what cells were sent since the last call, and forgets it.
func (w *bench) want(sends ...string) {
	w.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.got, sends) {
		w.Errorf("sent %q, want %q", w.got, sends)
	}
	w.got = nil
}

func (w *bench) pass(d time.Duration) {
	<-time.After(d) // the bubble's clock
	synctest.Wait()
}

// batch is what the cell was sent last.
func (w *bench) batch(cell work.CellID) Batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[cell]
}

// unplug says whether the cell can be reached.
func (w *bench) unplug(cell work.CellID, down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[cell] = down
}

// ack answers the cell's last batch, refusing the indexes of web.
func (w *bench) ack(cell work.CellID, refused ...int) {
	var rs []Refusal
	for _, i := range refused {
		rs = append(rs, Refusal{LRP: work.LRPKey{ProcessGUID: "web", Index: i}, Reason: "full"})
	}
	w.a.Ack(cell, w.batch(cell).ID, rs)
	synctest.Wait()
}

func (w *bench) placementError(index int) string {
	a, _ := w.b.Actual(w.s.View(), work.LRPKey{ProcessGUID: "web", Index: index}, false)
	return a.PlacementError
}

// Rule: D-048 D-058 D-072 D-074 D-076
func TestWorkIsSentAtOnceInABatchForEachCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		w.cell("c0", 1000)
		w.cell("c1", 1000)
		w.run()
		w.want()
		w.desire("web", 4, 10)
		w.want("c0: web/0 web/2", "c1: web/1 web/3")
		b := w.batch("c0")
		if b.Epoch != 3 || b.ID == w.batch("c1").ID || b.Items[0].Instance == b.Items[1].Instance || b.Items[0].Incarnation == "" {
			t.Errorf("%+v", b)
		}
		w.desireTask("job", 10)
		w.want("c0: job")
		w.pass(time.Second)
		w.want()
	})
}

func TestANewLeaderWaitsForEveryPresentCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		w.cell("c0", 1000)
		w.update(func(tx *store.Txn, now when.Instant) error {
			return w.b.UpsertCell(tx, now, work.Cell{ID: "c1", Machine: "c1", MachineUID: "c1", Stack: "linux"})
		})
		w.desire("web", 1, 10)
		w.run()
		w.want()
		w.pass(14 * time.Second)
		w.want()
		w.pass(time.Second)
		w.want("c0: web/0")
	})
}

// Rule: D-163 D-174
func TestATaskFailsForLackOfRoomOnlyOnACompleteView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		w.run()
		w.desireTask("job", 10)
		state := func() work.Task { j, _ := w.b.Task(w.s.View(), "job"); return j }
		if state().State != work.TaskPending {
			t.Errorf("%+v", state())
		}
		w.pass(15 * time.Second)
		if j := state(); !j.Failed || j.FailureReason != "found no compatible cells: there are no cells" {
			t.Errorf("%+v", j)
		}
	})
}

// Rule: D-090 D-092 D-094 D-095 D-083
func TestWhatFitsNowhereWaitsForRoomWithItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		w.cell("c0", 100)
		w.run()
		w.desire("web", 2, 60)
		w.want("c0: web/0")
		if got := w.placementError(1); got != "insufficient resources: of 1 cells 1 lack memory" {
			t.Errorf("%q", got)
		}
		w.cell("c1", 100)
		w.want("c1: web/1")
	})
}

// Rule: D-084 D-086 D-165
func TestRefusedWorkIsCarriedOverWithBackOffOnlyOnRepetition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		w.cell("c0", 1000)
		w.run()
		w.desire("web", 2, 10)
		w.want("c0: web/0 web/1")
		w.ack("c0", 1)
		w.want("c0: web/1")
		w.ack("c0", 1)
		w.want()
		w.pass(100 * time.Millisecond)
		w.want("c0: web/1")
		w.ack("c0", 1)
		w.pass(199 * time.Millisecond)
		w.want()
		w.pass(time.Millisecond)
		w.want("c0: web/1")
		w.ack("c0")
		w.pass(time.Hour)
		w.want()
	})
}

// Rule: D-085
func TestWorkWithoutAnAnswerIsLeftToConvergence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		w.cell("c0", 1000)
		w.run()
		w.desire("web", 1, 10)
		w.want("c0: web/0")
		w.a.EmitLRP(work.LRPKey{ProcessGUID: "web"})
		w.want()
		w.pass(time.Hour)
		w.want()
		w.a.EmitLRP(work.LRPKey{ProcessGUID: "web"})
		w.want("c0: web/0")
	})
}

func TestUnansweredWorkCountsAgainstItsCellUntilItIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		w.cell("c0", 100)
		w.run()
		w.desire("web", 1, 60)
		w.want("c0: web/0")
		w.desire("api", 1, 60)
		w.want()
		w.pass(AnswerWithin)
		w.want("c0: api/0")
	})
}

func TestACellThatCannotBeReachedRefusesItAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		w.cell("c0", 100)
		w.unplug("c0", true)
		w.run()
		w.desire("web", 1, 60)
		w.pass(5 * time.Second)
		w.unplug("c0", false)
		w.pass(10 * time.Second)
		w.want("c0: web/0")
	})
}

// Rule: D-077
func TestWorkIsSentOnceWhateverWakesTheAuctioneer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		w.cell("c0", 1000)
		w.run()
		w.desire("web", 1, 10)
		for range 3 {
			w.a.Notice(board.LRPTopic("web"))
			w.a.EmitLRP(work.LRPKey{ProcessGUID: "web"})
			w.a.CapacityChanged()
			synctest.Wait()
		}
		w.want("c0: web/0")
		ask := board.Ask{Key: work.LRPKey{ProcessGUID: "web"}, Seen: board.AnyRevision, Incarnation: w.batch("c0").Items[0].Incarnation, Holder: work.Holder{Instance: "i1", Cell: "c0"}}
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.Claim(tx, now, ask) })
		w.ack("c0")
		w.want()
		w.pass(time.Second)
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.Crash(tx, now, ask, "exit 1") })
		w.want("c0: web/0") // Rule: D-097
	})
}

// Rule: D-134 D-147 D-149
func TestClosedCellsGetNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := setUp(t)
		for _, id := range []work.CellID{"c0", "c1", "c2", "c3"} {
			w.cell(id, 100)
		}
		w.update(func(tx *store.Txn, now when.Instant) error { w.b.EvacuateCell(tx, now, "c0"); return nil })
		w.update(func(tx *store.Txn, now when.Instant) error { w.b.LoseCell(tx, now, "c1"); return nil })
		w.p.Report("c2", presence.Report{Unfit: "cannot start processes"})
		w.run()
		w.desire("web", 3, 10)
		w.want("c3: web/0 web/1 web/2")
	})
}
