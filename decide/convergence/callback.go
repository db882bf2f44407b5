package convergence

import (
	"time"

	"drover/noun/when"
	"drover/noun/work"
)

// StaleCompleted is the age at which a COMPLETED task whose callback failed is
// handed to resolution again.
const StaleCompleted = 30 * time.Second

// Callback reports whether the task's callback is to be called now, and when to
// look again if nothing changes; zero: never. A task that was never resolved is
// called for at once, however old it is; one that came back from RESOLVING when
// it is stale, until its time is up. Tasks without a callback are left for whoever
// polls (SEMANTICS 75).
func Callback(t *work.Task, now when.Instant) (bool, when.Instant) {
	if t.Callback == "" || t.State != work.TaskCompleted {
		return false, 0
	}
	if !resolvedBefore(t) {
		return true, 0
	}
	kick := t.Updated.Add(StaleCompleted)
	switch {
	case !now.Before(t.FirstCompleted.Add(CompletedExpires)):
		return false, 0
	case now.Before(kick):
		return false, kick
	}
	return true, 0
}

// resolvedBefore reports whether the COMPLETED task was RESOLVING before.
func resolvedBefore(t *work.Task) bool { return t.FirstCompleted.Before(t.Updated) }
