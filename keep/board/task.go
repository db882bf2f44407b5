package board

import (
	"drover/decide/convergence"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
)

// Cancelled is the failure reason of a cancelled task.
const Cancelled = convergence.Cancelled

// MaxResult bounds a task's result, in bytes.
const MaxResult = 10 << 10

// TaskAsk is a cell's wish about a task, of the incarnation of its container.
// Seen is the revision of the task its decision saw.
type TaskAsk struct {
	GUID        work.TaskGUID
	Incarnation work.Incarnation
	Cell        work.CellID
	Seen        store.Revision
}

// Outcome is how a task ended.
type Outcome struct {
	Failed bool
	Reason string // set iff Failed
	Result string
}

// DesireTask creates a PENDING task; incarnation and times are set here.
// Conflict: the guid is taken. Invalid: see ValidateTask.
func (b *Board) DesireTask(tx *store.Txn, now when.Instant, t work.Task) (work.Task, error) {
	if err := ValidateTask(&t); err != nil {
		return t, err
	}
	if b.tasks.Has(tx, string(t.GUID)) {
		return t, fault.New(fault.Conflict, "task %q exists already", t.GUID).Coded(fault.CodeExists).
			Try("drover task list", "drover task delete "+string(t.GUID))
	}
	t = work.Task{
		GUID: t.GUID, Incarnation: work.Incarnation(b.NewID()), Domain: t.Domain, Spec: t.Spec,
		ResultFile: t.ResultFile, Callback: t.Callback, Annotation: t.Annotation, Opaque: t.Opaque, Created: now,
	}
	return t, b.moveTask(tx, now, work.ByClient, &t, work.TaskPending)
}

// StartTask makes a PENDING task RUNNING on the cell. Doing it again changes
// nothing. Conflict: not as seen, another incarnation, or it is not PENDING.
func (b *Board) StartTask(tx *store.Txn, now when.Instant, a TaskAsk) error {
	t, err := b.lookTask(tx, a)
	if err != nil {
		return err
	}
	if t.State == work.TaskRunning && t.Cell == a.Cell {
		return nil
	}
	if c, ok := b.Cell(tx, a.Cell); ok && c.Presence == work.Lost {
		return stale("start task %s on lost cell %s", a.GUID, a.Cell)
	}
	t.Cell = a.Cell
	return b.moveTask(tx, now, work.ByRep, &t, work.TaskRunning)
}

// CompleteTask makes a RUNNING task of the cell, or a PENDING one, COMPLETED.
// Conflict: not as seen, another incarnation or cell, or it ended already.
func (b *Board) CompleteTask(tx *store.Txn, now when.Instant, a TaskAsk, o Outcome) error {
	t, err := b.lookTask(tx, a)
	if err != nil {
		return err
	}
	if t.State == work.TaskRunning && t.Cell != a.Cell {
		return stale("complete task %s, which runs on %s", a.GUID, t.Cell)
	}
	if t.Cell == "" {
		t.Cell = a.Cell
	}
	return b.complete(tx, now, work.ByRep, t, o)
}

// CancelTask makes a PENDING or RUNNING task COMPLETED and failed. NotFound;
// Conflict: it is in another state.
func (b *Board) CancelTask(tx *store.Txn, now when.Instant, g work.TaskGUID) error {
	t, ok := b.Task(tx, g)
	if !ok {
		return noTask(g)
	}
	if t.State != work.TaskPending && t.State != work.TaskRunning {
		return fault.New(fault.Conflict, "cancel task %q", g).Why("it is %s", t.State).
			Try("drover task delete " + string(g))
	}
	return b.complete(tx, now, work.ByClient, t, Outcome{Failed: true, Reason: Cancelled})
}

// RejectTask makes a PENDING task COMPLETED and failed: no cell can take it.
// Nothing happens when it is not PENDING any more, or another incarnation.
func (b *Board) RejectTask(tx *store.Txn, now when.Instant, g work.TaskGUID, of work.Incarnation, reason string) error {
	t, ok := b.Task(tx, g)
	if !ok || t.State != work.TaskPending || t.Incarnation != of {
		return nil
	}
	t.PlacementError = truncate(reason, MaxReason)
	return b.complete(tx, now, work.ByAuctioneer, t, Outcome{Failed: true, Reason: reason})
}

// ResolveTask makes a COMPLETED task RESOLVING. NotFound; Conflict: it is in
// another state, so that two resolvers never both go on.
func (b *Board) ResolveTask(tx *store.Txn, now when.Instant, g work.TaskGUID) error {
	t, ok := b.Task(tx, g)
	if !ok {
		return noTask(g)
	}
	if t.State != work.TaskCompleted {
		return notCompleted(&t)
	}
	return b.moveTask(tx, now, work.ByClient, &t, work.TaskResolving)
}

// DeleteResolving deletes a RESOLVING task: the second half of Diego's deletion.
func (b *Board) DeleteResolving(tx *store.Txn, g work.TaskGUID) error {
	t, ok := b.Task(tx, g)
	if !ok {
		return noTask(g)
	}
	if t.State != work.TaskResolving {
		return fault.New(fault.Conflict, "delete task %q", g).Why("it is %s, not RESOLVING", t.State)
	}
	b.tasks.Delete(tx, string(g))
	return nil
}

// DeleteTask resolves and deletes a COMPLETED task in one call (SEMANTICS 74).
// NotFound; Conflict: it is in another state.
func (b *Board) DeleteTask(tx *store.Txn, now when.Instant, g work.TaskGUID) error {
	if err := b.ResolveTask(tx, now, g); err != nil {
		return err
	}
	return b.DeleteResolving(tx, g)
}

func (b *Board) lookTask(tx *store.Txn, a TaskAsk) (work.Task, error) {
	t, ok := b.Task(tx, a.GUID)
	if !ok || t.Incarnation != a.Incarnation {
		return t, stale("task %s", a.GUID)
	}
	if a.Seen != AnyRevision && a.Seen != b.TaskRevision(tx, a.GUID) {
		return t, stale("task %s", a.GUID)
	}
	return t, nil
}

func (b *Board) complete(tx *store.Txn, now when.Instant, by work.Actor, t work.Task, o Outcome) error {
	t.Failed, t.FailureReason, t.Result = o.Failed, "", ""
	if o.Failed {
		t.FailureReason = truncate(o.Reason, MaxReason)
		if t.FailureReason == "" {
			t.FailureReason = "failed without a reason"
		}
	} else {
		t.Result = truncate(o.Result, MaxResult)
	}
	return b.moveTask(tx, now, by, &t, work.TaskCompleted)
}

// moveTask writes the task in its next state if the actor may.
func (b *Board) moveTask(tx *store.Txn, now when.Instant, by work.Actor, t *work.Task, to work.TaskState) error {
	if !t.State.CanMove(by, to) {
		return fault.New(fault.Conflict, "%s moves task %s from %s to %s", by, t.GUID, t.State, to).
			Why("no such transition is allowed")
	}
	t.State, t.Updated = to, now
	if to == work.TaskCompleted && t.FirstCompleted.IsZero() {
		t.FirstCompleted = now
	}
	b.tasks.Put(tx, *t)
	return nil
}

func notCompleted(t *work.Task) error {
	err := fault.New(fault.Conflict, "delete task %q", t.GUID).Why("it is %s, not COMPLETED", t.State)
	if t.State == work.TaskPending || t.State == work.TaskRunning {
		return err.Try("drover task cancel " + string(t.GUID))
	}
	return err
}

func noTask(g work.TaskGUID) error {
	return fault.New(fault.NotFound, "no task %q", g).Coded(fault.CodeNoSuchTask).Try("drover task list")
}
