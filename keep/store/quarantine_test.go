package store

import (
	"slices"
	"testing"

	"drover/noun/fault"
)

// A program of another version: its pets are of version 2 and another shape, and
// it knows robots.
type pet2 struct {
	Name string  `cbor:"1,keyasint"`
	Wild []int   `cbor:"2,keyasint"`
	Size float64 `cbor:"9,keyasint"`
}

type lab struct {
	schema *Schema
	pets   *Table[pet2]
	robots *Table[pet]
}

func newLab(version uint8) *lab {
	l := &lab{schema: NewSchema()}
	l.pets = Add(l.schema, Def[pet2]{Name: "pet", Version: version, Key: func(p *pet2) string { return p.Name }})
	l.robots = Add(l.schema, Def[pet]{Name: "robot", Version: 1, Key: func(p *pet) string { return p.Name }})
	return l
}

func quarantined(v *View) []string {
	var rows []string
	for q := range v.Quarantined() {
		rows = append(rows, q.Table+" "+q.Key+": "+q.Reason)
	}
	return rows
}

// older returns a log in which another program wrote what the zoo cannot read,
// after a pet that it can.
func older(t *testing.T, version uint8) (*MemoryCluster, *zoo, *lab) {
	t.Helper()
	z, l := newZoo(), newLab(version)
	c := NewMemoryCluster("a")
	c.Log("a").alone = true
	z.put(t, reopen(t, z, c.Log("a")), pet{Name: "rex", Owner: "ann"}, pet{Name: "tom", Owner: "ann"})
	s := reopen(t, &zoo{schema: l.schema}, c.Restart("a"))
	_, err := s.Update(t.Context(), func(tx *Txn) error {
		l.pets.Put(tx, pet2{Name: "rex", Wild: []int{1}, Size: 2.5})
		l.robots.Put(tx, pet{Name: "r2"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, z, l
}

func TestWhatCannotBeReadIsKeptRaw(t *testing.T) {
	for _, c := range []struct {
		name    string
		version uint8
		reason  string
	}{
		{"another shape", 1, "decode row (encoding version 1): cbor: cannot unmarshal array into Go struct field store.pet.2 of type string"},
		{"a newer version", 2, "encoding version 2 is newer than this program's 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, z, l := older(t, c.version)
			want := []string{"pet rex: " + c.reason, "robot r2: the table is unknown"}

			s := reopen(t, z, cluster.Restart("a"))
			if got := quarantined(s.View()); !slices.Equal(got, want) {
				t.Errorf("from the log: %q, want %q", got, want)
			}
			if got := z.names(s.View()); !slices.Equal(got, []string{"tom"}) || z.byOwner.Count(s.View(), "ann") != 1 {
				t.Errorf("pets %v", got)
			}
			if err := cluster.Compact("a"); err != nil {
				t.Fatal(err)
			}
			s = reopen(t, z, cluster.Restart("a"))
			if got := quarantined(s.View()); !slices.Equal(got, want) {
				t.Errorf("from the snapshot: %q, want %q", got, want)
			}
			if err := cluster.Compact("a"); err != nil {
				t.Fatal(err)
			}
			other := reopen(t, &zoo{schema: l.schema}, cluster.Restart("a"))
			rex, _ := l.pets.Get(other.View(), "rex")
			if rex.Size != 2.5 || !l.robots.Has(other.View(), "r2") || l.pets.RevisionOf(other.View(), "rex") != 2 {
				t.Errorf("the other program finds %+v and %q", rex, quarantined(other.View()))
			}
		})
	}
}

func TestAWriteEndsARowsQuarantine(t *testing.T) {
	cluster, z, _ := older(t, 2)
	s := reopen(t, z, cluster.Restart("a"))
	z.put(t, s, pet{Name: "rex", Owner: "bob"})
	want := []string{"robot r2: the table is unknown"}
	if got := quarantined(s.View()); !slices.Equal(got, want) {
		t.Errorf("quarantine %q, want %q", got, want)
	}
	before := string(image(t, s.View()))
	s = reopen(t, z, cluster.Restart("a"))
	if got := quarantined(s.View()); !slices.Equal(got, want) || string(image(t, s.View())) != before {
		t.Errorf("after a rebuild: quarantine %q, or another state", got)
	}
}

func TestADamagedOrNewerSnapshotIsRefused(t *testing.T) {
	z := newZoo()
	s, c := memoryStore(t, z)
	z.put(t, s, pet{Name: "rex", Tags: []string{"big"}}, pet{Name: "tom"})
	if err := c.Compact("a"); err != nil {
		t.Fatal(err)
	}
	good := c.snapshot
	for i := range good {
		for _, bad := range [][]byte{good[:i], append(append(slices.Clone(good[:i]), good[i]^0x40), good[i+1:]...)} {
			c.snapshot = bad
			if _, err := Open(Config{Schema: z.schema, Log: c.Restart("a"), Now: s.now}); err == nil {
				t.Fatalf("damage at byte %d went unseen", i)
			}
		}
	}
	newer := slices.Clone(good)
	newer[len(snapshotMagic)] = Format + 1
	c.snapshot = newer
	_, err := Open(Config{Schema: z.schema, Log: c.Restart("a"), Now: s.now})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("a newer snapshot: %v", err)
	}
	c.snapshot = good
	s = reopen(t, z, c.Restart("a"))
	if got := z.names(s.View()); !slices.Equal(got, []string{"rex", "tom"}) {
		t.Errorf("pets %v", got)
	}
}

func FuzzEntry(f *testing.F) {
	z := newZoo()
	s, c := memoryStore(f, z)
	z.put(f, s, pet{Name: "rex", Tags: []string{"big"}}, pet{Name: "tom"})
	if _, err := s.Update(f.Context(), func(tx *Txn) error { z.pets.Delete(tx, "rex"); return nil }); err != nil {
		f.Fatal(err)
	}
	for _, e := range c.entries {
		f.Add(e.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		z := newZoo()
		s := reopen(t, z, NewMemoryCluster("a").Log("a"))
		id, n, _, err := parseHeader(data)
		if err != nil {
			return
		}
		applyErr := s.apply(id.epoch, data)
		v := s.View()
		if err := v.Check(); err != nil {
			t.Error(err)
		}
		if applyErr == nil && v.Revision() != Revision(n) || applyErr != nil && v.Revision() != 0 {
			t.Errorf("revision %d after an entry of %d: %v", v.Revision(), n, applyErr)
		}
	})
}
