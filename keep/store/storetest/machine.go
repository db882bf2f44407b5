package storetest

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"drover/keep/store"
)

// errRefused is the answer of a recorder to an entry that begins with "refuse".
var errRefused = errors.New("refused")

// recorder is a machine that remembers what it was given. Its state is the
// entries, one a line.
type recorder struct {
	mu       sync.Mutex
	cond     *sync.Cond
	entries  []string
	epochs   []uint64
	restored int // entries that came by a snapshot
	lead     store.Leadership
	atLead   int // entries applied when this server began to lead
}

func newRecorder() *recorder {
	r := &recorder{}
	r.cond = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) Apply(epoch uint64, entry []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.HasPrefix(string(entry), "refuse") {
		return errRefused
	}
	r.entries, r.epochs = append(r.entries, string(entry)), append(r.epochs, epoch)
	r.cond.Broadcast()
	return nil
}

func (r *recorder) Snapshot() io.WriterTo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.NewReader(strings.Join(r.entries, "\n"))
}

func (r *recorder) Restore(from io.Reader) error {
	b, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = strings.Split(string(b), "\n")
	r.restored = len(r.entries)
	r.cond.Broadcast()
	return nil
}

func (r *recorder) Lead(l store.Leadership) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lead = l; l.Leading {
		r.atLead = len(r.entries)
	}
	r.cond.Broadcast()
}

func (r *recorder) Versions() map[string]uint8 { return map[string]uint8{"line": 1} }

// until waits for a state of the recorder and returns who leads then.
func (r *recorder) until(t *testing.T, what string, ok func() bool) store.Leadership {
	t.Helper()
	stop := t.Context().Done()
	woken := make(chan struct{})
	defer close(woken)
	go func() {
		select {
		case <-stop:
			r.cond.Broadcast()
		case <-woken:
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !ok() {
		if t.Context().Err() != nil {
			t.Fatalf("waited in vain for %s", what)
		}
		r.cond.Wait()
	}
	return r.lead
}

func (r *recorder) untilLeading(t *testing.T) store.Leadership {
	t.Helper()
	return r.until(t, "leadership", func() bool { return r.lead.Leading })
}

func (r *recorder) untilApplied(t *testing.T, n int) {
	t.Helper()
	r.until(t, "entries", func() bool { return len(r.entries) >= n })
}

func (r *recorder) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries)
}
