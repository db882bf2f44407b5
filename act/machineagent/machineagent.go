// Package machineagent is the agent of one machine: it holds the connection to
// the servers, mirrors what they say, is present by heartbeats, deploys and
// recalls the agents of the machine's units, and hands the cell its work.
//
// It decides nothing about units and containers: unit agents and the rep do. It
// never listens: servers never dial agents.
//
// Invariants: it obeys no leader of an epoch lower than one it has obeyed; it
// recalls nothing before the feed was complete; once its machine is Dead it
// never runs again (E-050, E-051).
//
// Spec: 000 "Agents", "juju remove-machine".
package machineagent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"drover/act/unitagent"
	"drover/internal/loop"
	"drover/noun/entity"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// The ends of Run that are not the context's.
var (
	// ErrDead: the machine is Dead or gone; the agent refuses to run again. A
	// program ends with an exit code of its own, and is not started again.
	ErrDead = errors.New("the machine is dead")
	// ErrPowerOff: the leader asked for the machine to be stopped with all that
	// runs on it.
	ErrPowerOff = errors.New("the machine is to be powered off")
)

// Cell is the machine's rep. Its methods may be called concurrently.
type Cell interface {
	Feed(part *droverv1.FeedResponse)
	Work(batch *droverv1.WorkBatch) *droverv1.AckWorkRequest
	Stop(cmd *droverv1.StopContainer)
	Evacuate(on bool)
	Report() *droverv1.CellReport
}

// Config is what an Agent needs. Cell and ContainerLog may be nil: then the
// machine takes no work.
type Config struct {
	Machine    entity.MachineID
	DataDir    string // the agent's own, an absolute path
	HookBinary string // drover-hook
	BinDir     string // where the drover program is
	AgentLog   string // the file that Log writes to, for machine:ID; may be empty
	BootID     string // of the machine: start hooks run once for each
	Server     Server
	Cell       Cell
	// ContainerLog writes the log of an instance ("web/3") or task ("task:hello").
	ContainerLog func(ctx context.Context, target string, lines int, follow bool, w io.Writer) error
	Hold         func(work.Resources)                  // what the units reserve on the cell; may be nil
	Facts        func() *droverv1.ReportMachineRequest // BootId is filled in
	UseServers   func(servers ...string)               // the leader first; may be nil
	Runner       unitagent.Runner                      // nil: real processes
	ReadWait     time.Duration                         // how long a hook's read waits for a server; 0: 30 s
	Now          func() time.Time
	NewID        func() string
	Jitter       func() float64 // in [0, 1), to spread reconnections
	Log          *slog.Logger
}

// Validate reports what is missing.
func (c *Config) Validate() error {
	if c.Machine == "" || c.DataDir == "" || c.HookBinary == "" || c.Server == nil || c.Facts == nil ||
		c.Now == nil || c.NewID == nil || c.Jitter == nil || c.Log == nil {
		return errors.New("machineagent: something required is missing in Config")
	}
	if !filepath.IsAbs(c.DataDir) {
		return errors.New("machineagent: DataDir is not absolute")
	}
	return nil
}

// The timers of the connection (SEMANTICS 2, 42).
const (
	heartbeatEvery = 5 * time.Second
	longestBackoff = 5 * time.Second
	firstBackoff   = 100 * time.Millisecond
	callTime       = 10 * time.Second
	goodbyeTime    = 3 * time.Second
)

// mostUnits bounds the units that do something at the same time; waiting for the
// hook lock counts.
const mostUnits = 4096

// Agent is the agent of one machine.
type Agent struct {
	cfg    Config
	mirror *mirror
	loop   *loop.Loop
	lock   *unitagent.Lock
	acks   chan *droverv1.AckWorkRequest
	logs   chan *droverv1.SendLogCommand
	stop   chan error // why Run ends, at most one

	mu    sync.Mutex // guards all below
	units map[entity.UnitName]*slot
	state state
}

// New makes the agent; nothing runs until Run. ErrDead when its machine was Dead
// before.
func New(cfg Config) (*Agent, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(cfg.DataDir, "units"), 0o755); err != nil {
		return nil, err
	}
	st, err := loadState(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	if st.Dead {
		return nil, ErrDead
	}
	a := &Agent{
		cfg: cfg, mirror: newMirror(), lock: unitagent.NewLock(), units: map[entity.UnitName]*slot{}, state: st,
		acks: make(chan *droverv1.AckWorkRequest, 64), logs: make(chan *droverv1.SendLogCommand, 16), stop: make(chan error, 1),
	}
	a.loop = loop.New(loop.Config{Name: "machineagent", Actor: a, Now: cfg.Now, Log: cfg.Log, Workers: mostUnits})
	return a, nil
}

// Loop is the agent's loop, for who steps it himself.
func (a *Agent) Loop() *loop.Loop { return a.loop }

// Lock is the machine's hook lock.
func (a *Agent) Lock() *unitagent.Lock { return a.lock }

// Run keeps the agent going until the context ends, which is a planned stop:
// hooks get a moment to end, containers are left alone, and the servers are told
// goodbye. Otherwise it returns ErrDead or ErrPowerOff.
func (a *Agent) Run(ctx context.Context) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for _, run := range []func(context.Context){a.runFeed, a.runHeartbeats, a.runAcks, a.runLogs} {
		wg.Go(func() { run(running) })
	}
	wg.Go(func() { _ = a.loop.Run(running) })
	var why error
	select {
	case why = <-a.stop:
	case <-ctx.Done():
		a.goodbye(ctx)
		why = ctx.Err()
	}
	cancel()
	wg.Wait()
	a.closeUnits()
	return why
}

// goodbye says that this is a planned stop: nothing is moved for a minute.
func (a *Agent) goodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTime)
	defer cancel()
	if err := a.cfg.Server.Goodbye(ctx, &droverv1.GoodbyeRequest{}); err != nil {
		a.cfg.Log.Debug("goodbye was not heard", "err", err)
	}
}

func (a *Agent) end(why error) {
	select {
	case a.stop <- why:
	default:
	}
}
