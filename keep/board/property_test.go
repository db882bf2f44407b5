package board

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"drover/decide/convergence"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/work"
)

// Whatever clients, cells and convergence ask for in whatever order, the board's
// invariants hold after every transaction, and a refusal changes nothing.
func TestInvariantsHoldWhateverIsAsked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 400).Draw(rt, "seconds")) * time.Second)
			rev := w.s.View().Revision()
			name, fn := w.anyRequest(rt)
			if err := w.do(fn); err != nil {
				if k := fault.KindOf(err); k != fault.Conflict && k != fault.NotFound && k != fault.Invalid {
					rt.Fatalf("%s: %v", name, err)
				}
				if w.s.View().Revision() != rev {
					rt.Fatalf("%s was refused, and changed something: %v", name, err)
				}
			}
		}
		for range 3 { // cells answer, and convergence comes to rest
			w.converge()
			w.now = w.now.Add(time.Hour)
		}
		d, desired := w.b.Desired(w.s.View(), "web")
		for i := range d.Instances {
			if desired && w.actual(i).State == 0 {
				rt.Fatalf("no record for index %d: %s", i, w.records())
			}
		}
	})
}

func (w *world) anyRequest(t *rapid.T) (string, func(*store.Txn) error) {
	b, now := w.b, w.now
	cell := rapid.SampledFrom([]work.CellID{"c0", "c1"}).Draw(t, "cell")
	a := w.ask(rapid.IntRange(0, 2).Draw(t, "index"), cell)
	a.Holder.Instance = rapid.SampledFrom([]work.InstanceGUID{"i0", "i1"}).Draw(t, "instance")
	n := rapid.IntRange(0, 3).Draw(t, "instances")
	ta := w.taskAsk(cell)
	kind := convergence.TaskKind(rapid.IntRange(1, 5).Draw(t, "task kind"))
	seenTask := w.task()
	requests := []struct {
		name string
		fn   func(*store.Txn) error
	}{
		{"desire", func(tx *store.Txn) error { _, err := b.DesireLRP(tx, now, lrp(n)); return err }},
		{"scale", func(tx *store.Txn) error { _, err := b.UpdateLRP(tx, now, "web", LRPUpdate{Instances: &n}); return err }},
		{"remove LRP", func(tx *store.Txn) error { return b.RemoveLRP(tx, now, "web") }},
		{"restart", func(tx *store.Txn) error { return b.RestartLRP(tx, now, "web", nil) }},
		{"claim", func(tx *store.Txn) error { return b.Claim(tx, now, a) }},
		{"start", func(tx *store.Txn) error { return b.Start(tx, now, a, work.NetInfo{}) }},
		{"crash", func(tx *store.Txn) error { return b.Crash(tx, now, a, "exit 1") }},
		{"remove", func(tx *store.Txn) error { return b.Remove(tx, now, a) }},
		{"unclaim", func(tx *store.Txn) error { return b.Unclaim(tx, now, a) }},
		{"unroutable", func(tx *store.Txn) error { return b.Unroutable(tx, now, a) }},
		{"create evacuating", func(tx *store.Txn) error { return b.CreateEvacuating(tx, now, a, work.NetInfo{}, 0) }},
		{"remove evacuating", func(tx *store.Txn) error { return b.RemoveEvacuating(tx, now, a) }},
		{"placement error", func(tx *store.Txn) error { return b.SetPlacementError(tx, now, a.Key, fmt.Sprint(n)) }},
		{"domain", func(tx *store.Txn) error { return b.UpsertDomain(tx, now, "d", time.Duration(n)*time.Minute) }},
		{"cell", func(tx *store.Txn) error {
			return b.UpsertCell(tx, now, work.Cell{ID: cell, Machine: string(cell), MachineUID: "u", Stack: "linux"})
		}},
		{"lose cell", func(tx *store.Txn) error { b.LoseCell(tx, now, cell); return nil }},
		{"cell away", func(tx *store.Txn) error { b.CellAway(tx, now, now.Add(time.Minute), cell); return nil }},
		{"evacuate cell", func(tx *store.Txn) error { b.EvacuateCell(tx, now, cell); return nil }},
		{"remove cell", func(tx *store.Txn) error { b.RemoveCell(tx, now, cell); return nil }},
		{"desire task", func(tx *store.Txn) error { _, err := b.DesireTask(tx, now, task()); return err }},
		{"start task", func(tx *store.Txn) error { return b.StartTask(tx, now, ta) }},
		{"complete task", func(tx *store.Txn) error { return b.CompleteTask(tx, now, ta, Outcome{Failed: n == 0}) }},
		{"cancel task", func(tx *store.Txn) error { return b.CancelTask(tx, now, "job") }},
		{"reject task", func(tx *store.Txn) error { return b.RejectTask(tx, now, "job", ta.Incarnation, "full") }},
		{"resolve task", func(tx *store.Txn) error { return b.ResolveTask(tx, now, "job") }},
		{"delete resolving", func(tx *store.Txn) error { return b.DeleteResolving(tx, "job") }},
		{"delete task", func(tx *store.Txn) error { return b.DeleteTask(tx, now, "job") }},
		{"converge task", func(tx *store.Txn) error { _, err := b.ConvergeTask(tx, now, seenTask, kind); return err }},
		{"converge", func(tx *store.Txn) error {
			actions, _ := b.LRPView(tx, now, "web").Decide(now)
			for _, act := range actions {
				if _, err := b.Converge(tx, now, act); err != nil {
					return err
				}
			}
			return nil
		}},
	}
	evacuating := rapid.Bool().Draw(t, "evacuating")
	if rapid.Bool().Draw(t, "seen") {
		a.Seen = b.ActualRevision(w.s.View(), a.Key, evacuating)
	}
	r := rapid.SampledFrom(requests).Draw(t, "request")
	return r.name, r.fn
}
