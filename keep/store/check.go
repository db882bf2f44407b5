package store

import (
	"fmt"
	"slices"
	"strings"
)

func (e entry) compare(o entry) int {
	if c := strings.Compare(e.value, o.value); c != 0 {
		return c
	}
	return strings.Compare(e.key, o.key)
}

// Check reports whether every index, with its counts, equals a rebuild from the
// rows, every row stands under its own key, and no row is newer than the view.
// Invariant: it never returns an error for a view of a store.
func (v *View) Check() error {
	for i, def := range v.schema.tables {
		if err := v.checkRows(def, v.state[i]); err != nil {
			return fmt.Errorf("table %s: %w", def.name, err)
		}
		want := v.state[i].withoutIndexes(def)
		want.buildIndexes(def)
		for j, ix := range def.indexes {
			got := v.state[i].indexes[j]
			if !slices.Equal(got.entries.Items(), want.indexes[j].entries.Items()) {
				return fmt.Errorf("table %s: index %s has %d entries, a rebuild %d, or others", def.name, ix.name,
					got.entries.Len(), want.indexes[j].entries.Len())
			}
			if !slices.Equal(got.counts.Items(), want.indexes[j].counts.Items()) {
				return fmt.Errorf("table %s: the counts of index %s differ from a rebuild", def.name, ix.name)
			}
		}
	}
	return nil
}

func (v *View) checkRows(def *tableDef, ts tableState) (err error) {
	ts.rows.Scan(func(it item) bool {
		switch {
		case def.key(it.row) != it.key:
			err = fmt.Errorf("row %q stands under key %q", def.key(it.row), it.key)
		case it.rev > v.rev || it.rev == 0:
			err = fmt.Errorf("row %q has revision %d in a view of %d", it.key, it.rev, v.rev)
		}
		return err == nil
	})
	return err
}
