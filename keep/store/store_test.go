package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pet struct {
	Name  string   `cbor:"1,keyasint"`
	Owner string   `cbor:"2,keyasint,omitempty"`
	Tags  []string `cbor:"3,keyasint,omitempty"`
	Age   int      `cbor:"4,keyasint,omitempty"`
}

type zoo struct {
	schema  *Schema
	pets    *Table[pet]
	byOwner *Index[pet]
	byTag   *Index[pet]
}

func newZoo() *zoo {
	z := &zoo{schema: NewSchema()}
	z.pets = Add(z.schema, Def[pet]{
		Name: "pet", Version: 1,
		Key:    func(p *pet) string { return p.Name },
		Topics: func(p *pet) []Topic { return []Topic{Topic("pet/" + p.Name), Topic("owner/" + p.Owner)} },
	})
	z.byOwner = z.pets.AddIndex("owner", func(p *pet) []string { return []string{p.Owner} })
	z.byTag = z.pets.AddIndex("tag", func(p *pet) []string { return p.Tags })
	return z
}

func (z *zoo) put(t testing.TB, s *Store, pets ...pet) Revision {
	t.Helper()
	rev, err := s.Update(t.Context(), func(tx *Txn) error {
		for _, p := range pets {
			z.pets.Put(tx, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func (z *zoo) names(r Reader) []string {
	var names []string
	for p := range z.pets.All(r) {
		names = append(names, p.Name)
	}
	return names
}

func TestAFailedTransactionLeavesNothing(t *testing.T) {
	z := newZoo()
	s := OpenMemory(z.schema)
	z.put(t, s, pet{Name: "rex", Owner: "ann"}, pet{Name: "tom", Owner: "bob"})
	before := s.View()
	no := errors.New("no")
	_, err := s.Update(t.Context(), func(tx *Txn) error {
		z.pets.Put(tx, pet{Name: "rex", Owner: "bob"})
		z.pets.Delete(tx, "tom")
		z.pets.Put(tx, pet{Name: "kit"})
		if got := z.names(tx); !slices.Equal(got, []string{"kit", "rex"}) {
			t.Errorf("the transaction sees %v", got)
		}
		return no
	})
	if !errors.Is(err, no) {
		t.Errorf("error %v, want the function's own", err)
	}
	after := s.View()
	if after.Revision() != before.Revision() || !slices.Equal(z.names(after), []string{"rex", "tom"}) {
		t.Errorf("revision %d, pets %v", after.Revision(), z.names(after))
	}
	if n := z.byOwner.Count(after, "bob"); n != 1 {
		t.Errorf("bob has %d pets, want 1", n)
	}
	if err := after.Check(); err != nil {
		t.Error(err)
	}
}

func TestAPanicUndoesAndLeavesTheStoreUsable(t *testing.T) {
	z := newZoo()
	s := OpenMemory(z.schema)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = s.Update(t.Context(), func(tx *Txn) error {
			z.pets.Put(tx, pet{Name: "rex"})
			panic("boom")
		})
	}()
	if rev := z.put(t, s, pet{Name: "tom"}); rev != 1 {
		t.Errorf("revision %d after the panic, want 1", rev)
	}
	if got := z.names(s.View()); !slices.Equal(got, []string{"tom"}) {
		t.Errorf("pets %v", got)
	}
}

func TestRevisionsAreDenseAndCountOnlyChanges(t *testing.T) {
	z := newZoo()
	s := OpenMemory(z.schema)
	for i := range 3 {
		if rev := z.put(t, s, pet{Name: fmt.Sprint(i)}); rev != Revision(i+1) {
			t.Errorf("revision %d, want %d", rev, i+1)
		}
	}
	rev, err := s.Update(t.Context(), func(tx *Txn) error {
		z.pets.Put(tx, pet{Name: "came"})
		z.pets.Delete(tx, "came")
		return nil
	})
	if err != nil || rev != 3 {
		t.Errorf("a transaction without net change: revision %d, %v", rev, err)
	}
	if rev := z.put(t, s, pet{Name: "0", Age: 1}); rev != 4 || z.pets.RevisionOf(s.View(), "0") != 4 {
		t.Errorf("revision %d, the row's %d, want 4", rev, z.pets.RevisionOf(s.View(), "0"))
	}
}
