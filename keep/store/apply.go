package store

import (
	"bytes"
	"fmt"
	"io"
)

// machine is the store as its log sees it.
type machine struct{ s *Store }

func (m machine) Lead(l Leadership)              { m.s.lead(l) }
func (m machine) Snapshot() io.WriterTo          { return m.s.View() }
func (m machine) Restore(r io.Reader) error      { return m.s.restore(r) }
func (m machine) Versions() map[string]uint8     { return m.s.schema.versions() }
func (m machine) Apply(e uint64, b []byte) error { return m.s.apply(e, b) }

func (s *Schema) versions() map[string]uint8 {
	v := make(map[string]uint8, len(s.tables))
	for _, def := range s.tables {
		v[def.name] = def.version
	}
	return v
}

// apply takes a committed entry. One that this server proposed publishes the
// head it was made on; the rows of another are applied.
func (s *Store) apply(epoch uint64, entry []byte) error {
	id, n, body, err := parseHeader(entry)
	if err != nil {
		return NotApplied("the log holds what cannot be read: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id.epoch != epoch {
		return NotApplied("it was proposed in epoch %d and committed in %d", id.epoch, epoch)
	}
	if id.prev != s.rev {
		return NotApplied("it continues revision %d and the state has %d", id.prev, s.rev)
	}
	if g := s.proposed[id]; g != nil && bytes.Equal(g.entry, entry) {
		s.publish(g)
		return nil
	}
	txs, err := parseBody(body, n)
	if err != nil {
		return NotApplied("the log holds what cannot be read: %v", err)
	}
	s.applyRows(txs)
	return nil
}

// publish makes the state of an own group the latest. The caller holds mu.
func (s *Store) publish(g *group) {
	g.view.quarantine = s.quarantine
	for _, set := range g.sets {
		for _, c := range set.Changes {
			g.view.quarantine = release(g.view.quarantine, c.Table, c.Key)
		}
	}
	s.applied, s.dirty = nil, nil
	s.setView(g.view)
	s.announce(g.sets)
}

// applyRows applies the deltas of another server's transactions, or of replayed
// ones. The view is made when somebody asks for it. The caller holds mu.
func (s *Store) applyRows(txs []transaction) {
	if s.applied == nil {
		s.applied = copyState(s.latest.state)
		s.dirty = make([]bool, len(s.applied))
	}
	sets := make([]*ChangeSet, 0, len(txs))
	for _, tx := range txs {
		s.rev++
		set := &ChangeSet{Revision: s.rev, At: tx.at, size: tx.size}
		for _, d := range tx.deltas {
			if c, ok := s.applyDelta(d); ok {
				set.Changes = append(set.Changes, c)
			}
		}
		sets = append(sets, set)
	}
	s.view.Store(nil)
	s.announce(sets)
}

// applyDelta changes one row. What cannot be read goes into quarantine, and the
// row that it would have replaced goes.
func (s *Store) applyDelta(d delta) (c Change, changed bool) {
	s.quarantine = release(s.quarantine, d.table, d.key)
	id, known := s.schema.byName[d.table]
	if !known {
		if !d.deleted {
			s.quarantine = confine(s.quarantine, d, s.rev, "the table is unknown")
		}
		return Change{}, false
	}
	def := s.schema.tables[id]
	c = Change{Table: d.table, Key: d.key, def: def}
	if !d.deleted {
		row, err := def.read(d)
		if err != nil {
			s.quarantine = confine(s.quarantine, d, s.rev, err.Error())
		} else {
			c.New = row
		}
	}
	var old item
	if c.New != nil {
		old, _ = s.applied[id].set(def, item{key: d.key, row: c.New, rev: s.rev})
	} else {
		old, _ = s.applied[id].unset(def, d.key)
	}
	c.Old = old.row
	s.dirty[id] = true
	return c, c.Old != nil || c.New != nil
}

// read decodes a row. A panic of the table's own functions is an error too: they
// meet rows here that no program of this version wrote.
func (def *tableDef) read(d delta) (row any, err error) {
	defer func() {
		if p := recover(); p != nil {
			row, err = nil, fmt.Errorf("the row breaks its table: %v", p)
		}
	}()
	if d.version > def.version {
		return nil, fmt.Errorf("encoding version %d is newer than this program's %d", d.version, def.version)
	}
	if row, err = def.decode(d.version, d.data); err != nil {
		return nil, err
	}
	if key := def.key(row); key != d.key {
		return nil, fmt.Errorf("the row's own key is %q", key)
	}
	for _, ix := range def.indexes {
		ix.values(row)
	}
	return row, nil
}

// announce retains change sets and wakes who waits for them. The caller holds mu.
func (s *Store) announce(sets []*ChangeSet) {
	s.ring.add(sets...)
	if len(s.subs) > 0 {
		topics := map[Topic]struct{}{}
		for _, set := range sets {
			for _, c := range set.Changes {
				c.def.touch(topics, c.Old)
				c.def.touch(topics, c.New)
			}
		}
		for sub := range s.subs { // order-free: each gets the same topics
			sub.wake(topics)
		}
	}
	for f := range s.feeds { // order-free: each is only woken
		f.wake()
	}
}

// touch adds the topics of a row, if there is one.
func (def *tableDef) touch(topics map[Topic]struct{}, row any) {
	if row == nil || def.topics == nil {
		return
	}
	for _, t := range def.topics(row) {
		topics[t] = struct{}{}
	}
}
