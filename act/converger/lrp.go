package converger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"drover/decide/convergence"
	"drover/internal/loop"
	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
)

// lrp converges one guid.
func (c *Converger) lrp(ctx context.Context, now when.Instant, g work.ProcessGUID) (loop.Next, error) {
	actions, again := c.cfg.Board.LRPView(c.cfg.Store.View(), now, g).Decide(now)
	if err := c.do(ctx, now, actions); err != nil {
		return loop.Next{}, err
	}
	return at(again), nil
}

// lrps converges many guids with few transactions, and wakes those that are to be
// looked at again.
func (c *Converger) lrps(ctx context.Context, now when.Instant, view store.Reader, guids []work.ProcessGUID) error {
	var actions []convergence.LRPAction
	for _, g := range guids {
		more, again := c.cfg.Board.LRPView(view, now, g).Decide(now)
		if len(more) > 0 || !again.IsZero() {
			c.loop.Wake(string(board.LRPTopic(g)))
		}
		if actions = append(actions, more...); len(actions) >= actionsAtOnce {
			if err := c.do(ctx, now, actions); err != nil {
				return err
			}
			actions = nil
		}
	}
	return c.do(ctx, now, actions)
}

// do writes what changes the board, then says what is to be said.
func (c *Converger) do(ctx context.Context, now when.Instant, actions []convergence.LRPAction) error {
	var writes, says []convergence.LRPAction
	for _, a := range actions {
		if a.Kind == convergence.TellStop || a.Kind == convergence.Emit {
			says = append(says, a)
		} else {
			writes = append(writes, a)
		}
	}
	for chunk := range slices.Chunk(writes, actionsAtOnce) {
		if err := c.write(ctx, now, chunk); err != nil {
			return err
		}
	}
	for _, a := range says {
		c.say(ctx, now.Time(), a)
	}
	return nil
}

func (c *Converger) write(ctx context.Context, now when.Instant, chunk []convergence.LRPAction) error {
	var done []convergence.LRPAction
	_, err := c.cfg.Store.Update(ctx, func(tx *store.Txn) error {
		for _, a := range chunk {
			changed, err := c.cfg.Board.Converge(tx, now, a)
			if err != nil && !fault.Is(err, fault.Conflict) {
				return err
			}
			if changed && err == nil {
				done = append(done, a)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("converge: %w", err)
	}
	for _, a := range done {
		c.cfg.Log.Info("converge", "lrp", a.Key.ProcessGUID, "index", a.Key.Index, "from", a.Record.State.String(), "step", a.Kind.String(), "why", a.Why)
	}
	return nil
}

// say emits a start or sends a stop.
func (c *Converger) say(ctx context.Context, now time.Time, a convergence.LRPAction) {
	r := a.Record
	if a.Kind == convergence.Emit {
		if c.once(fmt.Sprintf("start %s/%d", r.ProcessGUID, r.Index), now, convergence.StaleUnclaimed) {
			c.cfg.Starts.EmitLRP(a.Key)
		}
		return
	}
	if !c.once("stop "+string(r.Holder.Instance), now, convergence.StopAgain) {
		return
	}
	err := c.cfg.Cells.Stop(ctx, r.Holder.Cell, Stop{LRP: r.LRPKey, Instance: r.Holder.Instance, Epoch: c.cfg.Epoch})
	if err != nil {
		c.cfg.Log.Warn("stop not sent, will try again", "lrp", r.ProcessGUID, "index", r.Index, "cell", r.Holder.Cell, "err", err)
	}
}

// once reports whether the words were not said within the time, and notes that
// they are said now.
func (c *Converger) once(words string, now time.Time, every time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.said[words]; ok && now.Sub(last) < every {
		return false
	}
	c.said[words] = now
	return true
}

// forgetSaid drops what was said longer ago than matters.
func (c *Converger) forgetSaid(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for words, t := range c.said { // order-free: each on its own
		if now.Sub(t) > convergence.StaleUnclaimed {
			delete(c.said, words)
		}
	}
}

// domain converges the domain's LRPs, now that it is fresh, and forgets it once it
// has expired.
func (c *Converger) domain(ctx context.Context, now when.Instant, d work.Domain) (loop.Next, error) {
	view := c.cfg.Store.View()
	row, ok := c.cfg.Board.Domain(view, d)
	if !ok {
		return loop.Next{}, nil
	}
	if !c.cfg.Board.Fresh(view, now, d) {
		_, err := c.cfg.Store.Update(ctx, func(tx *store.Txn) error {
			c.cfg.Board.PruneDomain(tx, now, d)
			return nil
		})
		return loop.Next{}, err
	}
	if err := c.lrps(ctx, now, view, c.extras(view, d)); err != nil {
		return loop.Next{}, err
	}
	return at(row.Expires), nil
}

// extras are the domain's guids with records beyond what is desired.
func (c *Converger) extras(view store.Reader, d work.Domain) (guids []work.ProcessGUID) {
	for a := range c.cfg.Board.ActualsInDomain(view, d) {
		if n := len(guids); n > 0 && guids[n-1] == a.ProcessGUID {
			continue
		}
		if want, ok := c.cfg.Board.Desired(view, a.ProcessGUID); !ok || want.Instances <= a.Index {
			guids = append(guids, a.ProcessGUID)
		}
	}
	return guids
}
