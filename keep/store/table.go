package store

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"github.com/tidwall/btree"
)

// Revision counts the transactions that changed something: dense, starting at
// 1, equal on all servers. 0 is the empty store.
type Revision uint64

// Topic is a wake-up key: "cell/c0", "unit/<model>/blog/0". A commit wakes the
// subscriptions that hold a topic of one of its rows.
type Topic string

// Schema lists the tables of a store. It is complete before Open and constant
// afterwards; packages add their tables to a schema they are given.
type Schema struct {
	tables []*tableDef
	byName map[string]int

	requests       *Table[request]
	requestsByTime *Index[request]
}

// NewSchema is a schema with the store's own tables only.
func NewSchema() *Schema {
	s := &Schema{byName: map[string]int{}}
	addSystemTables(s)
	return s
}

type tableDef struct {
	id      int
	name    string
	version uint8
	key     func(row any) string
	topics  func(row any) []Topic
	encode  func(into *bytes.Buffer, row any) error
	decode  func(version uint8, data []byte) (any, error)
	indexes []*indexDef
}

type indexDef struct {
	slot   int // position among the table's indexes
	name   string
	values func(row any) []string
}

// Table is a typed set of rows with a unique key. Methods that read take any
// Reader; methods that write take the transaction.
type Table[R any] struct {
	def *tableDef
}

// Def describes a table. Version is that of the row's encoding: a row of a newer
// version than the program's is refused at start, an undecodable one goes into
// quarantine. Topics may be nil.
type Def[R any] struct {
	Name    string
	Version uint8
	Key     func(*R) string
	Topics  func(*R) []Topic
}

// Add adds a table to the schema. It panics on a duplicate name: that is a
// mistake of the program.
func Add[R any](s *Schema, d Def[R]) *Table[R] {
	if _, dup := s.byName[d.Name]; dup {
		panic(fmt.Sprintf("store: table %q added twice", d.Name)) //nolint:forbidigo // the program's schema is wrong
	}
	def := &tableDef{
		id:      len(s.tables),
		name:    d.Name,
		version: d.Version,
		key:     func(row any) string { return d.Key(row.(*R)) },
		encode:  encodeRow,
		decode: func(version uint8, data []byte) (any, error) {
			row := new(R)
			if err := decodeRow(version, data, row); err != nil {
				return nil, err
			}
			return row, nil
		},
	}
	if d.Topics != nil {
		def.topics = func(row any) []Topic { return d.Topics(row.(*R)) }
	}
	s.byName[d.Name] = def.id
	s.tables = append(s.tables, def)
	return &Table[R]{def: def}
}

// Index finds rows by a derived value; a row may have several values or none.
type Index[R any] struct {
	table *Table[R]
	def   *indexDef
}

// AddIndex adds an index before the store is opened.
func (t *Table[R]) AddIndex(name string, values func(*R) []string) *Index[R] {
	def := &indexDef{slot: len(t.def.indexes), name: name, values: func(row any) []string { return values(row.(*R)) }}
	t.def.indexes = append(t.def.indexes, def)
	return &Index[R]{table: t, def: def}
}

// Name is the table's name, as changes carry it.
func (t *Table[R]) Name() string { return t.def.name }

// Reader is something to read tables from: a *View or a *Txn.
type Reader interface {
	// Revision is the revision that is read: of the View, or of the last
	// transaction before this Txn.
	Revision() Revision
	tables() []tableState
}

type item struct {
	key string
	row any // *R
	rev Revision
}

type entry struct{ value, key string }

type count struct {
	value string
	n     int
}

type tableState struct {
	rows    *btree.BTreeG[item]
	indexes []indexState
}

type indexState struct {
	entries *btree.BTreeG[entry]
	counts  *btree.BTreeG[count]
}

func newTableState(def *tableDef) tableState {
	opts := btree.Options{NoLocks: true}
	ts := tableState{rows: btree.NewBTreeGOptions(func(a, b item) bool { return a.key < b.key }, opts)}
	for range def.indexes {
		ts.indexes = append(ts.indexes, indexState{
			entries: btree.NewBTreeGOptions(func(a, b entry) bool {
				if a.value != b.value {
					return a.value < b.value
				}
				return a.key < b.key
			}, opts),
			counts: btree.NewBTreeGOptions(func(a, b count) bool { return a.value < b.value }, opts),
		})
	}
	return ts
}

func (ts tableState) copy() tableState {
	c := tableState{rows: ts.rows.Copy(), indexes: make([]indexState, len(ts.indexes))}
	for i, ix := range ts.indexes {
		c.indexes[i] = indexState{entries: ix.entries.Copy(), counts: ix.counts.Copy()}
	}
	return c
}

// Get is the row with the key.
func (t *Table[R]) Get(r Reader, key string) (R, bool) {
	it, ok := r.tables()[t.def.id].rows.Get(item{key: key})
	if !ok {
		var zero R
		return zero, false
	}
	return *it.row.(*R), true
}

// Has reports whether a row with the key exists.
func (t *Table[R]) Has(r Reader, key string) bool {
	_, ok := r.tables()[t.def.id].rows.Get(item{key: key})
	return ok
}

// RevisionOf is the revision of the row's last change; 0 without such a row.
func (t *Table[R]) RevisionOf(r Reader, key string) Revision {
	it, _ := r.tables()[t.def.id].rows.Get(item{key: key})
	return it.rev
}

// Len is the number of rows.
func (t *Table[R]) Len(r Reader) int { return r.tables()[t.def.id].rows.Len() }

// All are the rows in the order of their keys. In a transaction, collect them
// before you write to the same table.
func (t *Table[R]) All(r Reader) iter.Seq[R] { return t.Prefix(r, "") }

// Prefix are the rows whose key begins with the prefix, in the order of keys. In
// a transaction, collect them before you write to the same table.
func (t *Table[R]) Prefix(r Reader, prefix string) iter.Seq[R] {
	return func(yield func(R) bool) {
		r.tables()[t.def.id].rows.Ascend(item{key: prefix}, func(it item) bool {
			return strings.HasPrefix(it.key, prefix) && yield(*it.row.(*R))
		})
	}
}

// After are the rows whose key is greater than the key, in the order of keys.
func (t *Table[R]) After(r Reader, key string) iter.Seq[R] {
	return func(yield func(R) bool) {
		r.tables()[t.def.id].rows.Ascend(item{key: key}, func(it item) bool {
			return it.key == key || yield(*it.row.(*R))
		})
	}
}

// Rows are the rows with the index value, in the order of their keys. In a
// transaction, collect them before you write to the same table.
func (ix *Index[R]) Rows(r Reader, value string) iter.Seq[R] {
	return func(yield func(R) bool) {
		ts := r.tables()[ix.table.def.id]
		ts.indexes[ix.def.slot].entries.Ascend(entry{value: value}, func(e entry) bool {
			if e.value != value {
				return false
			}
			it, _ := ts.rows.Get(item{key: e.key})
			return yield(*it.row.(*R))
		})
	}
}

// Keys are the keys of the rows with the index value, in order.
func (ix *Index[R]) Keys(r Reader, value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		r.tables()[ix.table.def.id].indexes[ix.def.slot].entries.Ascend(entry{value: value}, func(e entry) bool {
			return e.value == value && yield(e.key)
		})
	}
}

// Count is the number of rows with the index value, without visiting them.
func (ix *Index[R]) Count(r Reader, value string) int {
	c, _ := r.tables()[ix.table.def.id].indexes[ix.def.slot].counts.Get(count{value: value})
	return c.n
}

// Put inserts the row, or replaces the one with its key.
func (t *Table[R]) Put(tx *Txn, row R) { tx.put(t.def, &row) }

// Delete removes the row with the key and reports whether there was one.
func (t *Table[R]) Delete(tx *Txn, key string) bool { return tx.delete(t.def, key) }
