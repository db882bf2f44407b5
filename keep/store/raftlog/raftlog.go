package raftlog

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"drover/keep/store"

	"github.com/hashicorp/raft"
)

// Log implements store.Log. When the entries since the last snapshot exceed
// Config.SnapshotBytes and that snapshot's size, a new one is taken. When a write
// to the disk fails, what is below is closed and opened anew until it works.
type Log struct {
	cfg     Config
	machine store.Machine
	folder  *folder
	trans   raft.Transport
	fsm     *fsm
	largest atomic.Int64 // size of the largest entry so far

	lost     chan bool             // raft's word on our leadership
	observed chan raft.Observation // who leads, when it is not us
	failed   chan error            // a write to the disk failed
	stop     chan struct{}
	running  sync.WaitGroup
	mending  sync.WaitGroup

	// calls is shared by calls of raft that wait for an answer: raft forgets to give
	// it when it ends, so whoever ends it lets them end before.
	calls sync.RWMutex

	mu     sync.Mutex // guards the rest; held while the machine is told
	engine *engine    // nil before Start
	lead   store.Leadership
	over   bool   // Close was called
	broken error  // why no call is taken while the engine is opened anew
	reign  uint64 // counts raft's notices: a notice ends what earlier ones began
}

// New checks the configuration. The folder is opened by Start.
func New(cfg Config) (*Log, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Log{
		cfg:      cfg,
		lost:     make(chan bool),
		observed: make(chan raft.Observation, 16),
		failed:   make(chan error, 1),
		stop:     make(chan struct{}),
	}, nil
}

// Start implements store.Log. A folder that is in use, damaged or of a newer
// program gives a *fault.Error and stays as it is. A server that is alone in its
// cluster leads within milliseconds.
func (l *Log) Start(m store.Machine) (err error) {
	l.machine = m
	if l.folder, err = openFolder(l.cfg.fs, l.cfg.Dir, l.cfg.Name, m.Versions()); err != nil {
		return err
	}
	l.fsm = newFSM(m, l.cfg.SnapshotBytes)
	l.trans = newTransport(l.cfg, newLogger(l.cfg.Logger))
	if err := l.openEngine(); err != nil {
		_ = l.Close() // the error that matters is the first
		return unreadable(l.cfg.Dir, err)
	}
	l.running.Go(l.watch)
	l.running.Go(l.takeSnapshots)
	l.mending.Go(l.mend)
	return nil
}

func (l *Log) raftConfig() *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(l.cfg.Name)
	conf.HeartbeatTimeout = l.cfg.Heartbeat + time.Millisecond // see hasten
	conf.ElectionTimeout = conf.HeartbeatTimeout
	conf.LeaderLeaseTimeout = l.cfg.Heartbeat
	conf.MaxAppendEntries = 16
	conf.SnapshotInterval = time.Hour
	conf.SnapshotThreshold = math.MaxUint64 // takeSnapshots decides
	conf.TrailingLogs = l.cfg.trailing
	conf.NotifyCh = l.lost
	return conf
}

// Append implements store.Log. While the disk is nearly full entries are refused
// with fault.ResourceExhausted.
func (l *Log) Append(epoch uint64, entry []byte) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.calls.RUnlock()
	if err := l.leads(epoch); err != nil {
		return err
	}
	if err := l.room(len(entry)); err != nil {
		return err
	}
	applied := l.node().Apply(entry, enqueueTimeout)
	if err := applied.Error(); err != nil {
		return l.translate(err)
	}
	if answer, refused := applied.Response().(error); refused {
		return answer
	}
	return nil
}

// Barrier implements store.Log.
func (l *Log) Barrier(epoch uint64) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.calls.RUnlock()
	if err := l.leads(epoch); err != nil {
		return err
	}
	if err := l.node().Barrier(enqueueTimeout).Error(); err != nil {
		return l.translate(err)
	}
	return l.leads(epoch)
}

// Verify implements store.Log. It lasts at most as long as raft takes to see
// that leadership is lost, whatever the context says.
func (l *Log) Verify(ctx context.Context, epoch uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.begin(); err != nil {
		return err
	}
	defer l.calls.RUnlock()
	if err := l.node().VerifyLeader().Error(); err != nil {
		return l.translate(err)
	}
	return l.leads(epoch)
}

// node is raft as it is now. Callers other than begin's must bear that it ends.
func (l *Log) node() *raft.Raft {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.engine.raft
}

// begin admits a call to raft, until Close. The caller unlocks calls afterwards.
func (l *Log) begin() error {
	l.calls.RLock()
	l.mu.Lock()
	err := l.broken
	if l.over {
		err = store.Closed()
	}
	l.mu.Unlock()
	if err != nil {
		l.calls.RUnlock()
	}
	return err
}

// leads is nil if this server leads in the epoch.
func (l *Log) leads(epoch uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lead.Leading && l.lead.Epoch == epoch {
		return nil
	}
	return store.NotLeader(l.lead.Leader, l.lead.Address)
}

// translate gives raft's errors the store's meaning. What raft did not take is
// not applied; of what it took nothing is known, also if the disk failed.
func (l *Log) translate(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		address, name := l.node().LeaderWithID()
		return store.NotLeader(string(name), string(address))
	case errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return store.NotApplied("%v", err)
	}
	return store.Unknown("%v", err)
}

// Close implements store.Log. It waits for calls under way, which end at the
// latest when leadership is lost, and for everything that Start started.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.over
	l.over = true
	l.mu.Unlock()
	if again {
		return nil
	}
	l.calls.Lock()
	close(l.stop)
	l.calls.Unlock()
	l.mending.Wait()
	var errs []error
	if l.engine != nil {
		errs = append(errs, l.engine.close())
	}
	l.running.Wait()
	if t, ok := l.trans.(raft.WithClose); ok {
		errs = append(errs, t.Close())
	}
	return errors.Join(append(errs, l.folder.close())...)
}

// Servers are the members of the cluster, as this server knows them.
func (l *Log) Servers() ([]Server, error) {
	members, err := members(l.node())
	if err != nil {
		return nil, l.translate(err)
	}
	return members, nil
}

// AddServer makes a server a voting member, or changes its address. Only the
// leader can. It returns when the change is committed.
func (l *Log) AddServer(s Server) error {
	return l.change(func() raft.Future {
		return l.node().AddVoter(raft.ServerID(s.Name), raft.ServerAddress(s.Address), 0, 0)
	})
}

// RemoveServer takes a member out of the cluster. Only the leader can.
func (l *Log) RemoveServer(name string) error {
	return l.change(func() raft.Future { return l.node().RemoveServer(raft.ServerID(name), 0, 0) })
}

// Transfer hands leadership to another member. Only the leader can.
func (l *Log) Transfer(to Server) error {
	return l.change(func() raft.Future {
		return l.node().LeadershipTransferToServer(raft.ServerID(to.Name), raft.ServerAddress(to.Address))
	})
}

func (l *Log) change(ask func() raft.Future) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.calls.RUnlock()
	if err := ask().Error(); err != nil {
		return l.translate(err)
	}
	return nil
}

var _ store.Log = (*Log)(nil)
