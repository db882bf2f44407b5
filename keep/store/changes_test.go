package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func retaining(t *testing.T, z *zoo, sets, bytes int) *Store {
	t.Helper()
	s, err := Open(Config{
		Schema: z.schema, Log: NewMemoryLog(), RetainSets: sets, RetainBytes: bytes,
		Now: func() time.Time { return time.Unix(1000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAFeedThatFallsBehindIsToldSo(t *testing.T) {
	for _, c := range []struct {
		name        string
		sets, bytes int
		kept        int
	}{
		{"by count", 5, 1 << 20, 5},
		{"by bytes", 1 << 20, 100, 4},
		{"the latest is kept however large", 1 << 20, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := newZoo()
			s := retaining(t, z, c.sets, c.bytes)
			behind := s.Changes(0)
			defer behind.Close()
			for i := range 40 {
				z.put(t, s, pet{Name: fmt.Sprintf("%02d", i)})
			}
			if _, err := behind.Next(); !errors.Is(err, ErrCompacted) {
				t.Errorf("the feed that fell behind: %v", err)
			}
			oldest := s.Changes(Revision(40 - c.kept))
			defer oldest.Close()
			for want := Revision(40 - c.kept + 1); want <= 40; want++ {
				if set, err := oldest.Next(); err != nil || set == nil || set.Revision != want {
					t.Fatalf("change set %v, %v, want %d", set, err, want)
				}
			}
			before := s.Changes(Revision(40 - c.kept - 1))
			defer before.Close()
			if _, err := before.Next(); !errors.Is(err, ErrCompacted) {
				t.Errorf("one before the oldest kept: %v", err)
			}
		})
	}
}

func TestAFeedWaitsAndIsWoken(t *testing.T) {
	z := newZoo()
	s := OpenMemory(z.schema)
	f := s.Changes(s.View().Revision())
	defer f.Close()
	if set, err := f.Next(); set != nil || err != nil {
		t.Errorf("a feed at the end has %v, %v", set, err)
	}
	got := make(chan *ChangeSet)
	go func() {
		set, err := f.Wait(t.Context())
		if err != nil {
			t.Error(err)
		}
		got <- set
	}()
	z.put(t, s, pet{Name: "rex"})
	if set := <-got; set == nil || set.Revision != 1 || set.Changes[0].Key != "rex" {
		t.Errorf("change set %+v", set)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait without context: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Wait(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a wait on a closed store: %v", err)
	}
}

func TestWritesToOneRowAreOneChange(t *testing.T) {
	z := newZoo()
	s := OpenMemory(z.schema)
	z.put(t, s, pet{Name: "rex", Age: 1})
	_, err := s.Update(t.Context(), func(tx *Txn) error {
		z.pets.Put(tx, pet{Name: "rex", Age: 2})
		z.pets.Put(tx, pet{Name: "tom"})
		z.pets.Delete(tx, "rex")
		z.pets.Put(tx, pet{Name: "rex", Age: 3})
		z.pets.Delete(tx, "tom")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := s.Changes(1)
	defer f.Close()
	set, err := f.Next()
	if err != nil || len(set.Changes) != 1 {
		t.Fatalf("changes %+v, %v, want one", set, err)
	}
	old, now, _ := z.pets.Rows(set.Changes[0])
	if old.Age != 1 || now.Age != 3 {
		t.Errorf("from age %d to %d, want 1 to 3", old.Age, now.Age)
	}
}

func TestASubscriberIsWokenByOldAndNewTopics(t *testing.T) {
	z := newZoo()
	s := OpenMemory(z.schema)
	z.put(t, s, pet{Name: "rex", Owner: "ann"})
	ann, bob, tom, all := s.Subscribe("owner/ann"), s.Subscribe("owner/bob"), s.Subscribe("pet/tom"), s.Subscribe()
	defer ann.Close()
	defer bob.Close()
	defer tom.Close()
	z.put(t, s, pet{Name: "rex", Owner: "bob"})
	for _, c := range []struct {
		sub  *Subscription
		want []Topic
	}{
		{ann, []Topic{"owner/ann"}},
		{bob, []Topic{"owner/bob"}},
		{tom, nil},
		{all, []Topic{"owner/ann", "owner/bob", "pet/rex"}},
	} {
		got := c.sub.Take()
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("topics %v, want %v", got, c.want)
		}
		select {
		case <-c.sub.C():
			if c.want == nil {
				t.Error("woken for nothing")
			}
		default:
			if c.want != nil {
				t.Errorf("not woken for %v", c.want)
			}
		}
	}
	all.Close()
	z.put(t, s, pet{Name: "rex"})
	if got := all.Take(); len(got) != 0 {
		t.Errorf("a closed subscription heard %v", got)
	}
}

func TestASnapshotThatReplacesTheStateWakesEverybodyConcerned(t *testing.T) {
	z := newZoo()
	c := NewMemoryCluster("a", "b")
	a, b := reopen(t, z, c.Log("a")), reopen(t, z, c.Log("b"))
	c.Elect("a")
	z.put(t, a, pet{Name: "rex", Owner: "ann"})
	sub, feed := b.Subscribe("owner/ann", "owner/bob", "owner/cid"), b.Changes(b.View().Revision())
	defer sub.Close()
	defer feed.Close()
	c.Hold("b")
	z.put(t, a, pet{Name: "rex", Owner: "bob"})
	if err := c.Compact("a"); err != nil {
		t.Fatal(err)
	}
	c.Release("b")
	got := sub.Take()
	slices.Sort(got)
	if !slices.Equal(got, []Topic{"owner/ann", "owner/bob"}) {
		t.Errorf("woken for %v", got)
	}
	if _, err := feed.Next(); !errors.Is(err, ErrCompacted) {
		t.Errorf("the feed over the snapshot: %v", err)
	}
	z.put(t, a, pet{Name: "tom"})
	if string(image(t, a.View())) != string(image(t, b.View())) {
		t.Error("the servers differ")
	}
}
