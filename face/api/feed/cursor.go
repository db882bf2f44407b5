package feed

import (
	"errors"
	"maps"
	"slices"

	"drover/internal/pki"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// Machine names the machine of a feed.
type Machine struct {
	Model entity.ModelUID
	ID    entity.MachineID
	UID   entity.UID
	Cell  work.CellID
}

// Key is the machine's name among the leader's soft states: that of its row.
func (m Machine) Key() string { return string(m.Model) + "/" + string(m.ID) }

// MachineOf is the machine that an identity stands for, with its cell.
func MachineOf(id pki.Identity, cell work.CellID) Machine {
	return Machine{Model: entity.ModelUID(id.Model), ID: entity.MachineID(id.Machine), UID: entity.UID(id.MachineUID), Cell: cell}
}

// value is one key's value: sent again when its stamp changes.
type value struct {
	stamp string
	delta func() *droverv1.Delta
}

// part is a group of keys that change together: the topics that touch it, its
// values, and the groups that hang on it.
type part struct {
	deps     []store.Topic
	values   map[string]value
	children []group
}

// group names a part; the parts form a tree below the machine.
type group struct {
	kind string // "machine", "unit", "relation", "cell"
	unit entity.UnitName
	rel  entity.RelationID
}

// known is what the cursor remembers of a part.
type known struct {
	deps     []store.Topic
	stamps   map[string]string
	children []group
}

// Cursor is the place of one agent in the stream of changes. It is used by one
// goroutine, except for C.
type Cursor struct {
	source  *Source
	machine Machine
	sub     *store.Subscription
	parts   map[group]*known
	byTopic map[store.Topic]map[group]struct{}
	rev     store.Revision // all up to here is returned
	late    []store.Topic  // topics touched since the last view, perhaps after it
	servers string
	resume  store.Revision
	opened  bool
	began   bool
}

// Open begins a feed. With a resume revision other than 0 it goes on from there
// when the changes since are retained, otherwise with a reset. It must be
// closed.
func (s *Source) Open(m Machine, resume store.Revision) *Cursor {
	return &Cursor{
		source: s, machine: m, resume: resume,
		sub:     s.Store.Subscribe(store.Topic("feed/" + m.Key())), // never without topics: that hears all
		parts:   map[group]*known{},
		byTopic: map[store.Topic]map[group]struct{}{},
	}
}

// C receives when Poll may have something.
func (c *Cursor) C() <-chan struct{} { return c.sub.C() }

// Close ends the cursor.
func (c *Cursor) Close() { c.sub.Close() }

// Revision is the last revision whose deltas were all returned.
func (c *Cursor) Revision() store.Revision { return c.rev }

// maxDeltas bounds the deltas of one message.
const maxDeltas = 128

// Poll returns what is new since the last call, as messages to be sent in order:
// nothing when nothing is.
func (c *Cursor) Poll() []*droverv1.FeedResponse {
	if !c.opened {
		c.opened = true
		return c.begin()
	}
	if servers := c.source.serversText(); servers != c.servers {
		c.servers = servers
		c.late = append(c.late, machineTopic(c.machine))
	}
	b := &batch{cursor: c}
	before := c.rev
	if !b.advance(nil) || len(b.deltas) == 0 {
		return nil
	}
	return c.messages(before, b.deltas, false)
}

// begin computes the whole state; what is sent of it depends on the resume.
func (c *Cursor) begin() []*droverv1.FeedResponse {
	c.servers = c.source.serversText()
	b := &batch{cursor: c}
	b.advance(map[group]struct{}{{kind: "machine"}: {}, {kind: "cell"}: {}})
	if c.resume != 0 && c.resume <= b.view.Revision() {
		if deltas, ok := c.since(b.view, b.deltas); ok {
			return c.messages(c.resume, deltas, false)
		}
	}
	return c.messages(0, b.deltas, true)
}

// since keeps the deltas that the changes after the resumed revision touch, and
// adds the removals they made.
func (c *Cursor) since(view *store.View, all []*droverv1.Delta) ([]*droverv1.Delta, bool) {
	touched, err := c.source.touchedSince(c.machine, c.resume, view)
	if err != nil {
		if !errors.Is(err, store.ErrCompacted) {
			c.source.Log.Warn("cannot resume a feed", "machine", c.machine.Key(), "from", c.resume, "err", err)
		}
		return nil, false
	}
	now := map[string]bool{}
	var out []*droverv1.Delta
	for _, d := range all {
		now[d.Key] = true
	}
	for key, other := range touched.beside { // order-free: fills a set
		if now[other] {
			touched.gone[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(touched.gone)) {
		if !now[key] {
			out = append(out, &droverv1.Delta{Key: key, Value: &droverv1.Delta_Removed{Removed: true}})
		}
	}
	groups := map[group]struct{}{}
	for t := range touched.topics { // order-free: a set of groups
		maps.Copy(groups, c.byTopic[t])
	}
	groups[group{kind: "machine"}] = struct{}{} // the servers may have changed
	for g := range c.parts {                    // order-free: a set of groups
		if touched.born[g.unit] {
			groups[g] = struct{}{}
		}
	}
	keys := map[string]bool{}
	for g := range groups { // order-free: a set of keys
		for key := range c.parts[g].stamps { // order-free: a set of keys
			keys[key] = true
		}
	}
	for _, d := range all {
		if keys[d.Key] || d.GetRemoved() {
			out = append(out, d)
		}
	}
	return out, true
}

// messages packs deltas. Only the last message has the new revision and is
// synced; those before it have the one that was complete before.
func (c *Cursor) messages(before store.Revision, deltas []*droverv1.Delta, reset bool) []*droverv1.FeedResponse {
	var out []*droverv1.FeedResponse
	for chunk := range slices.Chunk(deltas, maxDeltas) {
		out = append(out, &droverv1.FeedResponse{Revision: uint64(before), Deltas: chunk})
	}
	if len(out) == 0 {
		out = append(out, &droverv1.FeedResponse{})
	}
	out[0].Reset_ = reset
	last := out[len(out)-1]
	last.Revision, last.Synced = uint64(c.rev), true
	return out
}

// listen makes the part's topics lead to it, and reports whether one is new to
// the cursor.
func (c *Cursor) listen(g group, old, deps []store.Topic) (fresh bool) {
	for _, t := range old {
		if slices.Contains(deps, t) {
			continue
		}
		delete(c.byTopic[t], g)
		if len(c.byTopic[t]) == 0 {
			delete(c.byTopic, t)
			c.sub.Forget(t)
		}
	}
	for _, t := range deps {
		if c.byTopic[t] == nil {
			c.byTopic[t] = map[group]struct{}{}
			c.sub.Listen(t)
			fresh = true
		}
		c.byTopic[t][g] = struct{}{}
	}
	return fresh
}
