package store

import (
	"context"
	"sync"
)

// View is an immutable state of the store at a revision.
type View struct {
	state []tableState
	rev   Revision
}

// Revision is the view's revision.
func (v *View) Revision() Revision { return v.rev }

func (v *View) tables() []tableState { return v.state }

// Store is the state with its log. All methods may be called concurrently.
type Store struct {
	schema *Schema

	mu   sync.Mutex // guards head, view, subs
	head []tableState
	view *View
	subs map[*Subscription]struct{}
}

// OpenMemory is a store whose log is only memory: each Update commits at once.
func OpenMemory(schema *Schema) *Store {
	s := &Store{schema: schema, subs: map[*Subscription]struct{}{}}
	for _, def := range schema.tables {
		s.head = append(s.head, newTableState(def))
	}
	s.view = &View{state: copyState(s.head)}
	return s
}

func copyState(state []tableState) []tableState {
	c := make([]tableState, len(state))
	for i, ts := range state {
		c[i] = ts.copy()
	}
	return c
}

// View is the latest committed state.
func (s *Store) View() *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

// Update runs fn in a transaction and returns when it is committed. An error of
// fn undoes the transaction and is returned as it is. A transaction that changed
// nothing returns the revision it read.
func (s *Store) Update(ctx context.Context, fn func(*Txn) error) (Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &Txn{head: s.head, prev: s.view.rev, rev: s.view.rev + 1}
	if err := fn(tx); err != nil {
		tx.rollback()
		return 0, err
	}
	if len(tx.undo) == 0 {
		return tx.prev, nil
	}
	s.view = &View{state: copyState(s.head), rev: tx.rev}
	topics := map[Topic]struct{}{}
	for _, u := range tx.undo {
		if u.def.topics == nil {
			continue
		}
		if u.old.row != nil {
			for _, t := range u.def.topics(u.old.row) {
				topics[t] = struct{}{}
			}
		}
		if it, ok := s.head[u.def.id].rows.Get(item{key: u.old.key}); ok {
			for _, t := range u.def.topics(it.row) {
				topics[t] = struct{}{}
			}
		}
	}
	for sub := range s.subs {
		sub.wake(topics)
	}
	return tx.rev, nil
}
