package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
)

// A snapshot is a line that names it, its format and revision, the tables, the
// quarantine, and a checksum over all of it. Rows carry their revision and the
// version of their encoding.
const snapshotMagic = "drover store snapshot\n"

const (
	sectionEnd        = 0
	sectionTable      = 1
	sectionQuarantine = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteTo writes the view as a snapshot. Equal states give equal bytes on every
// server that has no quarantine.
func (v *View) WriteTo(w io.Writer) (int64, error) {
	sw := &snapshotWriter{sum: crc32.New(castagnoli)}
	sw.w = bufio.NewWriterSize(io.MultiWriter(w, sw.sum), 64<<10)
	sw.str(snapshotMagic)
	sw.uvarint(Format)
	sw.uvarint(uint64(v.rev))
	for i, def := range v.schema.tables {
		sw.table(def, v.state[i])
	}
	if v.quarantine != nil {
		sw.quarantine(v.quarantine)
	}
	sw.uvarint(sectionEnd)
	if err := sw.flush(); err != nil {
		return sw.n, err
	}
	n, err := w.Write(binary.BigEndian.AppendUint32(nil, sw.sum.Sum32()))
	return sw.n + int64(n), err
}

// snapshotWriter writes the primitive parts; after the first error it does
// nothing.
type snapshotWriter struct {
	w       *bufio.Writer
	sum     hash.Hash32
	n       int64
	err     error
	scratch bytes.Buffer
	small   [binary.MaxVarintLen64]byte
}

func (sw *snapshotWriter) raw(b []byte) {
	if sw.err == nil {
		var n int
		n, sw.err = sw.w.Write(b)
		sw.n += int64(n)
	}
}

func (sw *snapshotWriter) str(s string) {
	if sw.err == nil {
		var n int
		n, sw.err = sw.w.WriteString(s)
		sw.n += int64(n)
	}
}

func (sw *snapshotWriter) uvarint(v uint64) {
	sw.raw(sw.small[:binary.PutUvarint(sw.small[:], v)])
}

func (sw *snapshotWriter) text(s string) {
	sw.uvarint(uint64(len(s)))
	sw.str(s)
}

func (sw *snapshotWriter) bytes(b []byte) {
	sw.uvarint(uint64(len(b)))
	sw.raw(b)
}

func (sw *snapshotWriter) flush() error {
	if sw.err == nil {
		sw.err = sw.w.Flush()
	}
	return sw.err
}

func (sw *snapshotWriter) table(def *tableDef, ts tableState) {
	sw.uvarint(sectionTable)
	sw.text(def.name)
	sw.uvarint(uint64(ts.rows.Len()))
	ts.rows.Scan(func(it item) bool {
		sw.scratch.Reset()
		if err := def.encode(&sw.scratch, it.row); err != nil && sw.err == nil {
			sw.err = err
		}
		sw.row(it.key, it.rev, def.version, sw.scratch.Bytes())
		return sw.err == nil
	})
}

func (sw *snapshotWriter) row(key string, rev Revision, version uint8, data []byte) {
	sw.text(key)
	sw.uvarint(uint64(rev))
	sw.uvarint(uint64(version))
	sw.bytes(data)
}

func (sw *snapshotWriter) quarantine(q *quarantine) {
	sw.uvarint(sectionQuarantine)
	sw.uvarint(uint64(q.Len()))
	q.Scan(func(row Quarantined) bool {
		sw.text(row.Table)
		sw.row(row.Key, row.Revision, row.Version, row.Data)
		return sw.err == nil
	})
}
