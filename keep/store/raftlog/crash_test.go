package raftlog

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"drover/keep/store"
	"drover/keep/store/raftlog/disk"
	"drover/keep/store/raftlog/disk/forgetful"
)

var (
	crashes = flag.Int("crashes", 120, "how often the forgetful disk crashes")
	seed    = flag.Uint64("crash-seed", 1, "of the crashes and of what is written; goroutines stay as they like")
)

// history is what one row after another was changed to, and what of it was
// acknowledged.
type history struct {
	base map[string]string // at revision from
	from store.Revision

	mu           sync.Mutex
	made         map[store.Revision]map[string]*string // nil: deleted
	acknowledged store.Revision
}

func (h *history) add(rev store.Revision, changes map[string]*string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made[rev] = changes
	h.acknowledged = max(h.acknowledged, rev)
}

// at is the state at a revision; every one up to it must have been made.
func (h *history) at(t *testing.T, rev store.Revision) map[string]string {
	t.Helper()
	state := maps.Clone(h.base)
	for r := h.from + 1; r <= rev; r++ {
		changes, ok := h.made[r]
		if !ok {
			t.Fatalf("revision %d is there and nobody made it", r)
		}
		for key, value := range changes { // order-free: keys differ
			if value == nil {
				delete(state, key)
			} else {
				state[key] = *value
			}
		}
	}
	return state
}

// crashed is the disk after a crash, and what was acknowledged before.
type crashed struct {
	disk         *forgetful.Disk
	acknowledged store.Revision
}

// Invariant: D1, D2, D3. After every crash of the disk, of whatever kind and
// wherever, also while the log was opened after another one, all that was
// acknowledged is there, and a state that was there once, whole.
func TestAcknowledgedWritesSurviveADiskThatForgets(t *testing.T) {
	const chains = 2
	for c := range chains {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(*seed, uint64(c)))
			crashOnAndOn(t, rng, *crashes/chains)
		})
	}
}

func crashOnAndOn(t *testing.T, rng *rand.Rand, rounds int) {
	d := forgetful.New(rand.New(rand.NewPCG(rng.Uint64(), 0)))
	h := &history{base: map[string]string{}, made: map[store.Revision]map[string]*string{}}
	for round := range rounds {
		kind := []forgetful.Kind{forgetful.Killed, forgetful.Power, forgetful.Partial}[rng.IntN(3)]
		within := 40
		if rng.IntN(3) > 0 {
			within = 400
		}
		crash := make(chan crashed, 1)
		d.CrashAfter(1+rng.IntN(within), kind, func(after *forgetful.Disk) {
			h.mu.Lock()
			defer h.mu.Unlock()
			crash <- crashed{after, h.acknowledged}
		})
		after := writeUntilCrash(t, d, h, rng, crash)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
		d = after.disk
		h.acknowledged = after.acknowledged
		noteComesFirst(t, d)
	}
}

// onForgetful is a log small enough that segments and snapshots come and go.
func onForgetful(d disk.FS) Config {
	cfg := alone("/data/raft")
	cfg.fs, cfg.segmentBytes, cfg.SnapshotBytes, cfg.trailing = d, 4<<10, 6<<10, 3
	return cfg
}

// writeUntilCrash opens the log, compares it with the history, and writes from
// three callers until the crash. The store then goes on a little on a disk that
// is not there any more.
func writeUntilCrash(t *testing.T, d *forgetful.Disk, h *history, rng *rand.Rand, crash chan crashed) crashed {
	t.Helper()
	schema, rows := newTable(1)
	s, _, err := open(onForgetful(d), schema)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.compare(t, s.View(), rows)
	var callers sync.WaitGroup
	over := make(chan struct{})
	for range 3 {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		callers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					h.write(t, s, rows, own)
				}
			}
		})
	}
	after := <-crash
	close(over)
	callers.Wait()
	return after
}

// compare checks the state after a crash and makes it the base of what follows.
func (h *history) compare(t *testing.T, v *store.View, rows *store.Table[row]) {
	t.Helper()
	rev := v.Revision()
	if rev < h.acknowledged {
		t.Fatalf("revision %d after the crash, and %d was acknowledged", rev, h.acknowledged)
	}
	want, got := h.at(t, rev), map[string]string{}
	for r := range rows.All(v) {
		got[r.Key] = string(r.Data)
	}
	if !maps.Equal(got, want) {
		t.Fatalf("the state of revision %d is not what it was", rev)
	}
	if err := v.Check(); err != nil {
		t.Fatal(err)
	}
	// A crash may have come before this moment: then only what was acknowledged
	// before need be there the next time.
	h.mu.Lock()
	defer h.mu.Unlock()
	h.base, h.from = h.at(t, h.acknowledged), h.acknowledged
	maps.DeleteFunc(h.made, func(r store.Revision, _ map[string]*string) bool { return r <= h.from || r > rev })
	h.acknowledged = rev
}

// write makes a random transaction, which changes one row at least.
func (h *history) write(t *testing.T, s *store.Store, rows *store.Table[row], rng *rand.Rand) {
	changes := map[string]*string{}
	for range 1 + rng.IntN(4) {
		key := fmt.Sprintf("row %02d", rng.IntN(20))
		value := fmt.Sprintf("%d %*d", rng.Uint64(), rng.IntN(200), 0)
		if changes[key] = &value; rng.IntN(4) == 0 {
			changes[key] = nil
		}
	}
	number := fmt.Sprint(rng.Uint64())
	changes["always"] = &number
	rev, err := s.Update(context.Background(), func(tx *store.Txn) error {
		for _, key := range slices.Sorted(maps.Keys(changes)) {
			switch value := changes[key]; {
			case value != nil:
				rows.Put(tx, row{Key: key, Data: []byte(*value)})
			case rows.Has(tx, key):
				rows.Delete(tx, key)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("a write on a sound disk: %v", err)
		return
	}
	h.add(rev, changes)
}

// noteComesFirst checks that formats are on disk before what is written in them.
func noteComesFirst(t *testing.T, d *forgetful.Disk) {
	t.Helper()
	if there, err := disk.Exists(d, "/data/raft/"+metaName); err != nil || !there {
		return // of a folder that is not there yet
	}
	b, err := disk.ReadFile(d, "/data/raft/FORMAT")
	var n note
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	if err != nil || n.Tables["row"] != 1 {
		t.Fatalf("the note after a crash: %s, %v", b, err)
	}
}
