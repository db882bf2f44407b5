package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"drover/noun/when"
)

// proposal identifies an entry: the epoch, the revision it continues, and a
// number that tells two proposals of one epoch for the same place apart.
type proposal struct {
	epoch uint64
	prev  Revision
	seq   uint64
}

// An entry is a header of fixed size and the transactions, one after the other.
const headerSize = 1 + 8 + 8 + 8 + 4

func putHeader(into []byte, p proposal, transactions int) {
	into[0] = Format
	binary.BigEndian.PutUint64(into[1:], p.epoch)
	binary.BigEndian.PutUint64(into[9:], uint64(p.prev))
	binary.BigEndian.PutUint64(into[17:], p.seq)
	binary.BigEndian.PutUint32(into[25:], uint32(transactions))
}

func parseHeader(entry []byte) (p proposal, transactions int, body []byte, err error) {
	if len(entry) < headerSize {
		return p, 0, nil, fmt.Errorf("an entry of %d bytes", len(entry))
	}
	if entry[0] != Format {
		return p, 0, nil, fmt.Errorf("an entry of format %d, this program reads %d", entry[0], Format)
	}
	p.epoch = binary.BigEndian.Uint64(entry[1:])
	p.prev = Revision(binary.BigEndian.Uint64(entry[9:]))
	p.seq = binary.BigEndian.Uint64(entry[17:])
	return p, int(binary.BigEndian.Uint32(entry[25:])), entry[headerSize:], nil
}

const (
	opPut    = 1
	opDelete = 2
)

// appendTransaction adds the encoded net changes of a transaction to a body.
func appendTransaction(body []byte, scratch *bytes.Buffer, at when.Instant, changes []Change) ([]byte, error) {
	body = binary.AppendVarint(body, int64(at))
	body = binary.AppendUvarint(body, uint64(len(changes)))
	for _, c := range changes {
		if c.New == nil {
			body = appendString(append(body, opDelete), c.Table)
			body = appendString(body, c.Key)
			continue
		}
		scratch.Reset()
		if err := c.def.encode(scratch, c.New); err != nil {
			return nil, fmt.Errorf("encode %s %q: %w", c.Table, c.Key, err)
		}
		body = appendString(append(body, opPut), c.Table)
		body = appendString(body, c.Key)
		body = append(body, c.def.version)
		body = binary.AppendUvarint(body, uint64(scratch.Len()))
		body = append(body, scratch.Bytes()...)
	}
	return body, nil
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// delta is one row's change as an entry carries it; data is nil for a delete.
type delta struct {
	table   string
	key     string
	version uint8
	data    []byte
	deleted bool
}

type transaction struct {
	at     when.Instant
	deltas []delta
	size   int
}

// parseBody reads the transactions of an entry. The deltas' data share the
// body's memory.
func parseBody(body []byte, n int) ([]transaction, error) {
	c := cursor{b: body}
	txs := make([]transaction, 0, min(n, len(body)))
	for range n {
		before := len(c.b)
		tx := transaction{at: when.Instant(c.varint())}
		for range c.uvarint() {
			tx.deltas = append(tx.deltas, c.delta())
			if c.err != nil {
				return nil, c.err
			}
		}
		tx.size = before - len(c.b)
		txs = append(txs, tx)
		if c.err != nil {
			return nil, c.err
		}
	}
	if len(c.b) != 0 {
		return nil, fmt.Errorf("%d bytes after the last transaction", len(c.b))
	}
	return txs, nil
}

// cursor reads the primitive parts; after the first error it yields zeros.
type cursor struct {
	b   []byte
	err error
}

var errShort = errors.New("the entry ends too early")

func (c *cursor) fail() {
	c.b, c.err = nil, errShort
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) bytes() []byte {
	n := c.uvarint()
	if n > uint64(len(c.b)) {
		c.fail()
		return nil
	}
	b := c.b[:n:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.fail()
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *cursor) delta() delta {
	op := c.byte()
	d := delta{table: string(c.bytes()), key: string(c.bytes())}
	switch op {
	case opPut:
		d.version, d.data = c.byte(), c.bytes()
	case opDelete:
		d.deleted = true
	default:
		c.b, c.err = nil, fmt.Errorf("unknown operation %d", op)
	}
	return d
}
