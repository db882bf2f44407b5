package store

import "slices"

// Txn is a transaction on the head. It is valid only inside the function that
// Update calls, and only on that goroutine.
type Txn struct {
	head []tableState // nil once the function has returned
	prev Revision
	undo []undo
	rev  Revision
}

// undo is what a write replaced: the item, or with a nil row its absence.
type undo struct {
	def *tableDef
	old item
}

// Revision is the revision before this transaction.
func (tx *Txn) Revision() Revision { return tx.prev }

// Next is the revision that this transaction will have if it changes anything
// and commits.
func (tx *Txn) Next() Revision { return tx.rev }

func (tx *Txn) tables() []tableState { return tx.head }

func (tx *Txn) put(def *tableDef, row any) {
	key := def.key(row)
	old, had := tx.head[def.id].set(def, item{key: key, row: row, rev: tx.rev})
	if !had {
		old = item{key: key}
	}
	tx.undo = append(tx.undo, undo{def, old})
}

func (tx *Txn) delete(def *tableDef, key string) bool {
	old, had := tx.head[def.id].unset(def, key)
	if had {
		tx.undo = append(tx.undo, undo{def, old})
	}
	return had
}

// rollback restores the head, newest write first.
func (tx *Txn) rollback() {
	for _, u := range slices.Backward(tx.undo) {
		if u.old.row == nil {
			tx.head[u.def.id].unset(u.def, u.old.key)
		} else {
			tx.head[u.def.id].set(u.def, u.old)
		}
	}
	tx.undo = nil
}

// changes are the net changes, one per row in the order of the first write to
// it. A row that came and went is none.
func (tx *Txn) changes() []Change {
	type place struct {
		table int
		key   string
	}
	seen := make(map[place]struct{}, len(tx.undo))
	changes := make([]Change, 0, len(tx.undo))
	for _, u := range tx.undo {
		if len(tx.undo) > 1 {
			p := place{u.def.id, u.old.key}
			if _, again := seen[p]; again {
				continue
			}
			seen[p] = struct{}{}
		}
		now, _ := tx.head[u.def.id].rows.Get(item{key: u.old.key})
		if u.old.row == nil && now.row == nil {
			continue
		}
		changes = append(changes, Change{Table: u.def.name, Key: u.old.key, Old: u.old.row, New: now.row, def: u.def})
	}
	return changes
}

// set stores the item and keeps the indexes; an index is touched only when the
// row's values for it changed.
func (ts tableState) set(def *tableDef, it item) (old item, had bool) {
	old, had = ts.rows.Set(it)
	for i, ix := range def.indexes {
		now := ix.values(it.row)
		if !had {
			ts.indexes[i].add(it.key, now)
			continue
		}
		before := ix.values(old.row)
		if !slices.Equal(before, now) {
			ts.indexes[i].remove(it.key, before)
			ts.indexes[i].add(it.key, now)
		}
	}
	return old, had
}

func (ts tableState) unset(def *tableDef, key string) (old item, had bool) {
	old, had = ts.rows.Delete(item{key: key})
	if had {
		for i, ix := range def.indexes {
			ts.indexes[i].remove(key, ix.values(old.row))
		}
	}
	return old, had
}

func (is indexState) add(key string, values []string) {
	for _, v := range values {
		if _, dup := is.entries.Set(entry{v, key}); !dup {
			c, _ := is.counts.Get(count{value: v})
			is.counts.Set(count{v, c.n + 1})
		}
	}
}

func (is indexState) remove(key string, values []string) {
	for _, v := range values {
		if _, had := is.entries.Delete(entry{v, key}); had {
			c, _ := is.counts.Get(count{value: v})
			if c.n > 1 {
				is.counts.Set(count{v, c.n - 1})
			} else {
				is.counts.Delete(count{value: v})
			}
		}
	}
}
