package board

import (
	"reflect"

	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
)

// CellChanged reports whether the facts that the cell reports differ from its
// row, so that UpsertCell would write: heartbeats ask first.
func (b *Board) CellChanged(r store.Reader, facts work.Cell) bool {
	row, ok := b.Cell(r, facts.ID)
	return !ok || !reflect.DeepEqual(row, merge(row, facts, row.Since))
}

// UpsertCell writes the facts that a cell reports and makes it present. Presence
// and Since of the argument are not looked at, and an evacuation that was asked
// for stays. Conflict: the id belongs to another machine.
func (b *Board) UpsertCell(tx *store.Txn, now when.Instant, facts work.Cell) error {
	if facts.ID == "" || facts.Stack == "" {
		return invalid("cell %q", facts.ID).Why("a cell has an id and a stack")
	}
	row, ok := b.Cell(tx, facts.ID)
	if ok && row.MachineUID != facts.MachineUID && row.Machine != facts.Machine {
		return fault.New(fault.Conflict, "cell %s of machine %s", facts.ID, facts.Machine).
			Why("it belongs to machine %s", row.Machine)
	}
	next := merge(row, facts, now)
	if !ok || !reflect.DeepEqual(row, next) {
		b.cells.Put(tx, next)
	}
	return nil
}

// merge is the row after a report.
func merge(row, facts work.Cell, now when.Instant) work.Cell {
	next := facts
	next.Presence, next.Since, next.AwayUntil = work.Present, row.Since, 0
	if row.Presence != work.Present {
		next.Since = now
	}
	if row.MachineUID == facts.MachineUID {
		next.Evacuating = row.Evacuating || facts.Evacuating
	}
	for _, l := range []*[]string{&next.Runtimes, &next.Tags, &next.Volumes} {
		if len(*l) == 0 {
			*l = nil
		}
	}
	return next
}

// CellAway notes that the cell said goodbye until a time: nothing is moved
// meanwhile. No such cell is no error.
func (b *Board) CellAway(tx *store.Txn, now, until when.Instant, id work.CellID) {
	if c, ok := b.Cell(tx, id); ok && c.Presence != work.Lost {
		if c.Presence != work.Away {
			c.Presence, c.Since = work.Away, now
		}
		c.AwayUntil = until
		b.cells.Put(tx, c)
	}
}

// LoseCell notes that the cell is lost; Rescue takes what it held. No such cell
// is no error.
func (b *Board) LoseCell(tx *store.Txn, now when.Instant, id work.CellID) {
	if c, ok := b.Cell(tx, id); ok && c.Presence != work.Lost {
		c.Presence, c.Since, c.AwayUntil = work.Lost, now, 0
		b.cells.Put(tx, c)
	}
}

// EvacuateCell marks the cell as evacuating: its rep empties it, and it takes no
// new work. No such cell is no error.
func (b *Board) EvacuateCell(tx *store.Txn, _ when.Instant, id work.CellID) {
	if c, ok := b.Cell(tx, id); ok && !c.Evacuating {
		c.Evacuating = true
		b.cells.Put(tx, c)
	}
}

// RemoveCell forgets the cell; what it still holds is rescued by convergence. No
// such cell is no error.
func (b *Board) RemoveCell(tx *store.Txn, _ when.Instant, id work.CellID) {
	b.cells.Delete(tx, string(id))
}

// cellGone reports whether nobody will answer for the cell's containers.
func (b *Board) cellGone(r store.Reader, id work.CellID) bool {
	c, ok := b.Cell(r, id)
	return !ok || c.Presence == work.Lost
}
