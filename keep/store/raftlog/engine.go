package raftlog

import (
	"errors"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// engine is what is opened anew when the disk failed: the log on disk, and raft
// over it. The transport and the machine stay.
type engine struct {
	entries   *entries
	snapshots *snapshots
	raft      *raft.Raft
	closed    bool
}

// openEngine opens an engine and makes it the log's.
func (l *Log) openEngine() (err error) {
	e := &engine{}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	logger := newLogger(l.cfg.Logger)
	if e.snapshots, err = openSnapshots(l.cfg.fs, l.cfg.Dir); err != nil {
		return err
	}
	if e.entries, err = openEntries(l.cfg, logger, l.fail); err != nil {
		return err
	}
	conf := l.raftConfig()
	conf.Logger = logger
	if err := e.bootstrap(l, conf); err != nil {
		return err
	}
	if err := e.prepare(l, conf); err != nil {
		return err
	}
	if err := l.ignite(e, conf); err != nil {
		return err
	}
	e.raft.RegisterObserver(raft.NewObserver(l.observed, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	}))
	if err := e.hasten(l.cfg); err != nil {
		l.cfg.Logger.Warn("the first election waits for the heartbeat", "err", err)
	}
	return nil
}

// ignite starts raft. Its first word on leadership waits for mu, so it finds the
// engine in place.
func (l *Log) ignite(e *engine, conf *raft.Config) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fsm.refused.Store(nil)
	e.raft, err = raft.NewRaft(conf, l.fsm, e.entries, e.entries, e.snapshots, lasting{l.trans})
	if refused := l.fsm.refused.Load(); refused != nil {
		return *refused
	}
	if broken := e.snapshots.broken.Load(); broken != nil {
		return *broken
	}
	if err != nil {
		return err
	}
	l.engine, l.broken = e, nil
	return nil
}

func (e *engine) bootstrap(l *Log, conf *raft.Config) error {
	if len(l.cfg.Servers) == 0 {
		return nil
	}
	if err := e.forgetHalfABootstrap(); err != nil {
		return err
	}
	used, err := raft.HasExistingState(e.entries, e.entries, e.snapshots)
	if used || err != nil {
		return err
	}
	var members raft.Configuration
	for _, s := range l.cfg.Servers {
		members.Servers = append(members.Servers, raft.Server{
			ID: raft.ServerID(s.Name), Address: raft.ServerAddress(s.Address),
		})
	}
	return raft.BootstrapCluster(conf, e.entries, e.entries, e.snapshots, lasting{l.trans}, members)
}

// forgetHalfABootstrap lets a bootstrap begin again that a crash ended after raft
// had noted term 1 and before the members were in the log. Nobody voted in it.
func (e *engine) forgetHalfABootstrap() error {
	kept, err := e.snapshots.List()
	if err != nil || len(kept) > 0 || e.entries.last > 0 {
		return err
	}
	term, err := e.entries.GetUint64([]byte("CurrentTerm"))
	if err != nil || term != 1 {
		return err
	}
	vote, err := e.entries.GetUint64([]byte("LastVoteTerm"))
	if err != nil || vote != 0 {
		return err
	}
	return e.entries.SetUint64([]byte("CurrentTerm"), 0)
}

// prepare looks whether the log continues the newest snapshot, and whether the
// machine needs it.
func (e *engine) prepare(l *Log, conf *raft.Config) error {
	kept, err := e.snapshots.List()
	if err != nil {
		return err
	}
	covered := uint64(0)
	if len(kept) > 0 {
		covered = kept[0].Index
		l.fsm.last.Store(kept[0].Size)
	}
	if begin := e.entries.meta.begin(); begin > covered+1 {
		return damaged(l.cfg.Dir, filepath.Join(l.cfg.Dir, snapshotsName),
			"the log begins with entry %d, and no snapshot has those before", begin)
	}
	conf.NoSnapshotRestoreOnStart = covered <= l.fsm.applied.Load()
	return nil
}

// hasten lets a server that is alone stand for election at once: there is no
// leader to wait for. Raft looks at its heartbeat timer anew when the timeout is
// shortened, and finds that it never heard from one.
func (e *engine) hasten(cfg Config) error {
	servers, err := members(e.raft)
	if err != nil || len(servers) != 1 || servers[0].Name != cfg.Name {
		return err
	}
	conf := e.raft.ReloadableConfig()
	conf.HeartbeatTimeout = cfg.Heartbeat
	return e.raft.ReloadConfig(conf)
}

func members(r *raft.Raft) ([]Server, error) {
	f := r.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, err
	}
	var out []Server
	for _, s := range f.Configuration().Servers {
		out = append(out, Server{string(s.ID), string(s.Address)})
	}
	return out, nil
}

// close ends raft and closes the log on disk. Of an engine that was not opened it
// closes what is open.
func (e *engine) close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	var errs []error
	if e.raft != nil {
		errs = append(errs, e.raft.Shutdown().Error())
	}
	if e.entries != nil {
		errs = append(errs, e.entries.Close())
	}
	return errors.Join(errs...)
}

// lasting is a transport that stays open when raft ends.
type lasting struct{ raft.Transport }

// RequestPreVote implements raft.WithPreVote.
func (t lasting) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return t.Transport.(raft.WithPreVote).RequestPreVote(id, target, args, resp)
}
