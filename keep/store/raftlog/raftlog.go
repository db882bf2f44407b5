package raftlog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"drover/keep/store"
	"drover/noun/fault"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// Log implements store.Log. When the entries since the last snapshot exceed
// Config.SnapshotBytes and that snapshot's size, a new one is taken.
type Log struct {
	cfg     Config
	machine store.Machine
	folder  *folder
	wal     *wal.WAL
	trans   raft.Transport
	raft    *raft.Raft
	fsm     *fsm

	lost     chan bool             // raft's word on our leadership
	observed chan raft.Observation // who leads, when it is not us
	stop     chan struct{}
	running  sync.WaitGroup

	// calls is shared by calls of raft that wait for an answer: raft forgets to give
	// it when it ends, so Close lets them end before.
	calls sync.RWMutex

	mu    sync.Mutex // guards the rest; held while the machine is told
	lead  store.Leadership
	over  bool   // Close was called
	reign uint64 // counts raft's notices: a notice ends what earlier ones began
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
		stop:     make(chan struct{}),
	}, nil
}

// Start implements store.Log. A folder in use or of a newer program gives a
// *fault.Error and stays as it is. A server that is alone in its cluster leads
// within milliseconds.
func (l *Log) Start(m store.Machine) (err error) {
	l.machine = m
	if l.folder, err = openFolder(l.cfg.Dir, l.cfg.Name, m.Versions()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = l.Close() // the error that matters is the first
		}
	}()
	logger := newLogger(l.cfg.Logger)
	if l.wal, err = wal.Open(l.folder.wal(), wal.WithLogger(logger), wal.WithSegmentSize(segmentBytes)); err != nil {
		return unreadable(l.cfg.Dir, err)
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(l.cfg.Dir, 1, logger)
	if err != nil {
		return unreadable(l.cfg.Dir, err)
	}
	l.fsm = newFSM(m, l.cfg.SnapshotBytes, snapshots)
	l.trans = newTransport(l.cfg, logger)
	conf := l.raftConfig()
	conf.Logger = logger
	if err := l.bootstrap(conf, snapshots); err != nil {
		return unreadable(l.cfg.Dir, err)
	}
	l.raft, err = raft.NewRaft(conf, l.fsm, l.wal, l.wal, snapshots, l.trans)
	if refused := l.fsm.refused.Load(); refused != nil {
		return *refused
	}
	if err != nil {
		return unreadable(l.cfg.Dir, err)
	}
	l.raft.RegisterObserver(raft.NewObserver(l.observed, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	}))
	l.running.Go(l.watch)
	l.running.Go(l.takeSnapshots)
	return l.hasten()
}

func unreadable(dir string, err error) error {
	return fault.New(fault.Internal, "the log in %s cannot be opened", dir).Why("%v", err).Wrap(err)
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
	conf.TrailingLogs = trailingEntries
	conf.NotifyCh = l.lost
	return conf
}

func (l *Log) bootstrap(conf *raft.Config, snapshots raft.SnapshotStore) error {
	if len(l.cfg.Servers) == 0 {
		return nil
	}
	used, err := raft.HasExistingState(l.wal, l.wal, snapshots)
	if used || err != nil {
		return err
	}
	var members raft.Configuration
	for _, s := range l.cfg.Servers {
		members.Servers = append(members.Servers, raft.Server{
			ID: raft.ServerID(s.Name), Address: raft.ServerAddress(s.Address),
		})
	}
	return raft.BootstrapCluster(conf, l.wal, l.wal, snapshots, l.trans, members)
}

// hasten lets a server that is alone stand for election at once: there is no
// leader to wait for. Raft looks at its heartbeat timer anew when the timeout is
// shortened, and finds that it never heard from one.
func (l *Log) hasten() error {
	members, err := l.Servers()
	if err != nil || len(members) != 1 || members[0].Name != l.cfg.Name {
		return err
	}
	conf := l.raft.ReloadableConfig()
	conf.HeartbeatTimeout = l.cfg.Heartbeat
	return l.raft.ReloadConfig(conf)
}

// Append implements store.Log.
func (l *Log) Append(epoch uint64, entry []byte) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.calls.RUnlock()
	if err := l.leads(epoch); err != nil {
		return err
	}
	applied := l.raft.Apply(entry, enqueueTimeout)
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
	if err := l.raft.Barrier(enqueueTimeout).Error(); err != nil {
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
	if err := l.raft.VerifyLeader().Error(); err != nil {
		return l.translate(err)
	}
	return l.leads(epoch)
}

// begin admits a call to raft, until Close. The caller unlocks calls afterwards.
func (l *Log) begin() error {
	l.calls.RLock()
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if over {
		l.calls.RUnlock()
		return store.Closed()
	}
	return nil
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
		address, name := l.raft.LeaderWithID()
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
	var errs []error
	if l.raft != nil {
		errs = append(errs, l.raft.Shutdown().Error())
	}
	l.running.Wait()
	if t, ok := l.trans.(raft.WithClose); ok {
		errs = append(errs, t.Close())
	}
	if l.wal != nil {
		errs = append(errs, l.wal.Close())
	}
	return errors.Join(append(errs, l.folder.close())...)
}

// Servers are the members of the cluster, as this server knows them.
func (l *Log) Servers() ([]Server, error) {
	f := l.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, l.translate(err)
	}
	var members []Server
	for _, s := range f.Configuration().Servers {
		members = append(members, Server{string(s.ID), string(s.Address)})
	}
	return members, nil
}

// AddServer makes a server a voting member, or changes its address. Only the
// leader can. It returns when the change is committed.
func (l *Log) AddServer(s Server) error {
	return l.change(func() raft.Future {
		return l.raft.AddVoter(raft.ServerID(s.Name), raft.ServerAddress(s.Address), 0, 0)
	})
}

// RemoveServer takes a member out of the cluster. Only the leader can.
func (l *Log) RemoveServer(name string) error {
	return l.change(func() raft.Future { return l.raft.RemoveServer(raft.ServerID(name), 0, 0) })
}

// Transfer hands leadership to another member. Only the leader can.
func (l *Log) Transfer(to Server) error {
	return l.change(func() raft.Future {
		return l.raft.LeadershipTransferToServer(raft.ServerID(to.Name), raft.ServerAddress(to.Address))
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

// mkdirs makes the folders below dir, private to the user.
func mkdirs(dir string, below ...string) error {
	for _, b := range below {
		if err := os.MkdirAll(filepath.Join(dir, b), 0o700); err != nil {
			return fmt.Errorf("make the log's folder: %w", err)
		}
	}
	return nil
}
