package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// put2 writes the same age into two rows; half of it must never be seen.
func (z *zoo) put2(s *Store, name string, age int) error {
	_, err := s.Update(context.Background(), func(tx *Txn) error {
		z.pets.Put(tx, pet{Name: name + "/left", Age: age})
		z.pets.Put(tx, pet{Name: name + "/right", Age: age})
		return nil
	})
	return err
}

// fate is what an Update promised about its write.
type fate int

const (
	applied fate = iota + 1
	notApplied
	unknown
)

func fateOf(t interface{ Fatalf(string, ...any) }, err error) fate {
	var notLeader *NotLeaderError
	switch {
	case err == nil:
		return applied
	case errors.Is(err, ErrNotApplied), errors.As(err, &notLeader):
		return notApplied
	case errors.Is(err, ErrUnknown):
		return unknown
	}
	t.Fatalf("an error without a promise: %v", err)
	return 0
}

// check compares the promise with the state.
func (z *zoo) keeps(t interface{ Errorf(string, ...any) }, v *View, name string, age int, f fate) {
	left, _ := z.pets.Get(v, name+"/left")
	right, _ := z.pets.Get(v, name+"/right")
	if left.Age != right.Age {
		t.Errorf("%s: half a transaction: %d and %d", name, left.Age, right.Age)
	}
	if f == applied && left.Age != age || f == notApplied && left.Age == age {
		t.Errorf("%s: promised %d, age %d, the state has %d", name, f, age, left.Age)
	}
}

var someFault = rapid.Custom(func(t *rapid.T) Fault {
	return Fault{Kind: FaultKind(rapid.IntRange(0, int(numFaultKinds)-1).Draw(t, "fault"))}
})

// Whatever the log does, an acknowledged write is there, a refused one is not,
// and one of unknown outcome is there wholly or not at all, on all servers, and
// after a rebuild.
//
// Invariant: D1, D2, D3.
func TestPromisesHoldUnderFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := newZoo()
		c := NewMemoryCluster("a", "b")
		stores := map[string]*Store{"a": reopen(t, z, c.Log("a")), "b": reopen(t, z, c.Log("b"))}
		leader := "a"
		c.Elect(leader)
		fates, n := map[string]fate{}, 0
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				n++
				name := fmt.Sprint("pet", n)
				fates[name] = fateOf(rt, z.put2(stores[leader], name, n))
				if fates[name] == applied {
					z.keeps(rt, stores[leader].View(), name, n, applied)
				}
			},
			"fault": func(rt *rapid.T) { c.Log(leader).Inject(someFault.Draw(rt, "fault")) },
			"elect": func(rt *rapid.T) {
				leader = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "leader")
				c.Elect(leader)
			},
			"restart": func(rt *rapid.T) {
				stores["b"] = reopen(t, z, c.Restart("b"))
				leader = "a"
				c.Elect(leader)
			},
		})
		c.Elect("a")
		if string(image(rt, stores["a"].View())) != string(image(rt, stores["b"].View())) {
			rt.Error("the servers differ")
		}
		for i := range n {
			name := fmt.Sprint("pet", i+1)
			z.keeps(rt, stores["b"].View(), name, i+1, fates[name])
		}
		if err := stores["a"].View().Check(); err != nil {
			rt.Error(err)
		}
	})
}

// The same with many callers at once, whose transactions share groups.
func TestPromisesHoldUnderFaultsForGroups(t *testing.T) {
	z := newZoo()
	s, c := memoryStore(t, z)
	const callers, each = 8, 200
	var mu sync.Mutex
	var last [callers]struct {
		age  int
		fate fate
	}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			name := fmt.Sprint("pet", i)
			for age := 1; age <= each; age++ {
				if i == 0 && age%5 == 0 {
					c.Log("a").Inject(Fault{Kind: FaultKind(age / 5 % int(numFaultKinds))})
				}
				f := fateOf(t, z.put2(s, name, age))
				mu.Lock()
				last[i].age, last[i].fate = age, f
				mu.Unlock()
				if f == applied {
					z.keeps(t, s.View(), name, age, applied)
				}
				if i == 0 && !s.Leadership().Leading {
					c.Elect("a")
				}
			}
		})
	}
	wg.Wait()
	c.Elect("a")
	before := string(image(t, s.View()))
	for i := range callers {
		z.keeps(t, s.View(), fmt.Sprint("pet", i), last[i].age, last[i].fate)
	}
	s = reopen(t, z, c.Restart("a"))
	if string(image(t, s.View())) != before {
		t.Error("the rebuilt state differs")
	}
}

// hold makes the next entry wait until release is called.
func hold(l *MemoryLog, kind FaultKind) (release func()) {
	until := make(chan struct{})
	l.Inject(Fault{Kind: kind, Until: until})
	return func() { close(until) }
}

func TestNobodySeesWhatIsNotCommitted(t *testing.T) {
	z := newZoo()
	s, c := memoryStore(t, z)
	release := hold(c.Log("a"), FaultRefused)
	errs := make(chan error, 2)
	ran := make(chan struct{})
	go func() {
		_, err := s.Update(t.Context(), func(tx *Txn) error {
			z.pets.Put(tx, pet{Name: "rex"})
			close(ran)
			return nil
		})
		errs <- err
	}()
	<-ran
	exists := errors.New("rex exists")
	saw := make(chan bool, 1)
	go func() {
		_, err := s.Update(t.Context(), func(tx *Txn) error {
			saw <- z.pets.Has(tx, "rex")
			return exists
		})
		errs <- err
	}()
	if !<-saw {
		t.Error("the second transaction does not see the first, which is before it")
	}
	if z.pets.Has(s.View(), "rex") {
		t.Error("a reader sees what is not committed")
	}
	select {
	case err := <-errs:
		t.Errorf("an answer before the commit: %v", err)
	default:
	}
	release()
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrNotApplied) {
			t.Errorf("answer %v, want not applied: both depend on a write that failed", err)
		}
	}
	z.put(t, s, pet{Name: "tom"})
	if z.pets.Has(s.View(), "rex") || s.View().Revision() != 1 {
		t.Errorf("revision %d, pets %v", s.View().Revision(), z.names(s.View()))
	}
}

func TestWhileOneGroupIsInFlightTheNextAccumulates(t *testing.T) {
	z := newZoo()
	s, c := memoryStore(t, z)
	release := hold(c.Log("a"), 0)
	ran := make(chan struct{}, 10)
	var wg sync.WaitGroup
	update := func(name string) {
		wg.Go(func() {
			if _, err := s.Update(t.Context(), func(tx *Txn) error {
				z.pets.Put(tx, pet{Name: name})
				ran <- struct{}{}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		<-ran
	}
	for i := range 10 {
		update(fmt.Sprint(i))
	}
	release()
	wg.Wait()
	c.mu.Lock()
	entries := len(c.entries)
	c.mu.Unlock()
	if entries != 2 {
		t.Errorf("%d entries for 10 transactions, want 2: the one in flight and one for the rest", entries)
	}
	if s.View().Revision() != 10 || z.pets.Len(s.View()) != 10 {
		t.Errorf("revision %d with %d pets", s.View().Revision(), z.pets.Len(s.View()))
	}
}

func TestAnEntryThatComesLateIsFenced(t *testing.T) {
	z := newZoo()
	s, c := memoryStore(t, z)
	z.put(t, s, pet{Name: "rex"})
	v := s.View()
	c.Log("a").Inject(Fault{Kind: FaultLate})
	if err := z.put2(s, "late", 1); !errors.Is(err, ErrUnknown) {
		t.Fatalf("answer %v", err)
	}
	stale := c.late[0]
	z.put(t, s, pet{Name: "tom"})
	if s.View().Revision() != v.Revision()+2 || !z.pets.Has(s.View(), "late/left") {
		t.Errorf("revision %d: the write after a barrier must continue the late one", s.View().Revision())
	}
	c.mu.Lock()
	err := c.commit(stale, c.leader)
	c.mu.Unlock()
	if !errors.Is(err, ErrNotApplied) {
		t.Errorf("an entry that does not continue the state: %v", err)
	}
	c.Log("a").Inject(Fault{Kind: FaultLate})
	if err := z.put2(s, "later", 1); !errors.Is(err, ErrUnknown) {
		t.Fatalf("answer %v", err)
	}
	c.mu.Lock()
	later := c.late[0]
	c.late = nil
	wrong := c.commit(memoryEntry{later.epoch + 1, later.data}, c.leader)
	right := c.commit(later, c.leader)
	c.mu.Unlock()
	if !errors.Is(wrong, ErrNotApplied) || right != nil {
		t.Errorf("an entry committed in another epoch than its own: %v, in its own: %v", wrong, right)
	}
}
