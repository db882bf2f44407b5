package board

import (
	"iter"
	"slices"

	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// Desired is the desired LRP with the guid.
func (b *Board) Desired(r store.Reader, g work.ProcessGUID) (work.DesiredLRP, bool) {
	return b.desired.Get(r, string(g))
}

// DesiredRevision is the revision of the desired LRP's last change; 0 without one.
func (b *Board) DesiredRevision(r store.Reader, g work.ProcessGUID) store.Revision {
	return b.desired.RevisionOf(r, string(g))
}

// CellRevision is the revision of the cell's last change; 0 without one.
func (b *Board) CellRevision(r store.Reader, c work.CellID) store.Revision {
	return b.cells.RevisionOf(r, string(c))
}

// IsDesired reports whether a desired LRP has the guid.
func (b *Board) IsDesired(r store.Reader, g work.ProcessGUID) bool {
	return b.desired.Has(r, string(g))
}

// AllDesired are the desired LRPs in the order of their guids.
func (b *Board) AllDesired(r store.Reader) iter.Seq[work.DesiredLRP] { return b.desired.All(r) }

// DesiredInDomain are the domain's desired LRPs in the order of their guids.
func (b *Board) DesiredInDomain(r store.Reader, d work.Domain) iter.Seq[work.DesiredLRP] {
	return b.desiredByDomain.Rows(r, string(d))
}

// Actual is the record of an index: the instance, or the evacuating one.
func (b *Board) Actual(r store.Reader, k work.LRPKey, evacuating bool) (work.ActualLRP, bool) {
	return b.actual.Get(r, ActualKey(k, evacuating))
}

// ActualRevision is the revision of the record's last change; 0 without one.
func (b *Board) ActualRevision(r store.Reader, k work.LRPKey, evacuating bool) store.Revision {
	return b.actual.RevisionOf(r, ActualKey(k, evacuating))
}

// AllActual are all records in the order of guid, index, evacuating first.
func (b *Board) AllActual(r store.Reader) iter.Seq[work.ActualLRP] { return b.actual.All(r) }

// ActualsOf are the records of a guid in the order of index, evacuating first.
func (b *Board) ActualsOf(r store.Reader, g work.ProcessGUID) iter.Seq[work.ActualLRP] {
	return b.actual.Prefix(r, string(g)+"/")
}

// ActualsOnCell are the records that the cell holds, of both kinds.
func (b *Board) ActualsOnCell(r store.Reader, c work.CellID) iter.Seq[work.ActualLRP] {
	return b.actualByCell.Rows(r, string(c))
}

// ActualsInDomain are the records of a domain.
func (b *Board) ActualsInDomain(r store.Reader, d work.Domain) iter.Seq[work.ActualLRP] {
	return b.actualByDomain.Rows(r, string(d))
}

// ActualsWaiting are the records in the state, which is Unclaimed or Crashed:
// the ones that somebody has to do something about.
func (b *Board) ActualsWaiting(r store.Reader, s work.LRPState) iter.Seq[work.ActualLRP] {
	return b.actualByState.Rows(r, s.String())
}

// CountOnCell is how many records the cell holds.
func (b *Board) CountOnCell(r store.Reader, c work.CellID) int {
	return b.actualByCell.Count(r, string(c))
}

// Task is the task with the guid.
func (b *Board) Task(r store.Reader, g work.TaskGUID) (work.Task, bool) {
	return b.tasks.Get(r, string(g))
}

// TaskRevision is the revision of the task's last change; 0 without one.
func (b *Board) TaskRevision(r store.Reader, g work.TaskGUID) store.Revision {
	return b.tasks.RevisionOf(r, string(g))
}

// AllTasks are the tasks in the order of their guids.
func (b *Board) AllTasks(r store.Reader) iter.Seq[work.Task] { return b.tasks.All(r) }

// TasksOnCell are the tasks that are or were on the cell, in any state.
func (b *Board) TasksOnCell(r store.Reader, c work.CellID) iter.Seq[work.Task] {
	return b.taskByCell.Rows(r, string(c))
}

// TasksInDomain are the tasks of a domain.
func (b *Board) TasksInDomain(r store.Reader, d work.Domain) iter.Seq[work.Task] {
	return b.taskByDomain.Rows(r, string(d))
}

// TasksIn are the tasks in the state.
func (b *Board) TasksIn(r store.Reader, s work.TaskState) iter.Seq[work.Task] {
	return b.taskByState.Rows(r, s.String())
}

// Cell is the cell with the id.
func (b *Board) Cell(r store.Reader, c work.CellID) (work.Cell, bool) {
	return b.cells.Get(r, string(c))
}

// AllCells are the cells in the order of their ids.
func (b *Board) AllCells(r store.Reader) iter.Seq[work.Cell] { return b.cells.All(r) }

// CellOfMachine is the cell of the machine whose row has the key "model/id".
func (b *Board) CellOfMachine(r store.Reader, machine string) (work.Cell, bool) {
	for c := range b.cellByMachine.Rows(r, machine) {
		return c, true
	}
	return work.Cell{}, false
}

// Domains are the domains that are fresh at the time.
func (b *Board) Domains(r store.Reader, now when.Instant) iter.Seq[work.DomainRow] {
	return func(yield func(work.DomainRow) bool) {
		for d := range b.domains.All(r) {
			if fresh(&d, now) && !yield(d) {
				return
			}
		}
	}
}

// Fresh reports whether the domain's desired state is known to be up to date.
func (b *Board) Fresh(r store.Reader, now when.Instant, d work.Domain) bool {
	row, ok := b.domains.Get(r, string(d))
	return ok && fresh(&row, now)
}

func fresh(d *work.DomainRow, now when.Instant) bool {
	return d.Expires.IsZero() || now.Before(d.Expires)
}

// Visible is the readers' rule: of an index's two records, either of which may
// be nil, the one that a query returns. Spec: 002 "Evacuation".
func Visible(instance, evacuating *work.ActualLRP) *work.ActualLRP {
	switch {
	case evacuating == nil:
		return instance
	case instance == nil, instance.State == work.Unclaimed, instance.State == work.Claimed:
		return evacuating
	}
	return instance
}

// Readers keeps of records in the table's order those that queries return, one
// for each index (P11).
func Readers(records iter.Seq[work.ActualLRP]) []work.ActualLRP {
	var out []work.ActualLRP
	for a := range records {
		last := len(out) - 1
		if last < 0 || out[last].LRPKey != a.LRPKey {
			out = append(out, a)
			continue
		}
		instance, evacuating := &a, &out[last]
		if a.Evacuating {
			instance, evacuating = evacuating, instance
		}
		out[last] = *Visible(instance, evacuating)
	}
	return slices.Clip(out)
}

// CellBusy reports whether the cell holds instances or running tasks.
func (b *Board) CellBusy(r store.Reader, c work.CellID) bool {
	if b.CountOnCell(r, c) > 0 {
		return true
	}
	for t := range b.TasksOnCell(r, c) {
		if t.State == work.TaskRunning {
			return true
		}
	}
	return false
}
