package raftlog

import (
	"io"
	"sync/atomic"

	"drover/keep/store"

	"github.com/hashicorp/raft"
)

// fsm is the machine as raft drives it; it measures when a snapshot is due.
type fsm struct {
	machine store.Machine
	least   int64
	due     chan struct{}
	since   atomic.Int64          // bytes of entries since the last snapshot
	last    atomic.Int64          // size of the last snapshot
	refused atomic.Pointer[error] // of a snapshot that could not be restored
	applied atomic.Uint64         // index of the last entry given to the machine
}

func newFSM(m store.Machine, least int64) *fsm {
	return &fsm{machine: m, least: least, due: make(chan struct{}, 1)}
}

// Apply implements raft.FSM. What the machine had from the same log before it was
// opened anew is passed over.
func (f *fsm) Apply(e *raft.Log) any {
	if e.Index <= f.applied.Load() {
		return nil
	}
	err := f.machine.Apply(e.Term, e.Data)
	f.applied.Store(e.Index)
	if f.since.Add(int64(len(e.Data))) > max(f.least, f.last.Load()) {
		select {
		case f.due <- struct{}{}:
		default:
		}
	}
	return err
}

// Snapshot implements raft.FSM.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	return &snapshot{fsm: f, state: f.machine.Snapshot(), since: f.since.Load()}, nil
}

// Restore implements raft.FSM.
func (f *fsm) Restore(r io.ReadCloser) error {
	err := f.machine.Restore(r)
	if err != nil {
		f.refused.Store(&err)
	}
	return err
}

type snapshot struct {
	fsm   *fsm
	state io.WriterTo
	since int64
}

// Persist implements raft.FSMSnapshot.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	n, err := s.state.WriteTo(sink)
	if err != nil {
		return err
	}
	s.fsm.last.Store(n)
	s.fsm.since.Add(-s.since)
	return nil
}

// Release implements raft.FSMSnapshot.
func (s *snapshot) Release() {}

// takeSnapshots takes one whenever it is due, until stop. One that fails is tried
// again when the log has grown further.
func (l *Log) takeSnapshots() {
	for {
		select {
		case <-l.stop:
			return
		case <-l.fsm.due:
			if err := l.node().Snapshot().Error(); err != nil {
				l.cfg.Logger.Warn("no snapshot was taken", "err", err)
			}
		}
	}
}
