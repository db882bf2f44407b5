package raftlog

import (
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"

	"drover/keep/store"
	"drover/keep/store/raftlog/disk"
	"drover/keep/store/raftlog/disk/forgetful"
	"drover/noun/fault"
)

// narrow is a disk on which room can end.
type narrow struct {
	disk.FS
	free   atomic.Uint64
	broken atomic.Bool // no new file finds room
}

func (n *narrow) Free(string) (uint64, error) { return n.free.Load(), nil }

func (n *narrow) Create(name string) (disk.File, error) {
	if n.broken.Load() {
		return nil, syscall.ENOSPC
	}
	return n.FS.Create(name)
}

func TestWritesWaitForRoomOnTheDisk(t *testing.T) {
	d := &narrow{FS: forgetful.New(rand.New(rand.NewPCG(1, 1)))}
	d.free.Store(1 << 40)
	cfg := onForgetful(d)
	schema, rows := newTable(1)
	s, l := opened(t, cfg, schema)
	put(t, s, rows, row{Key: "before"})
	write := func() error {
		_, err := s.Update(t.Context(), func(tx *store.Txn) error {
			rows.Put(tx, row{Key: "during", Data: make([]byte, 500)})
			return nil
		})
		return err
	}
	d.free.Store(1 << 20)
	if err := write(); !fault.Is(err, fault.ResourceExhausted) {
		t.Errorf("with the disk nearly full: %v", err)
	}
	d.free.Store(1 << 40)
	d.broken.Store(true)
	before := l.node().CurrentTerm()
	for write() == nil {
	}
	d.free.Store(0)
	if !rows.Has(s.View(), "before") {
		t.Error("a full disk stops reading")
	}
	d.broken.Store(false)
	d.free.Store(1 << 40)
	for write() != nil {
		if t.Context().Err() != nil || s.Ready(t.Context()) != nil {
			t.Fatal("writes do not work again")
		}
	}
	if changes := l.node().CurrentTerm() - before; changes >= 5 {
		t.Errorf("%d changes of term", changes)
	}
}
