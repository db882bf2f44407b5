package raftlog

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"drover/keep/store"
	"drover/noun/fault"
)

// three are three servers with a store on each.
type three struct {
	*servers
	schema *store.Schema
	rows   *store.Table[row]
	stores []*store.Store
}

func newThree(t *testing.T) *three {
	b := &three{servers: newServers(t, 3).(*servers), stores: make([]*store.Store, 3)}
	b.patient = 0
	b.schema, b.rows = newTable(1)
	for i := range b.stores {
		b.start(t, i)
	}
	t.Cleanup(func() {
		for _, s := range b.stores {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

func (b *three) start(t *testing.T, i int) {
	t.Helper()
	s, err := store.Open(store.Config{Schema: b.schema, Log: b.Open(t, i), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	b.stores[i] = s
}

func (b *three) stop(t *testing.T, i int) {
	t.Helper()
	if err := b.stores[i].Close(); err != nil {
		t.Fatal(err)
	}
}

// leader waits for a leader and returns its number.
func (b *three) leader(t *testing.T) int {
	t.Helper()
	for {
		for i, s := range b.stores {
			if s.Leadership().Leading {
				return i
			}
		}
		select {
		case <-b.stores[0].LeadershipChanged():
		case <-b.stores[1].LeadershipChanged():
		case <-b.stores[2].LeadershipChanged():
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("nobody leads")
		}
	}
}

// put writes until whoever leads acknowledges it.
func (b *three) put(t *testing.T, r row) {
	t.Helper()
	for {
		_, err := b.stores[b.leader(t)].Update(t.Context(), func(tx *store.Txn) error { b.rows.Put(tx, r); return nil })
		if err == nil {
			return
		}
		if !fault.Is(err, fault.Unavailable) {
			t.Fatal(err)
		}
	}
}

// Invariant: D1.
func TestAnotherServerTakesOver(t *testing.T) {
	b := newThree(t)
	for round := range 3 {
		for i := range 20 {
			b.put(t, row{Key: fmt.Sprintf("%d/%d", round, i)})
		}
		old := b.leader(t)
		b.stop(t, old)
		next := b.leader(t)
		if got := b.rows.Len(b.stores[next].View()); got != 20*(round+1) {
			t.Errorf("round %d: the next leader has %d rows", round, got)
		}
		b.start(t, old)
	}
}

// A leader without followers can commit nothing and says so; what it was asked
// meanwhile happens wholly or not at all.
//
// Invariant: D2, D4.
func TestALeaderWithoutFollowersCommitsNothing(t *testing.T) {
	b := newThree(t)
	b.put(t, row{Key: "before"})
	leader := b.leader(t)
	s := b.stores[leader]
	others := []int{(leader + 1) % 3, (leader + 2) % 3}
	for _, i := range others {
		b.stop(t, i)
	}
	_, err := s.Update(t.Context(), func(tx *store.Txn) error {
		b.rows.Put(tx, row{Key: "alone/left"})
		b.rows.Put(tx, row{Key: "alone/right"})
		return nil
	})
	var notLeader *store.NotLeaderError
	if !errors.Is(err, store.ErrUnknown) && !errors.As(err, &notLeader) {
		t.Errorf("a write: %v, want an unknown outcome, or that leadership was lost before", err)
	}
	if b.rows.Has(s.View(), "alone/left") {
		t.Error("a reader sees what is not committed")
	}
	for changed := s.LeadershipChanged(); s.Leadership().Leading; changed = s.LeadershipChanged() {
		<-changed
	}
	if _, err := s.Fresh(t.Context()); !errors.As(err, &notLeader) {
		t.Errorf("a fresh read: %v", err)
	}
	for _, i := range others {
		b.start(t, i)
	}
	b.put(t, row{Key: "after"})
	v := b.stores[b.leader(t)].View()
	if !b.rows.Has(v, "before") || b.rows.Has(v, "alone/left") != b.rows.Has(v, "alone/right") {
		t.Errorf("left %v, right %v", b.rows.Has(v, "alone/left"), b.rows.Has(v, "alone/right"))
	}
}

// Calls under way when the store closes get an answer, and it is true.
func TestCloseAnswersWhoWrites(t *testing.T) {
	schema, rows := newTable(1)
	dir := t.TempDir()
	for round := range 20 {
		s, _ := opened(t, alone(dir), schema)
		acknowledged := make([]int, 4)
		begun := make(chan struct{}, len(acknowledged))
		var callers sync.WaitGroup
		for c := range acknowledged {
			callers.Go(func() {
				for i := 1; ; i++ {
					_, err := s.Update(t.Context(), func(tx *store.Txn) error {
						rows.Put(tx, row{Key: fmt.Sprintf("%d/%d/%d", round, c, i)})
						return nil
					})
					if err != nil {
						return
					}
					if acknowledged[c] = i; i == 3 {
						begun <- struct{}{}
					}
				}
			})
		}
		for range acknowledged {
			<-begun
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		callers.Wait()
		s, _ = opened(t, alone(dir), schema)
		for c, n := range acknowledged {
			if !rows.Has(s.View(), fmt.Sprintf("%d/%d/%d", round, c, n)) {
				t.Errorf("round %d: write %d of caller %d was acknowledged and is gone", round, n, c)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
