package converger

import (
	"fmt"
	"testing"
	"time"

	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

const many = 250

// fill has the cell run many LRPs of one instance, and as many tasks.
func (w *bench) fill(cell work.CellID) {
	w.Helper()
	w.update(func(tx *store.Txn, now when.Instant) error {
		for i := range many {
			g := work.ProcessGUID(fmt.Sprintf("web-%03d", i))
			d, err := w.b.DesireLRP(tx, now, work.DesiredLRP{ProcessGUID: g, Domain: "d", Instances: 1, Spec: spec()})
			if err != nil {
				return err
			}
			ask := board.Ask{
				Key: work.LRPKey{ProcessGUID: g}, Seen: board.AnyRevision, Domain: "d", Incarnation: d.Incarnation,
				Holder: work.Holder{Instance: work.InstanceGUID("i-" + g), Cell: cell},
			}
			if err := w.b.Start(tx, now, ask, work.NetInfo{}); err != nil {
				return err
			}
			t, err := w.b.DesireTask(tx, now, work.Task{GUID: work.TaskGUID(fmt.Sprintf("job-%03d", i)), Domain: "d", Spec: spec()})
			if err != nil {
				return err
			}
			if err := w.b.StartTask(tx, now, board.TaskAsk{GUID: t.GUID, Incarnation: t.Incarnation, Cell: cell, Seen: board.AnyRevision}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *bench) count() (unclaimed, failed int) {
	for a := range w.b.AllActual(w.s.View()) {
		if a.State == work.Unclaimed {
			unclaimed++
		}
	}
	for t := range w.b.AllTasks(w.s.View()) {
		if t.Failed {
			failed++
		}
	}
	return unclaimed, failed
}

func TestManyRowsTakeFewTransactions(t *testing.T) {
	test(t, "D-148 D-191 what a lost cell held", func(w *bench) {
		w.cell("c0")
		w.pass(20 * time.Second)
		w.fill("c0")
		before := w.s.View().Revision()
		w.alive["c0"] = false
		w.pass(15 * time.Second)
		if unclaimed, failed := w.count(); unclaimed != many || failed != many {
			w.Errorf("%d UNCLAIMED and %d failed, want %d each", unclaimed, failed, many)
		}
		if n := w.s.View().Revision() - before; n != 3 {
			w.Errorf("%d transactions, want 3: the loss, its LRPs, its tasks", n)
		}
	})
	test(t, "D-121 what nobody desires in a domain that becomes fresh", func(w *bench) {
		w.cell("c0")
		w.update(func(tx *store.Txn, now when.Instant) error {
			for i := range many {
				g := work.ProcessGUID(fmt.Sprintf("web-%03d", i))
				ask := board.Ask{
					Key: work.LRPKey{ProcessGUID: g}, Seen: board.AnyRevision, Domain: "d",
					Holder: work.Holder{Instance: work.InstanceGUID("i-" + g), Cell: "c0"},
				}
				if err := w.b.Start(tx, now, ask, work.NetInfo{}); err != nil {
					return err
				}
			}
			return nil
		})
		before := w.s.View().Revision()
		w.update(func(tx *store.Txn, now when.Instant) error { return w.b.UpsertDomain(tx, now, "d", 0) })
		w.mu.Lock()
		told := len(w.heard)
		w.mu.Unlock()
		if told != many {
			w.Errorf("%d stops, want %d", told, many)
		}
		if n := w.s.View().Revision() - before; n != 2 {
			w.Errorf("%d transactions, want 2: the domain, its extras", n)
		}
	})
}
