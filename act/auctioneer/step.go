package auctioneer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"drover/decide/placement"
	"drover/internal/loop"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// errorsAtOnce is how many placement errors one transaction writes.
const errorsAtOnce = 500

// Step is one auction: look, place, send, tell why not.
func (a *Auctioneer) Step(ctx context.Context, _ string) (loop.Next, error) {
	now := a.cfg.Now()
	view := a.cfg.Store.View()
	complete, over := a.cfg.Presence.Complete(a.cfg.Board.AllCells(view))

	a.mu.Lock()
	a.expire(now)
	a.look(view)
	if !complete {
		next := loop.Next{At: over}
		if len(a.waiting) == 0 {
			next = a.deadline()
		}
		a.mu.Unlock()
		return next, nil
	}
	placed := a.auction(view, now)
	sends := a.plan(view, placed, now)
	a.mu.Unlock()

	for _, s := range sends {
		a.send(ctx, s)
	}
	err := a.tell(ctx, placed)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deadline(), err
}

// auction places what is due.
func (a *Auctioneer) auction(view store.Reader, now time.Time) []placement.Placed {
	items, regained := a.due(now)
	if len(items) == 0 {
		return nil
	}
	slices.SortFunc(items, compareItems)
	batch, held := a.batch(view, items)
	placed := placement.Place(a.cells(view), held, batch)
	if !regained {
		return placed
	}
	a.capacity = false
	a.patience = min(max(2*a.patience, 10*time.Millisecond), longestRest)
	if slices.ContainsFunc(placed, func(p placement.Placed) bool { return p.Cell != "" }) {
		a.patience = 0
	}
	a.rest = now.Add(a.patience)
	return placed
}

type send struct {
	cell  work.CellID
	batch Batch
	needs work.Resources
}

// plan books placed work as sent, and marks the rest as fitting nowhere. Sends
// and their items are in the order of the auction.
func (a *Auctioneer) plan(view store.Reader, placed []placement.Placed, now time.Time) []send {
	at := map[work.CellID]int{}
	var sends []send
	for _, p := range placed {
		i := item{lrp: p.LRP, task: p.Task}
		if p.Cell == "" {
			a.waiting[i] = &wait{failed: true, again: now.Add(RetryEvery)}
			continue
		}
		w, version, ok := a.work(view, &p)
		if !ok {
			delete(a.waiting, i)
			continue
		}
		n, ok := at[p.Cell]
		if !ok {
			n = len(sends)
			at[p.Cell] = n
			a.next++
			sends = append(sends, send{cell: p.Cell, batch: Batch{ID: a.next, Epoch: a.cfg.Epoch}})
			a.batches[a.next] = &batch{cell: p.Cell, late: now.Add(AnswerWithin)}
		}
		s := &sends[n]
		s.batch.Items = append(s.batch.Items, w)
		s.needs = s.needs.Add(p.Resources)
		a.batches[s.batch.ID].items = append(a.batches[s.batch.ID].items, i)
		a.inflight[i] = sentItem{batch: s.batch.ID, cell: p.Cell, of: version, refused: a.waiting[i].refused}
		delete(a.waiting, i)
	}
	return sends
}

// work is what the cell is sent for the item; false: the record is no more as it
// was when it was placed.
func (a *Auctioneer) work(view store.Reader, p *placement.Placed) (Work, string, bool) {
	if p.IsTask() {
		t, ok := a.cfg.Board.Task(view, p.Task)
		return Work{Task: t.GUID, Incarnation: t.Incarnation, Domain: t.Domain, Spec: t.Spec, ResultFile: t.ResultFile}, taskVersion(&t), ok
	}
	r, ok := a.cfg.Board.Actual(view, p.LRP, false)
	return Work{
		LRP: p.LRP, Instance: work.InstanceGUID(a.cfg.NewID()), Incarnation: r.Incarnation, Domain: r.Domain, Spec: *p.Spec,
	}, lrpVersion(&r), ok
}

// send hands a batch to its cell; a cell that cannot be reached refuses it all.
func (a *Auctioneer) send(ctx context.Context, s send) {
	a.cfg.Presence.Sent(s.cell, s.batch.ID, s.needs)
	err := a.cfg.Cells.Send(ctx, s.cell, s.batch)
	if err == nil {
		a.cfg.Log.Info("work sent", "cell", s.cell, "batch", s.batch.ID, "items", len(s.batch.Items))
		return
	}
	a.cfg.Presence.Unsent(s.cell, s.batch.ID)
	refused := make([]Refusal, len(s.batch.Items))
	for i, w := range s.batch.Items {
		refused[i] = Refusal{LRP: w.LRP, Task: w.Task, Reason: fmt.Sprintf("the cell cannot be reached: %v", err)}
	}
	a.Ack(s.cell, s.batch.ID, refused)
}

// tell writes why work has no cell: LRPs wait with a placement error, tasks
// fail.
func (a *Auctioneer) tell(ctx context.Context, placed []placement.Placed) error {
	view := a.cfg.Store.View()
	var failed []placement.Placed
	for _, p := range placed {
		if p.Error == "" {
			continue
		}
		if r, ok := a.cfg.Board.Actual(view, p.LRP, false); p.IsTask() || ok && r.State == work.Unclaimed && r.PlacementError != p.Error {
			failed = append(failed, p)
		}
	}
	for chunk := range slices.Chunk(failed, errorsAtOnce) {
		_, err := a.cfg.Store.Update(ctx, func(tx *store.Txn) error {
			for _, p := range chunk {
				if err := a.tellOne(tx, view, &p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("tell placement errors: %w", err)
		}
	}
	return nil
}

func (a *Auctioneer) tellOne(tx *store.Txn, view store.Reader, p *placement.Placed) error {
	now := when.Of(a.cfg.Now())
	if !p.IsTask() {
		return a.cfg.Board.SetPlacementError(tx, now, p.LRP, p.Error)
	}
	t, _ := a.cfg.Board.Task(view, p.Task)
	return a.cfg.Board.RejectTask(tx, now, p.Task, t.Incarnation, p.Error)
}

// deadline is when something is due although nothing happens. What may go at
// once has woken the loop already, and gives no time.
func (a *Auctioneer) deadline() loop.Next {
	var first time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, b := range a.batches { // order-free: a minimum
		sooner(b.late)
	}
	for _, w := range a.waiting { // order-free: a minimum
		if w.failed && a.capacity && a.rest.Before(w.again) {
			sooner(a.rest)
			continue
		}
		sooner(w.again)
	}
	return loop.Next{At: first}
}
