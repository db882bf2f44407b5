package converger

import (
	"context"
	"fmt"

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
		changed := false
		_, err := c.cfg.Store.Update(ctx, func(tx *store.Txn) (err error) {
			changed, err = c.cfg.Board.ConvergeTask(tx, now, t, kind)
			return err
		})
		if err != nil {
			return loop.Next{}, fmt.Errorf("converge task %s: %w", g, err)
		}
		if changed {
			c.cfg.Log.Info("converge", "task", g, "from", t.State.String(), "step", kind.String())
		}
	}
	return at(again), nil
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
