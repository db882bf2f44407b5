package store

import (
	"iter"
	"slices"

	"github.com/tidwall/btree"
)

// Quarantined is a row that this program cannot read. It is kept raw, through
// snapshots, until a write replaces it or a program that can read it restores it.
type Quarantined struct {
	Table    string
	Key      string
	Reason   string
	Revision Revision
	Version  uint8 // of the encoding
	Data     []byte
}

// Quarantined are the rows that cannot be read, by table and key.
func (v *View) Quarantined() iter.Seq[Quarantined] {
	return func(yield func(Quarantined) bool) {
		if v.quarantine != nil {
			v.quarantine.Scan(yield)
		}
	}
}

func byTableAndKey(a, b Quarantined) bool {
	if a.Table != b.Table {
		return a.Table < b.Table
	}
	return a.Key < b.Key
}

// quarantine is a persistent set: a change makes a new one. nil is empty.
type quarantine = btree.BTreeG[Quarantined]

func confine(q *quarantine, d delta, rev Revision, reason string) *quarantine {
	if q == nil {
		q = btree.NewBTreeGOptions(byTableAndKey, btree.Options{NoLocks: true})
	} else {
		q = q.Copy()
	}
	q.Set(Quarantined{d.table, d.key, reason, rev, d.version, slices.Clone(d.data)})
	return q
}

func release(q *quarantine, table, key string) *quarantine {
	if q == nil {
		return nil
	}
	row := Quarantined{Table: table, Key: key}
	if _, ok := q.Get(row); !ok {
		return q
	}
	if q.Len() == 1 {
		return nil
	}
	q = q.Copy()
	q.Delete(row)
	return q
}
