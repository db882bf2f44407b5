package store

import (
	"bytes"

	"drover/noun/when"
)

// head is the state on which the leader of an epoch runs transactions. It is
// ahead of what is committed by the group in flight and the open one. The first
// failure of a group drops it, with everything that built on that group.
type head struct {
	epoch      uint64
	tables     []tableState
	dirty      []bool // since sealed
	sealed     []tableState
	rev        Revision
	seq        uint64
	scratch    bytes.Buffer
	open       *group // takes transactions; nil or not empty
	flying     *group // was handed to the log
	committing bool   // a goroutine has the task to commit groups
	dropped    bool
}

// group is a sequence of transactions that commit together, in one entry.
type group struct {
	done  chan struct{} // closed when the outcome is known
	err   error         // the outcome; read after done
	baton chan struct{} // whoever receives commits the group
	id    proposal
	entry []byte
	sets  []*ChangeSet
	view  *View // the head when the group was sealed
}

// groupBytes is the size at which a group takes no more transactions.
const groupBytes = 1 << 20

func (h *head) tail() *group {
	if h.open != nil {
		return h.open
	}
	return h.flying
}

func (h *head) full() bool { return h.open != nil && len(h.open.entry) >= groupBytes }

// add encodes the changes of a transaction into the open group.
func (h *head) add(at when.Instant, changes []Change) error {
	g := h.open
	if g == nil {
		h.seq++
		g = &group{
			done:  make(chan struct{}),
			baton: make(chan struct{}, 1),
			id:    proposal{h.epoch, h.rev, h.seq},
			entry: make([]byte, headerSize, 512),
		}
	}
	before := len(g.entry)
	entry, err := appendTransaction(g.entry, &h.scratch, at, changes)
	if err != nil {
		return err
	}
	if len(entry)-before > maxTransaction {
		return tooLarge(len(entry) - before)
	}
	h.rev++
	g.entry = entry
	g.sets = append(g.sets, &ChangeSet{Revision: h.rev, At: at, Changes: changes, size: len(entry) - before})
	for _, c := range changes {
		h.dirty[c.def.id] = true
	}
	h.open = g
	return nil
}

// seal closes the open group, to be handed to the log.
func (h *head) seal(schema *Schema) {
	g := h.open
	h.open, h.flying = nil, g
	putHeader(g.entry, g.id, len(g.sets))
	h.sealed = copyDirty(h.sealed, h.tables, h.dirty)
	clear(h.dirty)
	g.view = &View{schema: schema, state: h.sealed, rev: h.rev}
}

func (g *group) finish(err error) {
	g.err = err
	close(g.done)
}
