package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"drover/keep/store"
)

// Cluster is a log of some servers, named by number from 0.
type Cluster interface {
	// Open is the server's log, not started. It is called again after the one
	// before was closed, and then finds what that one kept.
	Open(t *testing.T, server int) store.Log
	// Elect makes a server the leader, if it is not yet; it returns before the
	// server's machine may know. All servers are started.
	Elect(t *testing.T, server int)
	// Compact makes a started server replace its entries by a snapshot.
	Compact(t *testing.T, server int)
	// Name is the server's name.
	Name(server int) string
}

// Log runs the contract of store.Log against clusters that the function makes.
func Log(t *testing.T, newCluster func(t *testing.T, servers int) Cluster) {
	for _, c := range []struct {
		name    string
		servers int
		run     func(*testing.T, *logBench)
	}{
		{"entries are applied in order, everywhere, with their epoch", 3, entriesInOrder},
		{"the machine's refusal is the answer to its entry", 1, refusalIsTheAnswer},
		{"an entry for another epoch is not taken", 1, otherEpochIsNotTaken},
		{"a follower refuses and names the leader", 3, followerNamesLeader},
		{"a new leader has all that was committed, and the old one is deposed", 3, newLeaderHasAll},
		{"a restart delivers everything again", 1, restartDelivers},
		{"a restart after a snapshot restores it and delivers the rest", 1, restartAfterSnapshot},
		{"entries of many callers are applied once each", 1, manyCallers},
		{"a closed log takes nothing, and can be closed again", 1, closedTakesNothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &logBench{Cluster: newCluster(t, c.servers)}
			for i := range c.servers {
				b.logs, b.machines = append(b.logs, nil), append(b.machines, nil)
				b.start(t, i)
			}
			t.Cleanup(func() {
				for _, l := range b.logs {
					if err := l.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				}
			})
			c.run(t, b)
		})
	}
}

type logBench struct {
	Cluster
	logs     []store.Log
	machines []*recorder
}

func (b *logBench) start(t *testing.T, i int) {
	t.Helper()
	b.logs[i], b.machines[i] = b.Open(t, i), newRecorder()
	if err := b.logs[i].Start(b.machines[i]); err != nil {
		t.Fatal(err)
	}
}

func (b *logBench) restart(t *testing.T, i int) {
	t.Helper()
	if err := b.logs[i].Close(); err != nil {
		t.Fatal(err)
	}
	b.start(t, i)
}

// elected makes the server lead and returns its epoch.
func (b *logBench) elected(t *testing.T, i int) uint64 {
	t.Helper()
	b.Elect(t, i)
	return b.machines[i].untilLeading(t).Epoch
}

func (b *logBench) append(t *testing.T, i int, epoch uint64, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if err := b.logs[i].Append(epoch, []byte(line)); err != nil {
			t.Fatalf("append %q: %v", line, err)
		}
		if got := b.machines[i].lines(); got[len(got)-1] != line {
			t.Fatalf("%q is not applied when Append returns", line)
		}
	}
}

func (b *logBench) holds(t *testing.T, i int, want ...string) {
	t.Helper()
	b.machines[i].untilApplied(t, len(want))
	if got := b.machines[i].lines(); !slices.Equal(got, want) {
		t.Errorf("server %d has %q, want %q", i, got, want)
	}
}

func isNotLeader(err error) bool {
	var e *store.NotLeaderError
	return errors.As(err, &e)
}

func entriesInOrder(t *testing.T, b *logBench) {
	epoch := b.elected(t, 0)
	b.append(t, 0, epoch, "a", "b", "c")
	for i := range b.machines {
		b.holds(t, i, "a", "b", "c")
		if got := b.machines[i].epochs; !slices.Equal(got, []uint64{epoch, epoch, epoch}) {
			t.Errorf("server %d: epochs %v, want %d", i, got, epoch)
		}
	}
	if err := b.logs[0].Barrier(epoch); err != nil {
		t.Errorf("barrier: %v", err)
	}
	if err := b.logs[0].Verify(t.Context(), epoch); err != nil {
		t.Errorf("verify: %v", err)
	}
}

func refusalIsTheAnswer(t *testing.T, b *logBench) {
	epoch := b.elected(t, 0)
	b.append(t, 0, epoch, "a")
	if err := b.logs[0].Append(epoch, []byte("refuse me")); !errors.Is(err, errRefused) {
		t.Errorf("answer %v, want the machine's", err)
	}
	b.append(t, 0, epoch, "b")
	b.holds(t, 0, "a", "b")
}

func otherEpochIsNotTaken(t *testing.T, b *logBench) {
	epoch := b.elected(t, 0)
	for _, other := range []uint64{epoch - 1, epoch + 1} {
		if err := b.logs[0].Append(other, []byte("x")); !isNotLeader(err) {
			t.Errorf("append for epoch %d in %d: %v", other, epoch, err)
		}
		if err := b.logs[0].Barrier(other); !isNotLeader(err) {
			t.Errorf("barrier for epoch %d in %d: %v", other, epoch, err)
		}
		if err := b.logs[0].Verify(t.Context(), other); !isNotLeader(err) {
			t.Errorf("verify for epoch %d in %d: %v", other, epoch, err)
		}
	}
	b.append(t, 0, epoch, "a")
	b.holds(t, 0, "a")
}

func followerNamesLeader(t *testing.T, b *logBench) {
	epoch := b.elected(t, 1)
	m := b.machines[2]
	m.until(t, "the leader's name", func() bool { return m.lead.Leader == b.Name(1) })
	err := b.logs[2].Append(epoch, []byte("x"))
	var e *store.NotLeaderError
	if !errors.As(err, &e) || e.Leader != b.Name(1) {
		t.Errorf("a follower answers %v, want the name %s", err, b.Name(1))
	}
	if err := b.logs[2].Verify(t.Context(), epoch); !isNotLeader(err) {
		t.Errorf("a follower verifies: %v", err)
	}
}

func newLeaderHasAll(t *testing.T, b *logBench) {
	old := b.elected(t, 0)
	b.append(t, 0, old, "a", "b")
	epoch := b.elected(t, 1)
	if epoch <= old {
		t.Errorf("epoch %d after %d", epoch, old)
	}
	if got := b.machines[1].atLead; got != 2 {
		t.Errorf("the new leader had %d entries when it began, want 2", got)
	}
	m := b.machines[0]
	m.until(t, "the old leader's end", func() bool { return !m.lead.Leading })
	if err := b.logs[0].Append(old, []byte("x")); !isNotLeader(err) {
		t.Errorf("the old leader answers %v", err)
	}
	b.append(t, 1, epoch, "c")
	for i := range b.machines {
		b.holds(t, i, "a", "b", "c")
	}
}

func restartDelivers(t *testing.T, b *logBench) {
	epoch := b.elected(t, 0)
	b.append(t, 0, epoch, "a", "b")
	b.restart(t, 0)
	again := b.elected(t, 0)
	if again <= epoch {
		t.Errorf("epoch %d after %d", again, epoch)
	}
	if got := b.machines[0].atLead; got != 2 {
		t.Errorf("%d entries at the beginning of the reign, want 2", got)
	}
	b.append(t, 0, again, "c")
	b.holds(t, 0, "a", "b", "c")
	if got := b.machines[0].epochs; !slices.Equal(got, []uint64{epoch, epoch, again}) {
		t.Errorf("epochs %v, want %d twice and %d", got, epoch, again)
	}
}

func restartAfterSnapshot(t *testing.T, b *logBench) {
	epoch := b.elected(t, 0)
	b.append(t, 0, epoch, "a", "b")
	b.Compact(t, 0)
	b.append(t, 0, epoch, "c")
	b.restart(t, 0)
	b.elected(t, 0)
	b.holds(t, 0, "a", "b", "c")
	if got := b.machines[0].restored; got != 2 {
		t.Errorf("%d entries by the snapshot, want 2", got)
	}
}

func manyCallers(t *testing.T, b *logBench) {
	epoch := b.elected(t, 0)
	const callers, each = 8, 20
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				if err := b.logs[0].Append(epoch, fmt.Appendf(nil, "%d/%02d", c, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := b.machines[0].lines()
	slices.Sort(got)
	if len(got) != callers*each || len(slices.Compact(got)) != callers*each {
		t.Errorf("%d entries, or some twice, want %d", len(got), callers*each)
	}
}

func closedTakesNothing(t *testing.T, b *logBench) {
	epoch := b.elected(t, 0)
	b.append(t, 0, epoch, "a")
	for range 2 {
		if err := b.logs[0].Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.logs[0].Append(epoch, []byte("x")); err == nil {
		t.Error("a closed log took an entry")
	}
	b.holds(t, 0, "a")
}
