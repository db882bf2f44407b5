// Package fake is a runtime in memory, for tests and simulations.
//
// It runs nothing: a Behave function says what each process does, in times of
// the given clock. What ends by itself ends when somebody looks at or after its
// time; Pending tells a simulation when to look.
//
// Invariant: given the same calls at the same times it answers the same.
//
// Spec: 002 "Container State".
package fake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"drover/act/executor"
	"drover/noun/work"
)

// Behaviour is what a process does.
type Behaviour struct {
	StartError string        // it can not be started
	After      time.Duration // it ends by itself this long after its start; 0: at once; negative: never
	Exit       executor.Exit // how it then ends (Ended is set by the fake)
	IgnoreTerm bool          // SIGTERM does nothing: the grace passes
}

// Forever is a process that runs until it is told to go.
var Forever = Behaviour{After: -1}

// Config is what a Host needs.
type Config struct {
	Now    func() time.Time
	Behave func(executor.Place, executor.Process) Behaviour // nil: Forever
	// After runs f later, to tell of ends on real or bubbled time; nil:
	// time.AfterFunc. A simulation gives one that does nothing and asks Pending.
	After func(d time.Duration, f func())
}

// Host is what outlives a runtime: the machine's processes. All methods may be
// called concurrently.
type Host struct {
	cfg Config

	mu      sync.Mutex // guards all below
	procs   map[key]*process
	refuse  error
	changed map[*Runtime]func(work.ContainerGUID)
	started int
}

type key struct {
	guid work.ContainerGUID
	name string
}

type process struct {
	spec    executor.Process
	does    Behaviour
	pid     int
	started time.Time
	ends    time.Time // zero: not by itself
	exit    executor.Exit
	ended   bool
}

// NewHost makes a machine without processes.
func NewHost(cfg Config) *Host {
	if cfg.Behave == nil {
		cfg.Behave = func(executor.Place, executor.Process) Behaviour { return Forever }
	}
	if cfg.After == nil {
		cfg.After = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	return &Host{cfg: cfg, procs: map[key]*process{}, changed: map[*Runtime]func(work.ContainerGUID){}}
}

// Refuse makes every Create and Start fail, until it is called with nil.
func (h *Host) Refuse(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuse = err
}

// End ends a running process from outside, as a crash would.
func (h *Host) End(guid work.ContainerGUID, name string, exit executor.Exit) {
	h.mu.Lock()
	if p := h.procs[key{guid, name}]; p != nil && !h.settled(p) {
		p.end(h.cfg.Now(), exit)
	}
	h.mu.Unlock()
	h.tell(guid)
}

// EndAll ends every process, as the loss of the machine would.
func (h *Host) EndAll(exit executor.Exit) {
	h.mu.Lock()
	now := h.cfg.Now()
	guids := map[work.ContainerGUID]bool{}
	for k, p := range h.procs { // order-free: each is ended
		if !h.settled(p) {
			p.end(now, exit)
			guids[k.guid] = true
		}
	}
	h.mu.Unlock()
	for _, guid := range slices.Sorted(maps.Keys(guids)) {
		h.tell(guid)
	}
}

// Alive lists the processes that run, as "guid/name", sorted.
func (h *Host) Alive() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for k, p := range h.procs { // order-free: sorted below
		if !h.settled(p) {
			names = append(names, string(k.guid)+"/"+k.name)
		}
	}
	sort.Strings(names)
	return names
}

// Starts counts the processes ever started.
func (h *Host) Starts() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.started
}

// Pending is the earliest time at which a process ends by itself, and whose it
// is; false when none will.
func (h *Host) Pending() (time.Time, work.ContainerGUID, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var first time.Time
	var guid work.ContainerGUID
	for k, p := range h.procs { // order-free: a minimum, ties by guid
		if h.settled(p) || p.ends.IsZero() {
			continue
		}
		if first.IsZero() || p.ends.Before(first) || p.ends.Equal(first) && k.guid < guid {
			first, guid = p.ends, k.guid
		}
	}
	return first, guid, !first.IsZero()
}

// settled reports whether the process has ended by now.
func (h *Host) settled(p *process) bool {
	if now := h.cfg.Now(); !p.ended && !p.ends.IsZero() && !now.Before(p.ends) {
		p.end(p.ends, p.exit)
	}
	return p.ended
}

func (p *process) end(at time.Time, exit executor.Exit) {
	p.ended, p.exit = true, exit
	p.exit.Ended = at
}

func (h *Host) tell(guid work.ContainerGUID) {
	h.mu.Lock()
	var fs []func(work.ContainerGUID)
	for _, f := range h.changed { // order-free: one runs, a successor after it
		fs = append(fs, f)
	}
	h.mu.Unlock()
	for _, f := range fs {
		f(guid)
	}
}

// Runtime implements executor.Runtime over a Host.
type Runtime struct{ h *Host }

var _ executor.Runtime = (*Runtime)(nil)

// New makes a runtime of a machine; a second one takes over from the first.
func New(h *Host) *Runtime { return &Runtime{h} }

// Name is "fake".
func (r *Runtime) Name() string { return "fake" }

// Create does nothing.
func (r *Runtime) Create(context.Context, executor.Place) error {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	return r.h.refuse
}

// Start starts what Behave says.
func (r *Runtime) Start(_ context.Context, pl executor.Place, ps executor.Process) error {
	does := r.h.cfg.Behave(pl, ps)
	if err := r.h.start(pl, ps, does); err != nil {
		return err
	}
	if does.After > 0 {
		r.h.cfg.After(does.After, func() { r.h.tell(pl.GUID) })
	}
	r.h.tell(pl.GUID)
	return nil
}

func (h *Host) start(pl executor.Place, ps executor.Process, does Behaviour) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := key{pl.GUID, ps.Name}
	switch {
	case h.refuse != nil:
		return h.refuse
	case h.procs[k] != nil:
		return fmt.Errorf("start %s/%s: it was started already", pl.GUID, ps.Name)
	}
	h.started++
	now := h.cfg.Now()
	p := &process{spec: ps, does: does, pid: h.started, started: now}
	switch {
	case does.StartError != "":
		p.started = time.Time{}
		p.end(now, executor.Exit{Error: "cannot start " + ps.Path + ": " + does.StartError})
	case does.After >= 0:
		p.ends, p.exit = now.Add(does.After), does.Exit
	}
	h.procs[k] = p
	return nil
}

// Status looks.
func (r *Runtime) Status(_ context.Context, pl executor.Place, name string) (executor.Status, error) {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	p := r.h.procs[key{pl.GUID, name}]
	switch {
	case p == nil:
		return executor.Status{Phase: executor.Absent}, nil
	case r.h.settled(p):
		return executor.Status{Phase: executor.Ended, Started: p.started, Exit: p.exit}, nil
	}
	return executor.Status{Phase: executor.Running, PID: p.pid, Started: p.started}, nil
}

const (
	sigKill = 9
	sigTerm = 15
)

// Stop ends a process, or leaves it its grace if it ignores SIGTERM.
func (r *Runtime) Stop(_ context.Context, pl executor.Place, name string) error {
	r.h.mu.Lock()
	if p := r.h.procs[key{pl.GUID, name}]; p != nil && !r.h.settled(p) {
		now := r.h.cfg.Now()
		if !p.does.IgnoreTerm {
			p.end(now, executor.Exit{Signal: sigTerm})
		} else if at := now.Add(p.spec.Grace); p.ends.IsZero() || at.Before(p.ends) {
			p.ends, p.exit = at, executor.Exit{Signal: sigKill}
			r.h.cfg.After(p.spec.Grace, func() { r.h.tell(pl.GUID) })
		}
	}
	r.h.mu.Unlock()
	r.h.tell(pl.GUID)
	return nil
}

// Kill ends a process.
func (r *Runtime) Kill(_ context.Context, pl executor.Place, name string) error {
	r.h.End(pl.GUID, name, executor.Exit{Signal: sigKill})
	return nil
}

// Forget removes an ended process.
func (r *Runtime) Forget(_ context.Context, pl executor.Place, name string) error {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	k := key{pl.GUID, name}
	if p := r.h.procs[k]; p != nil && !r.h.settled(p) {
		return fmt.Errorf("forget %s/%s: it is running", pl.GUID, name)
	}
	delete(r.h.procs, k)
	return nil
}

// Delete kills what is left in the place.
func (r *Runtime) Delete(_ context.Context, pl executor.Place) (bool, error) {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	for k := range r.h.procs { // order-free: each is removed
		if k.guid == pl.GUID {
			delete(r.h.procs, k)
		}
	}
	return true, nil
}

// Run tells of changes until the context ends.
func (r *Runtime) Run(ctx context.Context, changed func(work.ContainerGUID)) error {
	r.h.mu.Lock()
	if r.h.changed[r] != nil {
		r.h.mu.Unlock()
		return errors.New("fake runtime: it runs already")
	}
	r.h.changed[r] = changed
	r.h.mu.Unlock()
	<-ctx.Done()
	r.h.mu.Lock()
	delete(r.h.changed, r)
	r.h.mu.Unlock()
	return ctx.Err()
}
