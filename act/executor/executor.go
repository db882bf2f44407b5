package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"drover/internal/loop"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
)

// Executor keeps containers. All methods may be called concurrently.
type Executor struct {
	cfg  Config
	loop *loop.Loop

	mu         sync.Mutex // guards containers, held
	containers map[work.ContainerGUID]*container
	held       work.Resources // by others than containers: units
}

const workers = 16 // a step may wait for a probe

// New makes an executor over its folder and takes over every container that is
// in it. Nothing goes on until Run, or until the loop is stepped.
func New(cfg Config) (*Executor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Times = cfg.Times.withDefaults()
	if cfg.Probe == nil {
		cfg.Probe = NetProbe{}
	}
	if cfg.FreePort == nil {
		cfg.FreePort = freePort
	}
	if cfg.BaseEnv == nil {
		cfg.BaseEnv = []string{"PATH=" + defaultPath}
	}
	e := &Executor{cfg: cfg, containers: map[work.ContainerGUID]*container{}}
	e.loop = loop.New(loop.Config{Name: "executor", Actor: e, Now: cfg.Now, Log: cfg.Log, Workers: workers, Backoff: 5 * time.Second})
	if err := e.load(); err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	return e, nil
}

func (e *Executor) containersDir() string { return filepath.Join(e.cfg.Dir, "containers") }

func (e *Executor) place(guid work.ContainerGUID) Place {
	return Place{GUID: guid, Dir: filepath.Join(e.containersDir(), string(guid))}
}

// load takes over what a predecessor left. A folder whose meta is missing or
// unreadable is ended and removed.
func (e *Executor) load() error {
	if err := os.MkdirAll(e.containersDir(), 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(e.containersDir())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		guid := work.ContainerGUID(entry.Name())
		c := &container{place: e.place(guid)}
		m, err := readMeta(c.place.Dir)
		if err != nil {
			e.cfg.Log.Warn("removing what a container left behind", "container", guid, "err", err)
			c.leftover, c.deleting = true, true
			c.meta.Container.GUID = guid
		} else {
			c.meta, c.deleting, c.origin = *m, m.Container.Deleting, m.Container
			e.rebooted(c)
		}
		e.containers[guid] = c
		e.loop.Wake(string(guid))
	}
	return nil
}

// rebooted fails a container that had begun before the host's last boot.
func (e *Executor) rebooted(c *container) {
	s := c.meta.Container.State
	if c.meta.Boot == e.cfg.Boot || s == work.Reserved || s == work.Completed || c.meta.Ending != nil {
		return
	}
	c.meta.Ending = &ending{Result: work.RunResult{Failed: true, FailureReason: "the machine restarted"}}
}

// Run drives the containers until the context ends. What runs goes on running.
func (e *Executor) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan error, 1)
	go func() {
		told <- e.cfg.Runtime.Run(ctx, e.Changed)
		cancel()
	}()
	err := e.loop.Run(ctx)
	cancel()
	return errors.Join(err, <-told)
}

// Loop is the executor's loop, for who steps it himself.
func (e *Executor) Loop() *loop.Loop { return e.loop }

// Changed says that a process of the container may have changed.
func (e *Executor) Changed(guid work.ContainerGUID) { e.loop.Wake(string(guid)) }

func (e *Executor) lookup(guid work.ContainerGUID) *container {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.containers[guid]
}

// all lists the containers, ordered by guid.
func (e *Executor) all() []*container {
	e.mu.Lock()
	cs := make([]*container, 0, len(e.containers))
	for _, c := range e.containers { // order-free: sorted below
		cs = append(cs, c)
	}
	e.mu.Unlock()
	sort.Slice(cs, func(i, j int) bool { return cs[i].place.GUID < cs[j].place.GUID })
	return cs
}

// Get is the container's account; false when there is none.
func (e *Executor) Get(guid work.ContainerGUID) (work.Container, bool) {
	c := e.lookup(guid)
	if c == nil || c.leftover {
		return work.Container{}, false
	}
	return c.account(), true
}

// List is the account of every container, ordered by guid.
func (e *Executor) List() []work.Container {
	var all []work.Container
	for _, c := range e.all() {
		if !c.leftover {
			all = append(all, c.account())
		}
	}
	return all
}

// Hold sets aside resources for others than containers, in place of what was
// held before: the units of the machine (SEMANTICS 38).
func (e *Executor) Hold(r work.Resources) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = r
}

// Resources are the cell's capacity and what is taken of it.
func (e *Executor) Resources() (capacity, taken work.Resources) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cfg.Capacity, e.taken()
}

func (e *Executor) taken() work.Resources {
	sum := e.held
	for _, c := range e.containers { // order-free: a sum
		if !c.leftover {
			sum = sum.Add(c.origin.Spec.Resources())
		}
	}
	return sum
}

// Reserve sets a container's resources aside and records it as RESERVED. Of c
// the executor reads who it is for and what it is to run. Repeating it is
// harmless. Errors: Invalid for what this cell can not run, NotPlaceable
// without room, Conflict when the guid is another's.
func (e *Executor) Reserve(c work.Container) error {
	if err := validate(&c); err != nil {
		return err
	}
	now := when.Of(e.cfg.Now())
	r := &container{place: e.place(c.GUID)}
	r.meta.Boot = e.cfg.Boot
	r.meta.Container = work.Container{
		GUID: c.GUID, State: work.Reserved, Domain: c.Domain, Incarnation: c.Incarnation, LRP: c.LRP, Task: c.Task,
		Spec: c.Spec, ResultFile: c.ResultFile, Since: now, Created: now,
	}
	r.origin = r.meta.Container
	fresh, err := e.admit(r)
	if err != nil || !fresh {
		return err
	}
	err = os.Mkdir(r.place.Dir, 0o700)
	if err == nil {
		err = r.update(false, func(*meta) {})
	}
	if err != nil {
		_ = os.RemoveAll(r.place.Dir)
		e.remove(c.GUID)
		return fmt.Errorf("reserve container %s: %w", c.GUID, err)
	}
	e.loop.Wake(string(c.GUID))
	e.event(work.ContainerReservedEvent, c.GUID)
	return nil
}

// admit adds the container if it fits; false when it is there already.
func (e *Executor) admit(r *container) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	guid := r.place.GUID
	if have := e.containers[guid]; have != nil {
		h, c := &have.origin, &r.origin
		if have.leftover || h.Incarnation != c.Incarnation || h.Task != c.Task || (h.LRP == nil) != (c.LRP == nil) || h.LRP != nil && *h.LRP != *c.LRP {
			return false, fault.New(fault.Conflict, "container %s exists already", guid).Why("it is for other work")
		}
		return false, nil
	}
	if short := shortage(e.cfg.Capacity.Sub(e.taken()), r.origin.Spec.Resources()); short != "" {
		return false, fault.New(fault.NotPlaceable, "insufficient resources: %s", short)
	}
	e.containers[guid] = r
	return true, nil
}

// shortage names the goods of which there is too little.
func shortage(free, want work.Resources) string {
	var short []string
	if want.MemoryMB > free.MemoryMB {
		short = append(short, "memory")
	}
	if want.DiskMB > free.DiskMB {
		short = append(short, "disk")
	}
	if want.Containers > free.Containers {
		short = append(short, "containers")
	}
	return strings.Join(short, ", ")
}

func (e *Executor) remove(guid work.ContainerGUID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.containers, guid)
}

// Keep protects a reservation from being reaped until release is called.
func (e *Executor) Keep(guid work.ContainerGUID) (release func()) {
	c := e.lookup(guid)
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	c.holds++
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		c.holds--
		c.mu.Unlock()
		e.loop.Wake(string(guid))
	}
}

// RunContainer begins a RESERVED container; it is INITIALIZING, durably, when
// this returns. Repeating it is harmless. NotFound when it is gone.
func (e *Executor) RunContainer(guid work.ContainerGUID) error {
	c := e.lookup(guid)
	if c == nil || c.leftover {
		return fault.New(fault.NotFound, "container %s does not exist", guid)
	}
	m, deleting := c.snapshot()
	if deleting {
		return fault.New(fault.NotFound, "container %s is being deleted", guid)
	}
	if m.Container.State != work.Reserved {
		return nil
	}
	if err := c.transition(e.cfg.Now(), work.Initializing, nil); err != nil {
		return err
	}
	e.loop.Wake(string(guid))
	return nil
}

// StopContainer asks a container to stop: it becomes COMPLETED with
// RunResult.Stopped after draining (when traffic may reach it), SIGTERM, and if
// need be SIGKILL. A RESERVED one is deleted. Unknown ones are stopped already.
// Spec: SEMANTICS 43.
func (e *Executor) StopContainer(guid work.ContainerGUID) error {
	c := e.lookup(guid)
	if c == nil || c.leftover {
		return nil
	}
	m, deleting := c.snapshot()
	switch {
	case deleting, m.Container.State == work.Completed, !m.StopAsked.IsZero():
		return nil
	case m.Container.State == work.Reserved:
		return e.DeleteContainer(guid)
	}
	now := e.cfg.Now()
	err := c.update(false, func(m *meta) {
		m.StopAsked = when.Of(now)
		if m.Ending == nil {
			m.Ending = &ending{Result: work.RunResult{Stopped: true}}
			if m.Container.State == work.ContainerRunning && len(m.Container.Net.Ports) > 0 {
				m.Ending.After = when.Of(now.Add(e.cfg.Times.Drain))
			}
		}
	})
	e.loop.Wake(string(guid))
	return err
}

// DeleteContainer ends whatever the container still does (SIGTERM, then
// SIGKILL) and removes it; Config.Gone is called when it is gone. Any state
// allows it, and unknown ones are gone already.
func (e *Executor) DeleteContainer(guid work.ContainerGUID) error {
	c := e.lookup(guid)
	if c == nil {
		return nil
	}
	c.mu.Lock()
	c.deleting = true
	c.mu.Unlock()
	e.loop.Wake(string(guid))
	return nil
}

func (e *Executor) event(kind work.ContainerEventKind, guid work.ContainerGUID) {
	if e.cfg.Event != nil {
		e.cfg.Event(work.ContainerEvent{Kind: kind, GUID: guid})
	}
}

// takenPorts reports whether a host port belongs to a container.
func (e *Executor) portTaken(port int) bool {
	for _, c := range e.all() {
		m, _ := c.snapshot()
		if slices.ContainsFunc(m.Container.Net.Ports, func(p work.PortMapping) bool { return p.Host == port }) {
			return true
		}
	}
	return false
}
