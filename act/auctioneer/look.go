package auctioneer

import (
	"fmt"
	"reflect"
	"time"

	"drover/act/presence"
	"drover/decide/placement"
	"drover/keep/store"
	"drover/noun/work"
)

// look brings what waits up to date with the board: records that no longer ask
// for a cell leave, new ones come.
func (a *Auctioneer) look(view store.Reader) {
	if a.all {
		a.all = false
		for r := range a.cfg.Board.ActualsWaiting(view, work.Unclaimed) {
			a.guids[r.ProcessGUID] = struct{}{}
		}
		for t := range a.cfg.Board.TasksIn(view, work.TaskPending) {
			a.tasks[t.GUID] = struct{}{}
		}
	}
	for _, g := range sorted(a.guids) {
		a.lookAtLRP(view, g)
	}
	for _, g := range sorted(a.tasks) {
		t, ok := a.cfg.Board.Task(view, g)
		a.want(item{task: g}, ok && t.State == work.TaskPending, taskVersion(&t))
	}
	clear(a.guids)
	clear(a.tasks)
	a.lookAtCells(view)
}

func (a *Auctioneer) lookAtLRP(view store.Reader, g work.ProcessGUID) {
	d, desired := a.cfg.Board.Desired(view, g)
	for r := range a.cfg.Board.ActualsOf(view, g) {
		if r.Evacuating {
			continue
		}
		asks := desired && r.State == work.Unclaimed && r.Index < d.Instances && r.Incarnation == d.Incarnation
		a.want(item{lrp: r.LRPKey}, asks, lrpVersion(&r))
	}
}

// lrpVersion changes whenever a record asks anew: its Since, not its tag, which
// a placement error changes too.
func lrpVersion(r *work.ActualLRP) string {
	return fmt.Sprintf("%s %s %d", r.Incarnation, r.ModTag.Epoch, r.Since)
}

func taskVersion(t *work.Task) string { return string(t.Incarnation) }

func (a *Auctioneer) want(i item, asks bool, version string) {
	s, sent := a.inflight[i]
	if !asks || sent && s.of != version {
		delete(a.inflight, i)
		sent = false
	}
	if !asks {
		delete(a.waiting, i)
		return
	}
	if _, ok := a.waiting[i]; !ok && !sent {
		a.waiting[i] = &wait{}
	}
}

// expire gives up on batches without an answer: their work is convergence's.
func (a *Auctioneer) expire(now time.Time) {
	for id, b := range a.batches { // order-free: each on its own
		if now.Before(b.late) {
			continue
		}
		delete(a.batches, id)
		a.cfg.Presence.Unsent(b.cell, id)
		a.capacity = true
		a.cfg.Log.Warn("no answer to work", "cell", b.cell, "batch", id, "items", len(b.items))
	}
}

// due are the waiting items to be placed now, and whether those that fitted
// nowhere are among them because capacity grew.
func (a *Auctioneer) due(now time.Time) (items []item, regained bool) {
	regained = a.capacity && !now.Before(a.rest)
	for i, w := range a.waiting { // order-free: sorted by the caller
		if w.failed && regained || !now.Before(w.again) {
			items = append(items, i)
		}
	}
	return items, regained
}

// lookAtCells notes whether a touched cell's row is another than before: what
// its records do is reported by the cell itself.
func (a *Auctioneer) lookAtCells(view store.Reader) {
	for id := range a.touched { // order-free: each on its own
		row, ok := a.cfg.Board.Cell(view, id)
		if ok && !reflect.DeepEqual(row, a.known[id]) {
			a.known[id], a.capacity = row, true
		}
	}
	clear(a.touched)
}

// cells is the auction's view of the cells.
func (a *Auctioneer) cells(view store.Reader) []placement.Cell {
	var out []placement.Cell
	for c := range a.cfg.Board.AllCells(view) {
		r, reported := a.cfg.Presence.Reported(c.ID)
		used, _ := a.cfg.Presence.Used(c.ID)
		capacity := c.Capacity
		if reported && r.Capacity != (work.Resources{}) {
			capacity = r.Capacity
		}
		out = append(out, placement.Cell{
			ID: c.ID, Zone: c.Zone, Stack: c.Stack, Runtimes: c.Runtimes, Tags: c.Tags, Volumes: c.Volumes,
			Capacity: capacity, Used: used, Closed: closed(&c, r, reported),
		})
	}
	return out
}

// closed is why a cell takes no work at all; empty: it does.
func closed(c *work.Cell, r presence.Report, reported bool) string {
	switch {
	case c.Presence != work.Present:
		return c.Presence.String()
	case c.Evacuating || r.Evacuating:
		return "evacuating"
	case c.Unfit != "":
		return "unfit: " + c.Unfit
	case r.Unfit != "":
		return "unfit: " + r.Unfit
	case !reported:
		return "not heard of yet"
	}
	return ""
}

// Snapshot is the cells as the next auction would see them, for `why`.
func (a *Auctioneer) Snapshot(view store.Reader) []placement.Cell { return a.cells(view) }

// batch turns waiting items into work for placement, forgetting what no longer
// asks, with how many instances of each guid the cells hold already.
func (a *Auctioneer) batch(view store.Reader, items []item) (batch []placement.Item, held []placement.Held) {
	specs := map[work.ProcessGUID]*work.DesiredLRP{}
	for _, i := range items {
		if i.task != "" {
			if t, ok := a.cfg.Board.Task(view, i.task); ok {
				batch = append(batch, placement.Item{Task: i.task, Spec: &t.Spec, Resources: t.Spec.Resources()})
			} else {
				delete(a.waiting, i)
			}
			continue
		}
		d, seen := specs[i.lrp.ProcessGUID]
		if !seen {
			if row, ok := a.cfg.Board.Desired(view, i.lrp.ProcessGUID); ok {
				d = &row
			}
			specs[i.lrp.ProcessGUID] = d
			held = append(held, a.held(view, i.lrp.ProcessGUID)...)
		}
		if d == nil {
			delete(a.waiting, i)
			continue
		}
		batch = append(batch, placement.Item{LRP: i.lrp, Spec: &d.Spec, Resources: d.Spec.Resources()})
	}
	return batch, held
}

func (a *Auctioneer) held(view store.Reader, g work.ProcessGUID) (held []placement.Held) {
	for r := range a.cfg.Board.ActualsOf(view, g) {
		if r.Evacuating {
			continue
		}
		cell := r.Holder.Cell
		if s, ok := a.inflight[item{lrp: r.LRPKey}]; ok && cell == "" {
			cell = s.cell
		}
		if cell != "" {
			held = append(held, placement.Held{GUID: g, Cell: cell, Count: 1})
		}
	}
	return held
}
