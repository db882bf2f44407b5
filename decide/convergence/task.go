package convergence

import (
	"time"

	"drover/noun/when"
	"drover/noun/work"
)

// The ages of tasks (SEMANTICS 2).
const (
	StalePending     = 30 * time.Second // a PENDING task's start is emitted again
	ResolvingTooLong = 30 * time.Second // RESOLVING goes back to COMPLETED
	CompletedExpires = 2 * time.Minute  // after it was first COMPLETED
)

// Reasons with which tasks fail.
const (
	Cancelled = "cancelled"
	CellGone  = "cell disappeared before completion"
)

// TaskKind is what convergence does about a task.
type TaskKind uint8

// The kinds. FailTask, Unresolve and DeleteTask change the board; EmitTask and
// TellCancelled are messages.
const (
	_             TaskKind = iota
	EmitTask               // a start request for the PENDING task
	FailTask               // RUNNING → COMPLETED: its cell is gone
	Unresolve              // RESOLVING → COMPLETED
	DeleteTask             // nobody resolved it in time
	TellCancelled          // to the cell that runs the cancelled task
	numTaskKinds
)

var taskKindNames = [numTaskKinds]string{"nothing", "emit", "fail", "unresolve", "delete", "tell cancelled"}

// String is the kind's name.
func (k TaskKind) String() string {
	if k >= numTaskKinds {
		return "invalid"
	}
	return taskKindNames[k]
}

// Task is what to do about the task now, and when to look again if nothing
// changes; zero: never. The zero kind is nothing. gone reports whether the cell
// has been silent for the full TTL: a task is not moved, it fails.
func Task(t *work.Task, now when.Instant, gone func(work.CellID) bool) (TaskKind, when.Instant) {
	due := func(at when.Instant, k TaskKind) (TaskKind, when.Instant) {
		if now.Before(at) {
			return 0, at
		}
		return k, 0
	}
	switch t.State {
	case work.TaskPending:
		k, at := due(t.Updated.Add(StalePending), EmitTask)
		if k == EmitTask {
			at = now.Add(StalePending)
		}
		return k, at
	case work.TaskRunning:
		if gone(t.Cell) {
			return FailTask, 0
		}
	case work.TaskCompleted:
		k, at := due(t.FirstCompleted.Add(CompletedExpires), DeleteTask)
		if k == DeleteTask && t.Callback != "" && !resolvedBefore(t) {
			k = 0 // T5: its callback comes first
		}
		if k == 0 && t.FailureReason == Cancelled && t.Cell != "" {
			k = TellCancelled
		}
		return k, at
	case work.TaskResolving:
		return due(t.Updated.Add(ResolvingTooLong), Unresolve)
	}
	return 0, 0
}
