package converger

import (
	"context"
	"fmt"

	"drover/act/presence"
	"drover/internal/loop"
	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// cell notes that a cell is away or lost, then has what a lost one held looked
// at. It asks again when the cell's silence would make a difference.
func (c *Converger) cell(ctx context.Context, now when.Instant, id work.CellID) (loop.Next, error) {
	view := c.cfg.Store.View()
	row, ok := c.cfg.Board.Cell(view, id)
	if !ok {
		c.cfg.Presence.ForgetCell(id)
		return loop.Next{}, c.rescue(ctx, now, view, id)
	}
	state, until := c.cfg.Presence.State(row.Machine)
	if row.Presence == work.Away && now.Before(row.AwayUntil) && state != presence.Here {
		return at(row.AwayUntil), nil // said so to the leader before
	}
	lost := state == presence.Silent || state == presence.Reset
	switch {
	case lost && row.Presence != work.Lost:
		if err := c.lose(ctx, now, id, state); err != nil {
			return loop.Next{}, err
		}
		if err := c.rescue(ctx, now, c.cfg.Store.View(), id); err != nil {
			return loop.Next{}, err
		}
	case lost:
		if err := c.rescue(ctx, now, view, id); err != nil {
			return loop.Next{}, err
		}
	case state == presence.Away && row.Presence == work.Present:
		err := c.update(ctx, func(tx *store.Txn) { c.cfg.Board.CellAway(tx, now, when.Of(until), id) })
		if err != nil {
			return loop.Next{}, err
		}
	}
	return loop.Next{At: until}, nil
}

func (c *Converger) lose(ctx context.Context, now when.Instant, id work.CellID, state presence.State) error {
	if err := c.update(ctx, func(tx *store.Txn) { c.cfg.Board.LoseCell(tx, now, id) }); err != nil {
		return fmt.Errorf("lose cell %s: %w", id, err)
	}
	c.cfg.Presence.ForgetCell(id)
	c.cfg.Log.Warn("cell lost", "cell", id, "agent", state.String())
	return nil
}

func (c *Converger) update(ctx context.Context, fn func(*store.Txn)) error {
	_, err := c.cfg.Store.Update(ctx, func(tx *store.Txn) error {
		fn(tx)
		return nil
	})
	return err
}

// rescue moves all that the cell held, with few transactions.
func (c *Converger) rescue(ctx context.Context, now when.Instant, view store.Reader, id work.CellID) error {
	var guids []work.ProcessGUID
	for a := range c.cfg.Board.ActualsOnCell(view, id) {
		if n := len(guids); n == 0 || guids[n-1] != a.ProcessGUID {
			guids = append(guids, a.ProcessGUID)
		}
	}
	if err := c.lrps(ctx, now, view, guids); err != nil {
		return err
	}
	return c.failTasks(ctx, now, view, id)
}

// sweep looks at everything once, does what is to be done about LRPs, and wakes
// the keys that are to be looked at now or at a time.
func (c *Converger) sweep(ctx context.Context, now when.Instant) (loop.Next, error) {
	view := c.cfg.Store.View()
	for cell := range c.cfg.Board.AllCells(view) {
		c.loop.Wake(string(board.CellTopic(cell.ID)))
	}
	for _, d := range c.cfg.Board.AllDomains(view) {
		c.loop.Wake(string(board.DomainTopic(d.Name)))
	}
	if err := c.lrps(ctx, now, view, guids(c.cfg.Board, view)); err != nil {
		return loop.Next{}, err
	}
	live := map[work.Incarnation]struct{}{}
	for t := range c.cfg.Board.AllTasks(view) {
		live[t.Incarnation] = struct{}{}
		c.loop.Wake(string(board.TaskTopic(t.GUID)))
	}
	c.forgetSaid(now.Time())
	c.forgetCancelled(live)
	return loop.Next{At: now.Time().Add(SweepEvery)}, nil
}

func (c *Converger) forgetCancelled(live map[work.Incarnation]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.cancelled { // order-free: each on its own
		if _, ok := live[i]; !ok {
			delete(c.cancelled, i)
		}
	}
}

// guids are all that are desired or have records, in order.
func guids(b *board.Board, view store.Reader) (out []work.ProcessGUID) {
	var recorded []work.ProcessGUID
	for a := range b.AllActual(view) {
		if n := len(recorded); n == 0 || recorded[n-1] != a.ProcessGUID {
			recorded = append(recorded, a.ProcessGUID)
		}
	}
	for d := range b.AllDesired(view) {
		out = append(out, d.ProcessGUID)
	}
	for _, g := range recorded {
		if !b.IsDesired(view, g) {
			out = append(out, g)
		}
	}
	return out
}
