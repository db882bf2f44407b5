package feed

import (
	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/work"
)

// record is a row with the revision of its last change.
type record[R any] struct {
	row      R
	revision uint64
}

// lrpsOn are the records of each index of which the cell holds one.
func lrpsOn(b *board.Board, r store.Reader, cell work.CellID) []record[work.ActualLRP] {
	var out []record[work.ActualLRP]
	add := func(row work.ActualLRP) {
		rev := b.ActualRevision(r, row.LRPKey, row.Evacuating)
		out = append(out, record[work.ActualLRP]{row: row, revision: uint64(rev)})
	}
	for row := range b.ActualsOnCell(r, cell) {
		add(row)
		if other, ok := b.Actual(r, row.LRPKey, !row.Evacuating); ok && other.Holder.Cell != cell {
			add(other)
		}
	}
	return out
}

// tasksOn are the tasks that are or were on the cell.
func tasksOn(b *board.Board, r store.Reader, cell work.CellID) []record[work.Task] {
	var out []record[work.Task]
	for row := range b.TasksOnCell(r, cell) {
		out = append(out, record[work.Task]{row: row, revision: uint64(b.TaskRevision(r, row.GUID))})
	}
	return out
}
