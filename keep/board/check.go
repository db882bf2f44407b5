package board

import (
	"fmt"

	"drover/keep/store"
	"drover/noun/work"
)

// Check looks for violations of the board's invariants in one state and returns
// the first: P1, P2, P5, T6, and that rows are what their keys say.
func (b *Board) Check(r store.Reader) error {
	for a := range b.actual.All(r) {
		if err := checkActual(&a); err != nil {
			return fmt.Errorf("%s: %w", ActualKey(a.LRPKey, a.Evacuating), err)
		}
	}
	for t := range b.tasks.All(r) {
		if err := checkTask(&t); err != nil {
			return fmt.Errorf("task %s: %w", t.GUID, err)
		}
	}
	for d := range b.desired.All(r) {
		if err := ValidateLRP(&d); err != nil {
			return err
		}
		if d.Incarnation == "" || d.ModTag.Epoch == "" {
			return fmt.Errorf("LRP %s: it has no incarnation or no tag", d.ProcessGUID)
		}
	}
	return nil
}

func checkActual(a *work.ActualLRP) error {
	held := a.Holder.Instance != "" && a.Holder.Cell != ""
	switch {
	case a.State == 0 || a.State.String() == "INVALID":
		return fmt.Errorf("it has no state")
	case a.Evacuating && a.State != work.Running:
		return fmt.Errorf("P2: an evacuating record is %s", a.State)
	case a.Evacuating && a.Expires.IsZero():
		return fmt.Errorf("P2: an evacuating record never expires")
	case held != (a.State == work.Claimed || a.State == work.Running):
		return fmt.Errorf("P5: %s, and held by %q on %q", a.State, a.Holder.Instance, a.Holder.Cell)
	case !held && a.Holder != (work.Holder{}):
		return fmt.Errorf("P5: half a holder")
	case a.PlacementError != "" && a.State != work.Unclaimed:
		return fmt.Errorf("P5: %s with a placement error", a.State)
	case a.Routable && a.State != work.Running:
		return fmt.Errorf("%s and routable", a.State)
	case a.Stopping && !held:
		return fmt.Errorf("%s and told to stop", a.State)
	case a.Since.IsZero() || a.ModTag.Epoch == "":
		return fmt.Errorf("it has no time or no tag")
	}
	return nil
}

func checkTask(t *work.Task) error {
	switch {
	case t.State == 0 || t.State.String() == "INVALID":
		return fmt.Errorf("it has no state")
	case t.Failed != (t.FailureReason != ""):
		return fmt.Errorf("T6: failed is %v, and the reason %q", t.Failed, t.FailureReason)
	case t.Failed && t.State != work.TaskCompleted && t.State != work.TaskResolving:
		return fmt.Errorf("%s and failed", t.State)
	case t.State == work.TaskPending && t.Cell != "":
		return fmt.Errorf("PENDING on cell %s", t.Cell)
	case t.State == work.TaskRunning && t.Cell == "":
		return fmt.Errorf("RUNNING on no cell")
	case (t.State == work.TaskCompleted || t.State == work.TaskResolving) == t.FirstCompleted.IsZero():
		return fmt.Errorf("%s, and first completed %s", t.State, t.FirstCompleted)
	case t.Incarnation == "":
		return fmt.Errorf("it has no incarnation")
	}
	return nil
}

// CheckChange looks for changes between two states, one transaction apart, that
// no actor may make (P4, T2), and for tasks that changed cells (T4).
func (b *Board) CheckChange(before, after store.Reader) error {
	for a := range b.actual.All(after) {
		old, _ := b.Actual(before, a.LRPKey, a.Evacuating)
		if !a.Evacuating && !anyone(func(by work.Actor) bool { return old.State == a.State || old.State.CanMove(by, a.State) }) {
			return fmt.Errorf("P4: %s from %s to %s", ActualKey(a.LRPKey, false), old.State, a.State)
		}
	}
	for a := range b.actual.All(before) {
		if a.Evacuating || b.actual.Has(after, ActualKey(a.LRPKey, false)) {
			continue
		}
		if !anyone(func(by work.Actor) bool { return a.State.CanMove(by, work.NoLRP) }) {
			return fmt.Errorf("P4: %s removed while %s", ActualKey(a.LRPKey, false), a.State)
		}
	}
	for t := range b.tasks.All(before) {
		now, ok := b.Task(after, t.GUID)
		if !ok || now.Incarnation != t.Incarnation {
			continue
		}
		if t.State != now.State && !anyone(func(by work.Actor) bool { return t.State.CanMove(by, now.State) }) {
			return fmt.Errorf("T2: task %s from %s to %s", t.GUID, t.State, now.State)
		}
		if t.Cell != "" && t.Cell != now.Cell {
			return fmt.Errorf("T4: task %s from cell %s to %s", t.GUID, t.Cell, now.Cell)
		}
	}
	return nil
}

func anyone(may func(work.Actor) bool) bool {
	for by := work.ByClient; by <= work.ByRep; by++ {
		if may(by) {
			return true
		}
	}
	return false
}
