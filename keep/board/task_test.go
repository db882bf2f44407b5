package board

import (
	"strings"
	"testing"
	"time"

	"drover/decide/convergence"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/work"
)

func (w *world) desireTask() work.Task {
	w.t.Helper()
	w.must(func(tx *store.Txn) error {
		_, err := w.b.DesireTask(tx, w.now, task())
		return err
	})
	return w.task()
}

func (w *world) task() work.Task {
	t, _ := w.b.Task(w.s.View(), "job")
	return t
}

func (w *world) taskAsk(cell work.CellID) TaskAsk {
	t := w.task()
	return TaskAsk{GUID: t.GUID, Incarnation: t.Incarnation, Cell: cell, Seen: w.b.TaskRevision(w.s.View(), t.GUID)}
}

func (w *world) convergeTask(kind convergence.TaskKind) {
	w.t.Helper()
	t := w.task()
	w.must(func(tx *store.Txn) error {
		changed, err := w.b.ConvergeTask(tx, w.now, t, kind)
		if err == nil && !changed {
			w.t.Errorf("%s changed nothing", kind)
		}
		return err
	})
}

// Rule: D-161 D-156 D-168 D-178 D-158 D-159
func TestATaskRunsAndIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	if got := w.desireTask(); got.State != work.TaskPending || got.Incarnation == "" {
		t.Errorf("%+v", got)
	}
	w.refused(fault.Conflict, func(tx *store.Txn) error { _, err := w.b.DesireTask(tx, w.now, task()); return err })
	w.must(func(tx *store.Txn) error { return w.b.StartTask(tx, w.now, w.taskAsk("c0")) })
	if !w.b.CellBusy(w.s.View(), "c0") {
		t.Error("a running task does not keep its cell busy")
	}
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.DeleteTask(tx, w.now, "job") }) // Rule: D-181
	w.must(func(tx *store.Txn) error {
		return w.b.CompleteTask(tx, w.now, w.taskAsk("c0"), Outcome{Result: "42"})
	})
	if got := w.task(); got.State != work.TaskCompleted || got.Failed || got.Result != "42" || got.Cell != "c0" {
		t.Errorf("%+v", got)
	}
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.CancelTask(tx, w.now, "job") }) // Rule: D-186
	w.must(func(tx *store.Txn) error { return w.b.DeleteTask(tx, w.now, "job") })
	w.refused(fault.NotFound, func(tx *store.Txn) error { return w.b.DeleteTask(tx, w.now, "job") })
}

// Rule: D-182 D-183 D-155
func TestCancelling(t *testing.T) {
	for name, start := range map[string]bool{"PENDING": false, "RUNNING": true} { // order-free: each on its own
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.desireTask()
			if start {
				w.must(func(tx *store.Txn) error { return w.b.StartTask(tx, w.now, w.taskAsk("c0")) })
			}
			w.must(func(tx *store.Txn) error { return w.b.CancelTask(tx, w.now, "job") })
			if got := w.task(); got.State != work.TaskCompleted || !got.Failed || got.FailureReason != "cancelled" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Rule: D-153 D-166
func TestATaskIsStartedOnce(t *testing.T) {
	w := newWorld(t)
	w.desireTask()
	before := w.taskAsk("c1")
	w.must(func(tx *store.Txn) error { return w.b.StartTask(tx, w.now, w.taskAsk("c0")) })
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.StartTask(tx, w.now, before) })
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.StartTask(tx, w.now, w.taskAsk("c1")) })
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.CompleteTask(tx, w.now, w.taskAsk("c1"), Outcome{}) })
}

// Rule: D-187
func TestAnotherIncarnationIsAnotherTask(t *testing.T) {
	w := newWorld(t)
	w.desireTask()
	old := w.taskAsk("c0")
	w.must(func(tx *store.Txn) error { return w.b.CancelTask(tx, w.now, "job") })
	w.must(func(tx *store.Txn) error { return w.b.DeleteTask(tx, w.now, "job") })
	w.desireTask()
	old.Seen = AnyRevision
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.StartTask(tx, w.now, old) })
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.CompleteTask(tx, w.now, old, Outcome{}) })
}

// Rule: D-163 D-174
func TestATaskThatFitsNowhereFails(t *testing.T) {
	w := newWorld(t)
	got := w.desireTask()
	w.must(func(tx *store.Txn) error {
		return w.b.RejectTask(tx, w.now, "job", got.Incarnation, "insufficient resources: of 1 cells 1 lack memory")
	})
	if got := w.task(); !got.Failed || !strings.HasPrefix(got.FailureReason, "insufficient resources") || got.State != work.TaskCompleted {
		t.Errorf("%+v", got)
	}
	w.must(func(tx *store.Txn) error { return w.b.RejectTask(tx, w.now, "job", got.Incarnation, "again") })
	if strings.HasPrefix(w.task().FailureReason, "again") {
		t.Error("a completed task was rejected")
	}
}

// Rule: D-191
func TestConvergenceOfTasks(t *testing.T) {
	w := newWorld(t)
	w.desireTask()
	w.must(func(tx *store.Txn) error { return w.b.StartTask(tx, w.now, w.taskAsk("c0")) })
	w.convergeTask(convergence.FailTask)
	if got := w.task(); !got.Failed || got.FailureReason != convergence.CellGone {
		t.Errorf("%+v", got)
	}
	completed := w.task().FirstCompleted
	w.now = w.now.Add(time.Second)
	w.must(func(tx *store.Txn) error { return w.b.ResolveTask(tx, w.now, "job") })
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.ResolveTask(tx, w.now, "job") }) // Rule: D-179
	w.convergeTask(convergence.Unresolve)                                                             // Rule: D-195
	if got := w.task(); got.FirstCompleted != completed || !got.Failed {
		t.Errorf("%+v", got)
	}
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.DeleteResolving(tx, "job") })
	w.convergeTask(convergence.DeleteTask)
}
