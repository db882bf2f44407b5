// Package unitagent is the agent of one unit: it looks at the unit's disk and at
// what the cluster holds of it, asks decide/uniter what to do, and does it: runs
// hooks, enters and leaves scopes, deploys subordinates, sets its unit Dead.
//
// It decides nothing itself. It starts no loop of its own: its host calls Step,
// one at a time, and a simulation may too.
//
// Invariants: what an operation changed is in the journal, on the disk, before
// the next begins; a hook's process is in the journal before its program starts;
// a hook found pending by a later agent is ended before it counts as failed (H4,
// H6); what a hook wrote reaches the server once, in order, and only after the
// hook exited 0 (H5).
//
// Spec: 003 "Charms in action"; 004 "Unit Agent startup"; 000 "Agents".
package unitagent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"drover/decide/uniter"
	"drover/internal/loop"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/wire/droverv1"
)

// Lives are the calls that change the lives and incarnations of units.
type Lives interface {
	NewIncarnation(ctx context.Context, unit *droverv1.UnitRequest) (int, error)
	DestroyUnit(ctx context.Context, unit *droverv1.UnitRequest) error
	SetUnitDead(ctx context.Context, unit *droverv1.UnitRequest) error
	ClearResolved(ctx context.Context, unit *droverv1.UnitRequest) error
}

// Scopes are the calls about relations and what hooks wrote.
type Scopes interface {
	EnterScope(ctx context.Context, req *droverv1.ScopeRequest) error
	LeaveScope(ctx context.Context, req *droverv1.ScopeRequest) error
	CommitHook(ctx context.Context, req *droverv1.CommitHookRequest) (*droverv1.CommitHookResponse, error)
	ReadSettings(ctx context.Context, req *droverv1.ReadSettingsRequest) (map[string]string, error)
}

// Reports are the calls by which an agent says how its unit is.
type Reports interface {
	ReportUnit(ctx context.Context, req *droverv1.ReportUnitRequest) error
	SetStatus(ctx context.Context, req *droverv1.SetStatusRequest) error
}

// Deployer are the calls of whoever deployed a unit.
type Deployer interface {
	SetUnitDeployed(ctx context.Context, unit *droverv1.UnitRequest) error
	RemoveUnit(ctx context.Context, unit *droverv1.UnitRequest) error
}

// Charms fetches charm archives.
type Charms interface {
	FetchCharm(ctx context.Context, sha string) (io.ReadCloser, error)
}

// Server is what a unit's agent asks of the cluster. Errors are *fault.Error;
// Unavailable and Timeout mean that the server was not reached or its answer was
// not heard: the call may have happened, and is safe to repeat.
type Server interface {
	Lives
	Scopes
	Reports
	Deployer
	Charms
}

// Host is the machine's agent, which the unit's agent lives in.
type Host interface {
	// Look is what the cluster holds of the unit, as last heard.
	Look(unit entity.UnitName) World
	// Recall ends the agent of a subordinate and forgets its folder, its log apart.
	Recall(ctx context.Context, unit entity.UnitName) error
}

// Config is what an Agent needs. All fields are required but those with a
// default.
type Config struct {
	Unit       entity.UnitName
	UID        entity.UID
	Machine    entity.MachineID
	Dir        string // units/<tag>, an absolute path
	HookBinary string // drover-hook, or a program that behaves like it
	BinDir     string // where the drover program is: on the PATH of hooks
	Path       string // the PATH of hooks behind that; empty: the usual one
	BootID     string
	Server     Server
	Host       Host
	Lock       *Lock  // shared by the units of the machine
	Runner     Runner // nil: real processes
	Now        func() time.Time
	NewID      func() string // for context ids
	Log        *slog.Logger
	ReadWait   time.Duration // how long a hook's read waits for the server; 0: 30 s
	StopGrace  time.Duration // how long a hook may go on when the agent stops; 0: 10 s
}

// Agent is the agent of one unit. Step must not be called twice at once; the
// other methods not during Step.
type Agent struct {
	cfg      Config
	journal  Journal
	state    State
	log      *unitLog
	repaired bool
	done     bool
	reported *droverv1.ReportUnitRequest // last one that the server has
	notYet   map[entity.RelationID]when.Instant
	last     lastCall
}

// lastCall is the last call that the feed has perhaps not shown the result of.
type lastCall struct {
	op    uniter.Op
	world uint64
}

// callAgain is the wait before a call is repeated whose result does not show.
const callAgain = time.Second

// New reads the unit's journal and makes its agent; it starts nothing. A journal
// that cannot be read is put aside, and the unit begins a new incarnation, as
// with a new disk.
func New(cfg Config) (*Agent, error) {
	if cfg.ReadWait == 0 {
		cfg.ReadWait = 30 * time.Second
	}
	if cfg.StopGrace == 0 {
		cfg.StopGrace = 10 * time.Second
	}
	if cfg.Path == "" {
		cfg.Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	a := &Agent{cfg: cfg, notYet: map[entity.RelationID]when.Instant{}}
	if err := a.makeFolders(); err != nil {
		return nil, err
	}
	a.journal = Journal{Path: filepath.Join(cfg.Dir, "state", "journal.json")}
	a.log = &unitLog{path: filepath.Join(cfg.Dir, "log", "unit.log"), now: cfg.Now}
	state, err := a.journal.Load(cfg.Unit, cfg.UID)
	if err != nil {
		cfg.Log.Error("the unit's journal is put aside, it starts as on a new disk", "unit", cfg.Unit, "err", err)
		if err := a.journal.PutAside(); err != nil {
			return nil, err
		}
		state = newState(cfg.Unit, cfg.UID)
	}
	a.state = state
	if a.cfg.Runner == nil {
		a.cfg.Runner = &Processes{Gate: cfg.HookBinary, Grace: cfg.StopGrace}
	}
	return a, nil
}

// Close closes the unit's log. The agent is not used again.
func (a *Agent) Close() error { return a.log.Close() }

// Done reports whether the agent's work is over: its unit is Dead or gone.
func (a *Agent) Done() bool { return a.done }

// Local is a copy of the unit's local state.
func (a *Agent) Local() uniter.Local { return a.state.Uniter.Clone() }

// Step does one operation: look, decide, act.
func (a *Agent) Step(ctx context.Context) (loop.Next, error) {
	if a.done {
		return loop.Next{}, nil
	}
	if !a.repaired {
		if err := a.repair(ctx); err != nil {
			return loop.Next{}, err
		}
		a.repaired = true
	}
	w := a.cfg.Host.Look(a.cfg.Unit)
	remote := a.remote(&w)
	if err := a.observe(&w, &remote); err != nil {
		return loop.Next{}, err
	}
	unsent := a.flush(ctx, &w)
	step := uniter.Next(&a.state.Uniter, &remote)
	silent := false
	if w.Connected {
		if err := a.report(ctx, &w, &step); err != nil {
			a.cfg.Log.Debug("the unit's state was not reported", "unit", a.cfg.Unit, "err", err)
			silent = true
		}
	}
	switch step.Kind {
	case uniter.Act:
		return a.act(ctx, &w, &remote, &step, unsent)
	case uniter.Done:
		a.cfg.Log.Info("the agent ends", "unit", a.cfg.Unit, "why", step.Why)
		a.done = true
		return loop.Next{}, nil
	}
	next := loop.Next{At: step.Until.Time()}
	if w.Connected && (unsent != nil || silent) {
		return a.later(next, callAgain), nil //nolint:nilerr // what was not sent is sent again
	}
	return next, nil
}

// later brings the next step forward to after the wait.
func (a *Agent) later(next loop.Next, wait time.Duration) loop.Next {
	at := a.cfg.Now().Add(wait)
	if next.At.IsZero() || at.Before(next.At) {
		next.At = at
	}
	return next
}

func (a *Agent) act(ctx context.Context, w *World, remote *uniter.Remote, step *uniter.Step, unsent error) (loop.Next, error) {
	call := lastCall{step.Op, w.Version}
	if step.Op.NeedsServer() {
		if unsent != nil {
			return loop.Next{}, unsent
		}
		// The call was made and the feed does not show it yet: once is enough.
		if a.last == call {
			a.last = lastCall{}
			return loop.Next{At: a.cfg.Now().Add(callAgain)}, nil
		}
	}
	a.cfg.Log.Info("unit", "unit", a.cfg.Unit, "do", step.Op.String(), "by", step.By, "why", step.Why)
	if err := a.perform(ctx, w, remote, step.Op); err != nil {
		return loop.Next{}, err
	}
	a.last = lastCall{}
	if step.Op.NeedsServer() {
		a.last = call
	}
	return loop.Next{Again: true}, nil
}

// observe notes in the journal what only the feed can tell.
func (a *Agent) observe(w *World, remote *uniter.Remote) error {
	changed := uniter.Observe(&a.state.Uniter, remote)
	if w.Unit != nil && a.state.MaxRetries != remote.MaxRetries {
		a.state.MaxRetries, changed = remote.MaxRetries, true
	}
	if !changed {
		return nil
	}
	return a.save()
}

func (a *Agent) save() error { return a.journal.Save(&a.state) }

func (a *Agent) now() when.Instant { return when.Of(a.cfg.Now()) }

func (a *Agent) request() *droverv1.UnitRequest {
	return &droverv1.UnitRequest{Unit: string(a.cfg.Unit), Uid: string(a.cfg.UID)}
}

// isAway reports whether an error says that the server could not be asked.
func isAway(err error) bool {
	return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Timeout) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
