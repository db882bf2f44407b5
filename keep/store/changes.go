package store

import (
	"context"
	"sync"

	"drover/noun/when"
)

// ChangeSet is what one committed transaction changed. It is immutable.
type ChangeSet struct {
	Revision Revision
	At       when.Instant // the leader's clock when the transaction ran
	Changes  []Change     // one per row, in the order of the first write to it

	size int
}

// Change is the change of one row. Old and New are pointers to the table's row
// type, nil for absence; nothing may be written through them.
type Change struct {
	Table string
	Key   string
	Old   any
	New   any

	def *tableDef
}

// Rows gives the old and the new row of a change of this table; ok is false for
// a change of another table. A nil pointer means absence.
func (t *Table[R]) Rows(c Change) (old, now *R, ok bool) {
	if c.Table != t.def.name {
		return nil, nil, false
	}
	old, _ = c.Old.(*R)
	now, _ = c.New.(*R)
	return old, now, true
}

// Feed reads committed change sets in order, without a gap. It keeps no copies:
// a reader that is slow beyond what the store retains gets ErrCompacted. One
// goroutine reads a feed.
type Feed struct {
	store *Store
	next  Revision
	c     chan struct{}
}

// Changes is the feed of the change sets after the revision, usually that of a
// View. It must be closed.
func (s *Store) Changes(from Revision) *Feed {
	f := &Feed{store: s, next: from + 1, c: make(chan struct{}, 1)}
	f.c <- struct{}{}
	s.mu.Lock()
	s.feeds[f] = struct{}{}
	s.mu.Unlock()
	return f
}

// C receives when Next may have something. It is never closed.
func (f *Feed) C() <-chan struct{} { return f.c }

// Next is the next change set, or nil when there is none yet. It never blocks.
// After ErrCompacted the feed is of no use any more.
func (f *Feed) Next() (*ChangeSet, error) {
	set, first := f.store.ring.at(f.next)
	switch {
	case set != nil:
		f.next++
		return set, nil
	case f.next < first:
		return nil, compacted(f.next-1, first)
	}
	return nil, nil
}

// Wait is the next change set, as soon as there is one.
func (f *Feed) Wait(ctx context.Context) (*ChangeSet, error) {
	for {
		set, err := f.Next()
		if set != nil || err != nil {
			return set, err
		}
		select {
		case <-f.c:
		case <-f.store.done:
			return nil, Closed()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close ends the feed.
func (f *Feed) Close() {
	f.store.mu.Lock()
	delete(f.store.feeds, f)
	f.store.mu.Unlock()
}

func (f *Feed) wake() {
	select {
	case f.c <- struct{}{}:
	default:
	}
}

// ring retains the latest change sets, bounded by count and by encoded bytes.
type ring struct {
	maxSets, maxBytes int

	mu    sync.RWMutex // guards the rest
	sets  []*ChangeSet // of dense revisions; the head of the array is cut off lazily
	start int          // index of the oldest one retained
	bytes int
	last  Revision
}

// at is the change set of the revision, and the oldest revision retained: that
// of the next change when nothing is.
func (r *ring) at(rev Revision) (set *ChangeSet, first Revision) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	kept := Revision(len(r.sets) - r.start)
	first = r.last + 1 - kept
	if rev < first || rev > r.last {
		return nil, first
	}
	return r.sets[r.start+int(rev-first)], first
}

func (r *ring) add(sets ...*ChangeSet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, set := range sets {
		r.sets = append(r.sets, set)
		r.bytes += set.size
		r.last = set.Revision
	}
	for len(r.sets)-r.start > r.maxSets || r.bytes > r.maxBytes && len(r.sets)-r.start > 1 {
		r.bytes -= r.sets[r.start].size
		r.sets[r.start] = nil
		r.start++
	}
	if r.start > len(r.sets)/2 {
		r.sets = append([]*ChangeSet(nil), r.sets[r.start:]...)
		r.start = 0
	}
}

// reset forgets everything up to the revision.
func (r *ring) reset(to Revision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sets, r.start, r.bytes, r.last = nil, 0, 0, to
}
