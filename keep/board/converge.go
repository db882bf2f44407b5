package board

import (
	"reflect"

	"drover/decide/convergence"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// LRPView is the guid as convergence decides about it; gone adds to the cells
// that the board itself holds for lost.
func (b *Board) LRPView(r store.Reader, now when.Instant, g work.ProcessGUID) convergence.LRPs {
	v := convergence.LRPs{
		GUID: g, Crashes: b.Crashes,
		Fresh: func(d work.Domain) bool { return b.Fresh(r, now, d) },
		Gone:  func(c work.CellID) bool { return b.cellGone(r, c) },
	}
	if d, ok := b.Desired(r, g); ok {
		v.Desired = &d
	}
	for a := range b.ActualsOf(r, g) {
		v.Records = append(v.Records, a)
	}
	return v
}

// Converge does one action that convergence decided on. It reports whether it
// changed anything: not if the record is no more as the decision saw it. TellStop
// and Emit change nothing.
func (b *Board) Converge(tx *store.Txn, now when.Instant, a convergence.LRPAction) (bool, error) {
	row, ok := b.Actual(tx, a.Key, a.Record.Evacuating)
	if a.Kind == convergence.Create {
		d, desired := b.Desired(tx, a.Key.ProcessGUID)
		if ok || !desired || a.Key.Index >= d.Instances {
			return false, nil
		}
		return true, b.create(tx, now, work.ByConverger, &d, a.Key.Index)
	}
	if !ok || !reflect.DeepEqual(row, a.Record) {
		return false, nil
	}
	next := row
	switch a.Kind {
	case convergence.Delete:
		return true, b.remove(tx, work.ByConverger, row)
	case convergence.DropEvacuating:
		b.actual.Delete(tx, ActualKey(row.LRPKey, true))
		return true, nil
	case convergence.Stop:
		return true, b.stop(tx, now, work.ByConverger, row)
	case convergence.Restart, convergence.Unplace:
		next.State = work.Unclaimed
		return true, b.move(tx, now, work.ByConverger, row, next)
	}
	return false, nil
}

// ConvergeTask does what convergence decided about the task of the incarnation.
// It reports whether it changed anything: not if the state is another meanwhile.
func (b *Board) ConvergeTask(tx *store.Txn, now when.Instant, seen work.Task, k convergence.TaskKind) (bool, error) {
	t, ok := b.Task(tx, seen.GUID)
	if !ok || !reflect.DeepEqual(t, seen) {
		return false, nil
	}
	switch k {
	case convergence.FailTask:
		return true, b.complete(tx, now, work.ByConverger, t, Outcome{Failed: true, Reason: convergence.CellGone})
	case convergence.Unresolve:
		return true, b.moveTask(tx, now, work.ByConverger, &t, work.TaskCompleted)
	case convergence.DeleteTask:
		b.tasks.Delete(tx, string(t.GUID))
		return true, nil
	}
	return false, nil
}

// SetPlacementError tells why the UNCLAIMED record of the index has no cell yet;
// any other record is left alone.
func (b *Board) SetPlacementError(tx *store.Txn, now when.Instant, k work.LRPKey, text string) error {
	row, ok := b.Actual(tx, k, false)
	text = truncate(text, MaxReason)
	if !ok || row.State != work.Unclaimed || row.PlacementError == text {
		return nil
	}
	next := row
	next.PlacementError = text
	return b.move(tx, now, work.ByAuctioneer, row, next)
}
