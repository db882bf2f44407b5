package converger

import (
	"context"
	"fmt"
	"slices"

	"drover/act/presence"
	"drover/decide/convergence"
	"drover/internal/loop"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// task converges one task.
func (c *Converger) task(ctx context.Context, now when.Instant, g work.TaskGUID) (loop.Next, error) {
	view := c.cfg.Store.View()
	t, ok := c.cfg.Board.Task(view, g)
	if !ok {
		return loop.Next{}, nil
	}
	kind, again := convergence.Task(&t, now, func(id work.CellID) bool { return c.goneForTasks(view, id) })
	switch kind {
	case 0:
	case convergence.EmitTask:
		if c.once("start "+string(g), now.Time(), convergence.StalePending) {
			c.cfg.Starts.EmitTask(g)
		}
	case convergence.TellCancelled:
		c.tellCancelled(ctx, &t)
	default:
		if err := c.changeTasks(ctx, now, []work.Task{t}, kind); err != nil {
			return loop.Next{}, err
		}
	}
	return at(again), nil
}

// changeTasks does the same change to tasks, with few transactions.
func (c *Converger) changeTasks(ctx context.Context, now when.Instant, tasks []work.Task, kind convergence.TaskKind) error {
	for chunk := range slices.Chunk(tasks, actionsAtOnce) {
		var done []work.Task
		_, err := c.cfg.Store.Update(ctx, func(tx *store.Txn) error {
			for _, t := range chunk {
				changed, err := c.cfg.Board.ConvergeTask(tx, now, t, kind)
				if err != nil {
					return fmt.Errorf("converge task %s: %w", t.GUID, err)
				}
				if changed {
					done = append(done, t)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, t := range done {
			c.cfg.Log.Info("converge", "task", t.GUID, "from", t.State.String(), "step", kind.String())
		}
	}
	return nil
}

// failTasks fails what the cell ran, once it is gone for tasks too.
func (c *Converger) failTasks(ctx context.Context, now when.Instant, view store.Reader, id work.CellID) error {
	if !c.goneForTasks(view, id) {
		return nil
	}
	var ran []work.Task
	for t := range c.cfg.Board.TasksOnCell(view, id) {
		if t.State == work.TaskRunning {
			ran = append(ran, t)
		}
	}
	return c.changeTasks(ctx, now, ran, convergence.FailTask)
}

// goneForTasks reports whether the cell has been silent for the full TTL: a
// reset connection alone fails no task (SEMANTICS 42).
func (c *Converger) goneForTasks(view store.Reader, id work.CellID) bool {
	row, ok := c.cfg.Board.Cell(view, id)
	if !ok {
		return true
	}
	if row.Presence != work.Lost {
		return false
	}
	state, _ := c.cfg.Presence.State(row.Machine)
	return state == presence.Silent
}

func (c *Converger) tellCancelled(ctx context.Context, t *work.Task) {
	c.mu.Lock()
	_, told := c.cancelled[t.Incarnation]
	c.cancelled[t.Incarnation] = struct{}{}
	c.mu.Unlock()
	if told {
		return
	}
	err := c.cfg.Cells.Stop(ctx, t.Cell, Stop{TaskIncarnation: t.Incarnation, Epoch: c.cfg.Epoch})
	if err != nil { // the cell learns it from the task's record too
		c.cfg.Log.Info("cancellation not sent", "task", t.GUID, "cell", t.Cell, "err", err)
	}
}
