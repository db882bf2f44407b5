package store

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"drover/noun/fault"
)

// restore replaces the state with that of a snapshot. On an error the state is
// as before. Readers of feeds that are behind get ErrCompacted.
func (s *Store) restore(r io.Reader) error {
	v, err := readSnapshot(s.schema, r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.viewLocked()
	s.applied, s.dirty = nil, nil
	s.setView(v)
	s.ring.reset(v.rev)
	topics := map[Topic]struct{}{}
	if len(s.subs) > 0 {
		before.touchAll(topics)
		v.touchAll(topics)
	}
	for sub := range s.subs { // order-free: each gets the same topics
		sub.wake(topics)
	}
	for f := range s.feeds { // order-free: each is only woken
		f.wake()
	}
	return nil
}

func (v *View) touchAll(topics map[Topic]struct{}) {
	for i, def := range v.schema.tables {
		v.state[i].rows.Scan(func(it item) bool {
			def.touch(topics, it.row)
			return true
		})
	}
}

func readSnapshot(schema *Schema, r io.Reader) (*View, error) {
	sr := &snapshotReader{r: bufio.NewReaderSize(r, 64<<10)}
	if magic := sr.raw(len(snapshotMagic)); string(magic) != snapshotMagic {
		return nil, damaged("it does not begin as one")
	}
	if format := sr.uvarint(); sr.err == nil && format > Format {
		return nil, NewerFormat("the snapshot", format)
	}
	v := newView(schema)
	v.rev = Revision(sr.uvarint())
	for sr.err == nil {
		switch section := sr.uvarint(); section {
		case sectionTable:
			sr.table(v)
		case sectionQuarantine:
			sr.quarantine(v)
		case sectionEnd:
			return v, sr.finish()
		default:
			return nil, damaged(fmt.Sprintf("unknown section %d", section))
		}
	}
	return nil, damaged(sr.err.Error())
}

func damaged(because string) error {
	return fault.New(fault.Internal, "the snapshot is damaged").Why("%s", because)
}

// NewerFormat is the error about what a newer version of the program wrote.
func NewerFormat(what string, format uint64) error {
	return fault.New(fault.Conflict, "%s was written by a newer version of drover", what).
		Why("it has format %d and this program reads up to %d", format, Format).
		Try("drover version")
}

// maxSnapshotRow bounds what a damaged length can make us allocate.
const maxSnapshotRow = 64 << 20

// snapshotReader reads the primitive parts; after the first error it yields
// zeros.
type snapshotReader struct {
	r   *bufio.Reader
	sum uint32
	err error
	one [1]byte
}

func (sr *snapshotReader) raw(n int) []byte {
	if sr.err != nil {
		return nil
	}
	b := make([]byte, n)
	if _, sr.err = io.ReadFull(sr.r, b); sr.err != nil {
		return nil
	}
	sr.sum = crc32.Update(sr.sum, castagnoli, b)
	return b
}

// ReadByte lets binary.ReadUvarint read from here.
func (sr *snapshotReader) ReadByte() (byte, error) {
	b, err := sr.r.ReadByte()
	if err == nil {
		sr.one[0] = b
		sr.sum = crc32.Update(sr.sum, castagnoli, sr.one[:])
	}
	return b, err
}

func (sr *snapshotReader) uvarint() uint64 {
	if sr.err != nil {
		return 0
	}
	v, err := binary.ReadUvarint(sr)
	if err != nil {
		sr.err = err
		return 0
	}
	return v
}

func (sr *snapshotReader) bytes() []byte {
	n := sr.uvarint()
	if n > maxSnapshotRow {
		sr.err = fmt.Errorf("a part of %d bytes", n)
		return nil
	}
	return sr.raw(int(n))
}

func (sr *snapshotReader) finish() error {
	if sr.err != nil {
		return damaged(sr.err.Error())
	}
	want := sr.sum
	if sum := sr.raw(4); sr.err != nil || binary.BigEndian.Uint32(sum) != want {
		return damaged("the checksum is wrong")
	}
	return nil
}

// row reads a row's raw form.
func (sr *snapshotReader) row(table string) (delta, Revision) {
	d := delta{table: table, key: string(sr.bytes())}
	rev := Revision(sr.uvarint())
	d.version = uint8(sr.uvarint())
	d.data = sr.bytes()
	return d, rev
}

func (sr *snapshotReader) table(v *View) {
	name := string(sr.bytes())
	id, known := v.schema.byName[name]
	if known && v.state[id].rows.Len() > 0 {
		sr.err = fmt.Errorf("table %s twice", name)
		return
	}
	for range sr.uvarint() {
		d, rev := sr.row(name)
		if sr.err != nil {
			return
		}
		v.admit(d, rev)
	}
	if known {
		v.state[id].buildIndexes(v.schema.tables[id])
	}
}

// admit takes a row of a snapshot into its table, without indexes, or into
// quarantine.
func (v *View) admit(d delta, rev Revision) {
	id, known := v.schema.byName[d.table]
	if !known {
		v.quarantine = confine(v.quarantine, d, rev, "the table is unknown")
		return
	}
	row, err := v.schema.tables[id].read(d)
	if err != nil {
		v.quarantine = confine(v.quarantine, d, rev, err.Error())
		return
	}
	v.state[id].rows.Load(item{d.key, row, rev})
}

// quarantine reads the rows that the writer could not read; this program may.
func (sr *snapshotReader) quarantine(v *View) {
	rebuild := map[int]bool{}
	for range sr.uvarint() {
		d, rev := sr.row(string(sr.bytes()))
		if sr.err != nil {
			return
		}
		v.admit(d, rev)
		if id, known := v.schema.byName[d.table]; known {
			rebuild[id] = true
		}
	}
	for id := range rebuild { // order-free: each table by itself
		v.state[id] = v.state[id].withoutIndexes(v.schema.tables[id])
		v.state[id].buildIndexes(v.schema.tables[id])
	}
}

func (ts tableState) withoutIndexes(def *tableDef) tableState {
	return tableState{rows: ts.rows, indexes: newTableState(def).indexes}
}

// buildIndexes fills empty indexes from the rows.
func (ts tableState) buildIndexes(def *tableDef) {
	for i, ix := range def.indexes {
		var entries []entry
		ts.rows.Scan(func(it item) bool {
			for _, value := range ix.values(it.row) {
				entries = append(entries, entry{value, it.key})
			}
			return true
		})
		slices.SortFunc(entries, entry.compare)
		ts.indexes[i].load(slices.Compact(entries))
	}
}

// load fills an empty index with sorted entries.
func (is indexState) load(entries []entry) {
	for i := 0; i < len(entries); {
		n := i
		for ; n < len(entries) && entries[n].value == entries[i].value; n++ {
			is.entries.Load(entries[n])
		}
		is.counts.Load(count{entries[i].value, n - i})
		i = n
	}
}
