package board

import (
	"drover/decide/convergence"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// BeginResolving makes the task RESOLVING for its callback, if that is to be
// called now. It reports whether it did: not if the task is another incarnation,
// or in another hand meanwhile, so that two resolvers never both call.
func (b *Board) BeginResolving(tx *store.Txn, now when.Instant, g work.TaskGUID, of work.Incarnation) (bool, error) {
	t, ok := b.Task(tx, g)
	if !ok || t.Incarnation != of {
		return false, nil
	}
	if call, _ := convergence.Callback(&t, now); !call {
		return false, nil
	}
	return true, b.moveTask(tx, now, work.ByConverger, &t, work.TaskResolving)
}

// EndResolving deletes the task whose callback has answered. Nothing happens when
// it is not the incarnation that is RESOLVING since then.
func (b *Board) EndResolving(tx *store.Txn, g work.TaskGUID, of work.Incarnation, since when.Instant) {
	t, ok := b.Task(tx, g)
	if ok && t.Incarnation == of && t.State == work.TaskResolving && t.Updated == since {
		b.tasks.Delete(tx, string(g))
	}
}
