package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a store needs.
type Config struct {
	Schema *Schema
	Log    Log              // the store starts and closes it
	Now    func() time.Time // stamps change sets and request ids

	RetainSets  int // change sets kept for feeds; 0: 65,536
	RetainBytes int // their encoded size; 0: 64 MiB
}

// Store is the state with its log. All methods may be called concurrently.
type Store struct {
	schema *Schema
	log    Log
	now    func() time.Time
	ring   ring
	done   chan struct{} // closed by Close

	write sync.Mutex // guards head and forked; held while a transaction runs
	room  sync.Cond  // on write: the open group was sealed or dropped
	head  *head      // nil until a transaction needs one
	epoch uint64     // of the latest head

	view atomic.Pointer[View] // of the state as applied; nil while it must be made

	mu          sync.Mutex // guards the rest; taken after write, never the other way
	rev         Revision   // as applied
	latest      *View      // the latest view made
	applied     []tableState
	dirty       []bool // tables of applied that changed since latest; nil when applied is
	quarantine  *quarantine
	proposed    map[proposal]*group
	subs        map[*Subscription]struct{}
	feeds       map[*Feed]struct{}
	leadership  Leadership
	reign       *reign
	changed     chan struct{}
	closedState bool
}

// Open starts a store on its log. It returns when the log delivers; see Ready.
func Open(cfg Config) (*Store, error) {
	if cfg.Schema == nil || cfg.Log == nil || cfg.Now == nil {
		return nil, fmt.Errorf("store: Config needs Schema, Log and Now")
	}
	s := &Store{
		schema:   cfg.Schema,
		log:      cfg.Log,
		now:      cfg.Now,
		done:     make(chan struct{}),
		proposed: map[proposal]*group{},
		subs:     map[*Subscription]struct{}{},
		feeds:    map[*Feed]struct{}{},
		changed:  make(chan struct{}),
	}
	s.ring.maxSets, s.ring.maxBytes = orDefault(cfg.RetainSets, 1<<16), orDefault(cfg.RetainBytes, 64<<20)
	s.room.L = &s.write
	s.setView(newView(cfg.Schema))
	if err := cfg.Log.Start(machine{s}); err != nil {
		return nil, err
	}
	return s, nil
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

// OpenMemory is a store on a log of its own in memory that leads at once and
// never fails. An Update that nobody else contends with commits on the caller's
// goroutine. Change sets carry the wall clock's time: who needs another clock
// calls Open with NewMemoryLog.
func OpenMemory(schema *Schema) *Store {
	return must(Open(Config{Schema: schema, Log: NewMemoryLog(), Now: time.Now}))
}

// Close stops the log and refuses every later write. Reads go on.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closedState {
		s.mu.Unlock()
		return nil
	}
	s.closedState = true
	close(s.done)
	s.mu.Unlock()
	s.lead(Leadership{})
	return s.log.Close()
}

// View is an immutable state of the store at a revision.
type View struct {
	schema     *Schema
	state      []tableState
	rev        Revision
	quarantine *quarantine // nil: empty
}

func newView(schema *Schema) *View {
	v := &View{schema: schema}
	for _, def := range schema.tables {
		v.state = append(v.state, newTableState(def))
	}
	return v
}

// Revision is the view's revision.
func (v *View) Revision() Revision { return v.rev }

func (v *View) tables() []tableState { return v.state }

// View is the latest committed state.
func (s *Store) View() *View {
	if v := s.view.Load(); v != nil {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.viewLocked()
}

// viewLocked makes the view of what was applied, if there is none yet. The
// caller holds mu.
func (s *Store) viewLocked() *View {
	if v := s.view.Load(); v != nil {
		return v
	}
	s.setView(&View{
		schema:     s.schema,
		state:      copyDirty(s.latest.state, s.applied, s.dirty),
		rev:        s.rev,
		quarantine: s.quarantine,
	})
	clear(s.dirty)
	return s.latest
}

// setView makes v the latest state. The caller holds mu.
func (s *Store) setView(v *View) {
	s.latest, s.rev, s.quarantine = v, v.rev, v.quarantine
	s.view.Store(v)
}

func copyState(state []tableState) []tableState {
	c := make([]tableState, len(state))
	for i, ts := range state {
		c[i] = ts.copy()
	}
	return c
}

// copyDirty is before with the tables that are dirty replaced by copies of now.
func copyDirty(before, now []tableState, dirty []bool) []tableState {
	c := make([]tableState, len(before))
	copy(c, before)
	for i, d := range dirty {
		if d {
			c[i] = now[i].copy()
		}
	}
	return c
}
