package board

import (
	"reflect"

	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
)

// move writes an instance record in its next form if the actor may, and keeps
// what follows from the state: who holds it, since when, and its tag.
func (b *Board) move(tx *store.Txn, now when.Instant, by work.Actor, old, next work.ActualLRP) error {
	if old.State == next.State && reflect.DeepEqual(old, next) {
		return nil
	}
	if !old.State.CanMove(by, next.State) {
		return fault.New(fault.Conflict, "%s moves %s/%d from %s to %s", by, next.ProcessGUID, next.Index, old.State, next.State).
			Why("no such transition is allowed")
	}
	if next.State != old.State {
		next.Since = now
	}
	settle(&next)
	if old.State == 0 {
		next.ModTag = work.ModTag{}
	}
	b.tag(&next.ModTag)
	b.actual.Put(tx, next)
	return nil
}

// settle clears what a record in its state does not have (P5).
func settle(a *work.ActualLRP) {
	if a.State == work.Unclaimed || a.State == work.Crashed {
		a.Holder, a.Stopping = work.Holder{}, false
	}
	if a.State != work.Unclaimed {
		a.PlacementError = ""
	}
	if a.State != work.Running {
		a.Net, a.Routable = work.NetInfo{}, false
	}
}

func (b *Board) remove(tx *store.Txn, by work.Actor, row work.ActualLRP) error {
	if !row.State.CanMove(by, work.NoLRP) {
		return fault.New(fault.Conflict, "%s removes %s/%d", by, row.ProcessGUID, row.Index).
			Why("it is %s", row.State)
	}
	b.actual.Delete(tx, ActualKey(row.LRPKey, false))
	return nil
}

// tag counts a change; the first gives the record its epoch.
func (b *Board) tag(t *work.ModTag) {
	if t.Epoch == "" {
		*t = work.ModTag{Epoch: b.NewID()}
		return
	}
	t.Index++
}
