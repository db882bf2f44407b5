package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is what the store should hold, kept in the plainest way.
type model struct {
	pets map[string]pet
	revs map[string]Revision
	rev  Revision
}

func (m *model) clone() *model { return &model{maps.Clone(m.pets), maps.Clone(m.revs), m.rev} }

// memoryStore is a store over a cluster of one that can be restarted.
func memoryStore(t testing.TB, z *zoo) (*Store, *MemoryCluster) {
	t.Helper()
	c := NewMemoryCluster("a")
	s := reopen(t, z, c.Log("a"))
	c.Elect("a")
	return s, c
}

func reopen(t testing.TB, z *zoo, l Log) *Store {
	t.Helper()
	s, err := Open(Config{Schema: z.schema, Log: l, Now: func() time.Time { return time.Unix(1000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The tables, their indexes and counts equal a map, also within transactions that
// are undone; a rebuild from the log or from a snapshot equals the memory; the
// feed folded over an earlier state gives the later one.
//
// Invariant: D3, Events.
func TestTheStoreEqualsAPlainMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := newZoo()
		s, c := memoryStore(t, z)
		m := &model{pets: map[string]pet{}, revs: map[string]Revision{}}
		base := m.clone()
		rt.Repeat(map[string]func(*rapid.T){
			"transaction": func(rt *rapid.T) { transact(rt, z, s, m) },
			"compact": func(rt *rapid.T) {
				if err := c.Compact("a"); err != nil {
					rt.Fatal(err)
				}
			},
			"restart": func(rt *rapid.T) {
				before := image(rt, s.View())
				s = reopen(t, z, c.Restart("a"))
				c.Elect("a")
				if !bytes.Equal(image(rt, s.View()), before) {
					rt.Fatal("the rebuilt state differs")
				}
			},
			"fold": func(rt *rapid.T) {
				if fold(rt, z, s, base) {
					equal(rt, z, s.View(), base)
				}
				base = m.clone()
			},
			"": func(rt *rapid.T) { equal(rt, z, s.View(), m) },
		})
	})
}

func image(t interface{ Fatal(...any) }, v *View) []byte {
	var b bytes.Buffer
	if _, err := v.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	someName  = rapid.SampledFrom([]string{"a", "b", "c", "d/1", "d/2", "d/3", "e"})
	someOwner = rapid.SampledFrom([]string{"", "ann", "bob"})
	someTags  = rapid.SliceOfN(rapid.SampledFrom([]string{"big", "old", "wild"}), 0, 4)
)

func transact(rt *rapid.T, z *zoo, s *Store, m *model) {
	after, fails := m.clone(), rapid.Bool().Draw(rt, "fails")
	no := errors.New("no")
	touched := map[string]bool{}
	rev, err := s.Update(rt.Context(), func(tx *Txn) error {
		for range rapid.IntRange(0, 6).Draw(rt, "writes") {
			name := someName.Draw(rt, "name")
			touched[name] = true
			if rapid.Bool().Draw(rt, "delete") {
				_, had := after.pets[name]
				if z.pets.Delete(tx, name) != had {
					rt.Fatalf("delete of %s did not report %v", name, had)
				}
				delete(after.pets, name)
				delete(after.revs, name)
				continue
			}
			p := pet{name, someOwner.Draw(rt, "owner"), someTags.Draw(rt, "tags"), rapid.IntRange(0, 3).Draw(rt, "age")}
			z.pets.Put(tx, p)
			after.pets[name], after.revs[name] = p, tx.Next()
		}
		equalRows(rt, z, tx, after)
		if fails {
			return no
		}
		return nil
	})
	if fails {
		if !errors.Is(err, no) {
			rt.Fatalf("error %v", err)
		}
		return
	}
	changed := false
	for name := range touched { // order-free: any
		_, had := m.pets[name]
		_, has := after.pets[name]
		changed = changed || had || has
	}
	after.rev = m.rev
	if changed {
		after.rev++
	}
	if err != nil || rev != after.rev {
		rt.Fatalf("revision %d, %v, want %d", rev, err, after.rev)
	}
	*m = *after
}

func equal(rt *rapid.T, z *zoo, v *View, m *model) {
	if v.Revision() != m.rev {
		rt.Fatalf("revision %d, want %d", v.Revision(), m.rev)
	}
	if err := v.Check(); err != nil {
		rt.Fatal(err)
	}
	equalRows(rt, z, v, m)
}

func equalRows(rt *rapid.T, z *zoo, r Reader, m *model) {
	want := slices.Sorted(maps.Keys(m.pets))
	if got := z.names(r); !slices.Equal(got, want) || z.pets.Len(r) != len(want) {
		rt.Fatalf("pets %v, want %v", got, want)
	}
	owners, tags := map[string]int{}, map[string]int{}
	for name, p := range m.pets { // order-free: sums
		got, _ := z.pets.Get(r, name)
		if fmt.Sprint(got) != fmt.Sprint(p) || z.pets.RevisionOf(r, name) != m.revs[name] {
			rt.Fatalf("%s is %v of %d, want %v of %d", name, got, z.pets.RevisionOf(r, name), p, m.revs[name])
		}
		owners[p.Owner]++
		for _, tag := range slices.Compact(slices.Sorted(slices.Values(p.Tags))) {
			tags[tag]++
		}
	}
	for _, o := range []string{"", "ann", "bob"} {
		if n := len(slices.Collect(z.byOwner.Keys(r, o))); n != owners[o] || z.byOwner.Count(r, o) != n {
			rt.Fatalf("owner %q: %d keys, count %d, want %d", o, n, z.byOwner.Count(r, o), owners[o])
		}
	}
	for _, tag := range []string{"big", "old", "wild"} {
		n := 0
		for p := range z.byTag.Rows(r, tag) {
			if !slices.Contains(p.Tags, tag) {
				rt.Fatalf("%v under tag %s", p, tag)
			}
			n++
		}
		if n != tags[tag] || z.byTag.Count(r, tag) != n {
			rt.Fatalf("tag %q: %d rows, count %d, want %d", tag, n, z.byTag.Count(r, tag), tags[tag])
		}
	}
}

// fold applies the feed to the model; false when the feed is compacted.
func fold(rt *rapid.T, z *zoo, s *Store, m *model) bool {
	f := s.Changes(m.rev)
	defer f.Close()
	for {
		set, err := f.Next()
		if errors.Is(err, ErrCompacted) {
			return false
		}
		if err != nil {
			rt.Fatal(err)
		}
		if set == nil {
			return true
		}
		if set.Revision != m.rev+1 || len(set.Changes) == 0 {
			rt.Fatalf("change set %d with %d changes after %d", set.Revision, len(set.Changes), m.rev)
		}
		m.rev = set.Revision
		for _, c := range set.Changes {
			foldChange(rt, z, m, c)
		}
	}
}

func foldChange(rt *rapid.T, z *zoo, m *model, c Change) {
	old, now, ok := z.pets.Rows(c)
	had, has := m.pets[c.Key]
	if !ok || (old != nil) != has || old != nil && fmt.Sprint(*old) != fmt.Sprint(had) {
		rt.Fatalf("change of %s from %v, the fold has %v", c.Key, old, had)
	}
	if now == nil {
		delete(m.pets, c.Key)
		delete(m.revs, c.Key)
		return
	}
	m.pets[c.Key], m.revs[c.Key] = *now, m.rev
}
