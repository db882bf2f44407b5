package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"drover/keep/store"
)

// Store runs the store's promises over clusters that the function makes.
func Store(t *testing.T, newCluster func(t *testing.T, servers int) Cluster) {
	for _, c := range []struct {
		name    string
		servers int
		run     func(*testing.T, *storeBench)
	}{
		{"all servers come to the same bytes and the same changes", 3, sameEverywhere},
		{"acknowledged writes survive a change of leader, and revisions go on", 3, writesSurviveLeader},
		{"a feed goes on at another server after the leader changed", 3, feedGoesOn},
		{"a request is answered once, also by the next leader", 3, onceAcrossLeaders},
		{"a deposed leader neither writes nor answers a fresh read", 3, deposedIsSilent},
		{"a restart rebuilds the same state from the log", 1, restartRebuilds},
		{"a restart rebuilds the same state from a snapshot and the log", 1, restartRebuildsFromSnapshot},
		{"many callers lose no write", 1, noLostWrite},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &storeBench{Cluster: newCluster(t, c.servers), garden: newGarden()}
			for i := range c.servers {
				b.stores = append(b.stores, nil)
				b.open(t, i)
			}
			t.Cleanup(func() {
				for _, s := range b.stores {
					if err := s.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				}
			})
			c.run(t, b)
		})
	}
}

// plant is the row of the suite's only table.
type plant struct {
	Name   string            `cbor:"1,keyasint"`
	Bed    string            `cbor:"2,keyasint,omitempty"`
	Height int               `cbor:"3,keyasint,omitempty"`
	Notes  map[string]string `cbor:"4,keyasint,omitempty"`
}

type garden struct {
	schema *store.Schema
	plants *store.Table[plant]
	byBed  *store.Index[plant]
}

func newGarden() *garden {
	g := &garden{schema: store.NewSchema()}
	g.plants = store.Add(g.schema, store.Def[plant]{
		Name: "plant", Version: 1,
		Key:    func(p *plant) string { return p.Name },
		Topics: func(p *plant) []store.Topic { return []store.Topic{store.Topic("bed/" + p.Bed)} },
	})
	g.byBed = g.plants.AddIndex("bed", func(p *plant) []string { return []string{p.Bed} })
	return g
}

type storeBench struct {
	Cluster
	*garden
	stores []*store.Store
}

func (b *storeBench) open(t *testing.T, i int) {
	t.Helper()
	s, err := store.Open(store.Config{Schema: b.schema, Log: b.Cluster.Open(t, i), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	b.stores[i] = s
}

// leader makes a server lead and returns its store when it can write.
func (b *storeBench) leader(t *testing.T, i int) *store.Store {
	t.Helper()
	b.Elect(t, i)
	for {
		changed := b.stores[i].LeadershipChanged()
		if b.stores[i].Leadership().Leading {
			return b.stores[i]
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("the server does not lead")
		}
	}
}

func (b *storeBench) put(t *testing.T, s *store.Store, plants ...plant) store.Revision {
	t.Helper()
	rev, err := s.Update(t.Context(), func(tx *store.Txn) error {
		for _, p := range plants {
			b.plants.Put(tx, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

// follow reads the feed up to the revision.
func follow(t *testing.T, s *store.Store, from, to store.Revision) []*store.ChangeSet {
	t.Helper()
	f := s.Changes(from)
	defer f.Close()
	var sets []*store.ChangeSet
	for from < to {
		set, err := f.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		from++
		if set.Revision != from {
			t.Fatalf("change set %d comes where %d should", set.Revision, from)
		}
		sets = append(sets, set)
	}
	return sets
}

// image is the store's state at the revision or later, as bytes.
func image(t *testing.T, s *store.Store, rev store.Revision) string {
	t.Helper()
	follow(t, s, s.View().Revision(), rev)
	v := s.View()
	if err := v.Check(); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if _, err := v.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// some makes a few transactions of each kind.
func (b *storeBench) some(t *testing.T, s *store.Store) store.Revision {
	t.Helper()
	b.put(t, s, plant{Name: "rose", Bed: "south", Notes: map[string]string{"color": "red", "thorns": "yes"}}, plant{Name: "fern", Bed: "north"})
	for i := range 10 {
		b.put(t, s, plant{Name: fmt.Sprintf("tulip/%d", i), Bed: "south", Height: i})
	}
	rev, err := s.Update(t.Context(), func(tx *store.Txn) error {
		b.plants.Delete(tx, "fern")
		b.plants.Put(tx, plant{Name: "rose", Bed: "north"})
		b.plants.Put(tx, plant{Name: "rose", Bed: "east"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func sameEverywhere(t *testing.T, b *storeBench) {
	rev := b.some(t, b.leader(t, 0))
	want := image(t, b.stores[0], rev)
	changes := describe(b, follow(t, b.stores[0], 0, rev))
	for i, s := range b.stores[1:] {
		if got := describe(b, follow(t, s, 0, rev)); got != changes {
			t.Errorf("the changes at server %d:\n%s\nat the leader:\n%s", i+1, got, changes)
		}
		if image(t, s, rev) != want {
			t.Errorf("server %d has other bytes than the leader", i+1)
		}
	}
}

func describe(b *storeBench, sets []*store.ChangeSet) string {
	var out bytes.Buffer
	for _, set := range sets {
		for _, c := range set.Changes {
			old, now, _ := b.plants.Rows(c)
			fmt.Fprintf(&out, "%d %v %s: %+v -> %+v\n", set.Revision, set.At, c.Key, deref(old), deref(now))
		}
	}
	return out.String()
}

func deref(p *plant) any {
	if p == nil {
		return "none"
	}
	return *p
}

func writesSurviveLeader(t *testing.T, b *storeBench) {
	rev := b.some(t, b.leader(t, 0))
	before := image(t, b.stores[0], rev)
	next := b.leader(t, 1)
	if got := image(t, next, rev); got != before {
		t.Error("the new leader begins with another state")
	}
	if got := b.put(t, next, plant{Name: "oak"}); got != rev+1 {
		t.Errorf("revision %d after %d", got, rev)
	}
	for i, s := range b.stores {
		image(t, s, rev+1)
		if !b.plants.Has(s.View(), "oak") {
			t.Errorf("server %d has no oak", i)
		}
	}
}

func feedGoesOn(t *testing.T, b *storeBench) {
	rev := b.some(t, b.leader(t, 0))
	follow(t, b.stores[0], 0, rev)
	b.put(t, b.leader(t, 2), plant{Name: "oak"})
	sets := follow(t, b.stores[1], rev, rev+1)
	if _, now, _ := b.plants.Rows(sets[0].Changes[0]); now == nil || now.Name != "oak" {
		t.Errorf("the feed goes on with %+v", sets[0].Changes)
	}
}

func onceAcrossLeaders(t *testing.T, b *storeBench) {
	runs := 0
	plantOak := func(tx *store.Txn) ([]byte, error) {
		runs++
		b.plants.Put(tx, plant{Name: "oak", Height: runs})
		return fmt.Appendf(nil, "run %d", runs), nil
	}
	answer, rev, err := b.leader(t, 0).Once(t.Context(), "r1", plantOak)
	if err != nil || string(answer) != "run 1" {
		t.Fatalf("answer %q, %v", answer, err)
	}
	again, sameRev, err := b.leader(t, 1).Once(t.Context(), "r1", plantOak)
	if err != nil || string(again) != "run 1" || sameRev != rev || runs != 1 {
		t.Errorf("the retry: answer %q at %d after %d runs, %v; the first %q at %d", again, sameRev, runs, err, answer, rev)
	}
}

func deposedIsSilent(t *testing.T, b *storeBench) {
	old := b.leader(t, 0)
	b.put(t, old, plant{Name: "oak"})
	if v, err := old.Fresh(t.Context()); err != nil || !b.plants.Has(v, "oak") {
		t.Fatalf("the leader's fresh read: %v", err)
	}
	b.leader(t, 1)
	for changed := old.LeadershipChanged(); old.Leadership().Leading; changed = old.LeadershipChanged() {
		<-changed
	}
	var notLeader *store.NotLeaderError
	if _, err := old.Fresh(t.Context()); !errors.As(err, &notLeader) {
		t.Errorf("a fresh read at the old leader: %v", err)
	}
	ran := false
	_, err := old.Update(t.Context(), func(tx *store.Txn) error {
		ran = true
		return nil
	})
	if !errors.As(err, &notLeader) || ran {
		t.Errorf("a write at the old leader: %v, the function ran: %v", err, ran)
	}
}

func (b *storeBench) restart(t *testing.T, i int) *store.Store {
	t.Helper()
	if err := b.stores[i].Close(); err != nil {
		t.Fatal(err)
	}
	b.open(t, i)
	return b.leader(t, i)
}

func restartRebuilds(t *testing.T, b *storeBench) {
	rev := b.some(t, b.leader(t, 0))
	before := image(t, b.stores[0], rev)
	if got := image(t, b.restart(t, 0), rev); got != before {
		t.Error("the rebuilt state differs")
	}
	if got := b.put(t, b.stores[0], plant{Name: "oak"}); got != rev+1 {
		t.Errorf("revision %d after %d", got, rev)
	}
}

func restartRebuildsFromSnapshot(t *testing.T, b *storeBench) {
	mid := b.some(t, b.leader(t, 0))
	b.Compact(t, 0)
	rev := b.put(t, b.stores[0], plant{Name: "oak"})
	before := image(t, b.stores[0], rev)
	s := b.restart(t, 0)
	if got := image(t, s, rev); got != before {
		t.Error("the rebuilt state differs")
	}
	follow(t, s, mid, rev)
	f := s.Changes(mid - 1)
	defer f.Close()
	if _, err := f.Next(); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("changes from before the snapshot: %v, want ErrCompacted", err)
	}
}

func noLostWrite(t *testing.T, b *storeBench) {
	s := b.leader(t, 0)
	b.put(t, s, plant{Name: "bamboo"})
	const callers, each = 16, 25
	seen := make([][]store.Revision, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for range each {
				rev, err := s.Update(t.Context(), func(tx *store.Txn) error {
					p, _ := b.plants.Get(tx, "bamboo")
					p.Height++
					b.plants.Put(tx, p)
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				if got := s.View().Revision(); got < rev {
					t.Errorf("the view has revision %d after %d was acknowledged", got, rev)
				}
				seen[c] = append(seen[c], rev)
			}
		})
	}
	wg.Wait()
	if p, _ := b.plants.Get(s.View(), "bamboo"); p.Height != callers*each {
		t.Errorf("height %d, want %d", p.Height, callers*each)
	}
	once := map[store.Revision]bool{}
	for _, revs := range seen {
		for _, rev := range revs {
			if once[rev] {
				t.Errorf("revision %d was given twice", rev)
			}
			once[rev] = true
		}
	}
}
