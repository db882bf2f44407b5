package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"drover/act/executor"
	execfake "drover/act/executor/fake"
	"drover/act/machineagent"
	"drover/act/provisioner"
	"drover/act/rep"
	"drover/face/api/feed"
	"drover/internal/pki"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// machine is an instance that the provider started: its processes and disk, and
// while it runs, its agent.
type machine struct {
	sim      *Sim
	instance provisioner.Instance
	name     feed.Machine
	dir      string
	link     *link
	host     *execfake.Host
	port     int
	agent    *agent    // nil: it does not run
	restart  time.Time // when the agent starts again
	healing  time.Time // when the network works again
	dead     bool      // the agent refused to run again
}

// agent is one life of a machine's agent, from its start to its end.
type agent struct {
	steps     machineagent.Stepped
	rep       *rep.Rep
	executor  *executor.Executor
	drivers   []*driver
	heartbeat alarm
	poll      alarm
	cursor    *feed.Cursor // nil: not connected
	line      *feed.Line
	reign     *reign    // that the feed is of
	first     bool      // the next part is the connection's first
	retry     time.Time // of the connection
	ends      time.Time // when a process ends by itself,
	ending    work.ContainerGUID
}

func newMachine(s *Sim, i provisioner.Instance) *machine {
	model, _ := s.server.registry.Model(s.server.store.View(), i.Model)
	m := &machine{
		sim: s, instance: i, dir: filepath.Join(s.opts.Dir, i.ID), port: 10000,
		name: feed.Machine{Model: i.Model, ID: i.Machine, UID: i.MachineUID, Cell: registry.CellID(model, i.Machine)},
		link: &link{sim: s, id: pki.MachineIdentity("sim", string(i.Model), string(i.Machine), string(i.MachineUID))},
	}
	m.host = execfake.NewHost(execfake.Config{Now: s.clock.Now, Behave: m.behave})
	m.start()
	return m
}

// behave says what a process does: most of an LRP run for ever, a few crash,
// tasks end.
func (m *machine) behave(pl executor.Place, p executor.Process) execfake.Behaviour {
	rng := m.sim.rng
	m.sim.started(pl.GUID, p.Name)
	long := time.Duration(1+rng.IntN(120)) * time.Second
	switch {
	case p.Path == "task":
		return execfake.Behaviour{After: long / 10, Exit: executor.Exit{Code: rng.IntN(4) / 3}}
	case rng.IntN(8) == 0:
		return execfake.Behaviour{After: long, Exit: executor.Exit{Code: 1}}
	case rng.IntN(20) == 0:
		return execfake.Behaviour{StartError: "no such program"}
	case rng.IntN(5) == 0:
		return execfake.Behaviour{After: -1, IgnoreTerm: true}
	}
	return execfake.Forever
}

// start starts the agent over the machine's disk and processes.
func (m *machine) start() {
	s := m.sim
	m.restart = time.Time{}
	a := &agent{heartbeat: alarm{at: s.clock.now, every: 5 * time.Second}, poll: alarm{at: s.clock.now, every: 30 * time.Second}}
	var err error
	a.executor, err = executor.New(executor.Config{
		Dir: filepath.Join(m.dir, "cell"), Cell: m.name.Cell, Address: m.instance.Address,
		Capacity: work.Resources{MemoryMB: 1024, DiskMB: 4096, Containers: 16},
		Runtime:  execfake.New(m.host), Probe: healthy{}, FreePort: m.freePort, Now: s.clock.Now, Log: quiet(), Boot: "boot",
		Event: func(e work.ContainerEvent) { a.rep.Event(e) },
		Gone:  func(c work.Container) { a.rep.Gone(c) },
	})
	if err == nil {
		a.rep, err = rep.New(rep.Config{
			Cell: m.name.Cell, Stack: "sim", Runtimes: []string{"process"}, Zone: "z" + string(m.name.ID[len(m.name.ID)-1:]),
			Board: m.link, Containers: a.executor, Now: s.clock.Now, Log: quiet(),
		})
	}
	var whole *machineagent.Agent
	if err == nil {
		whole, err = machineagent.New(machineagent.Config{
			Machine: m.name.ID, DataDir: m.dir, HookBinary: "/nonexistent/drover-hook", BinDir: "/nonexistent", BootID: "boot",
			Server: m.link, Cell: a.rep, Runner: &hooks{machine: m}, Now: s.clock.Now, NewID: s.newID,
			Facts: func() *droverv1.ReportMachineRequest {
				return &droverv1.ReportMachineRequest{Address: m.instance.Address, Cpus: 1, MemoryMb: 1024, DiskMb: 4096, Arch: "sim", Version: "sim"}
			},
			Jitter: s.rng.Float64, Log: quiet(),
		})
	}
	switch {
	case errors.Is(err, machineagent.ErrDead):
		m.dead = true
		return
	case err != nil:
		s.fail("the agent of machine %s does not start: %v", m.name.ID, err)
		m.dead = true
		return
	}
	a.steps = whole.Stepped()
	a.drivers = []*driver{
		{s, "machine " + string(m.name.ID) + " agent", whole.Loop()},
		{s, "machine " + string(m.name.ID) + " rep", a.rep.Loop()},
		{s, "machine " + string(m.name.ID) + " executor", a.executor.Loop()},
	}
	m.agent = a
}

func (m *machine) freePort(string, func(int) bool) (int, error) {
	m.port++
	return m.port, nil
}

// stop ends the agent as a kill would: what it has not written is gone.
func (m *machine) stop() {
	if m.agent == nil {
		return
	}
	m.disconnect()
	m.agent.steps.Close() // closes files, tells nobody
	m.agent = nil
}

func (m *machine) close() {
	m.stop()
	_ = os.RemoveAll(m.dir) // the whole folder goes with the simulation anyway
}

// connect opens the agent's feed.
func (m *machine) connect() {
	a := m.agent
	q := a.steps.Request()
	if mine := m.sim.server.store.Leadership().Epoch; q.GetEpoch() > mine {
		m.sim.fail("machine %s obeyed epoch %d, the leader has %d", m.name.ID, q.GetEpoch(), mine)
	}
	a.line = m.sim.server.api.Hub().Connect(m.name.Key())
	a.cursor = m.sim.server.api.Source().Open(m.name, store.Revision(q.GetResume()))
	a.reign, a.first = m.sim.server.reign, true
}

func (m *machine) disconnect() {
	a := m.agent
	if a == nil || a.cursor == nil {
		return
	}
	a.cursor.Close()
	current := a.line.Current()
	a.line.Disconnect()
	a.cursor = nil
	a.steps.Disconnected()
	a.retry = m.sim.clock.now.Add(time.Duration(50+m.sim.rng.IntN(2000)) * time.Millisecond)
	if m.sim.server.reign != nil && m.sim.server.reign == a.reign && current {
		m.sim.server.tracker.Disconnected(m.name.Key())
	}
}

// hear takes in what the feed has.
func (m *machine) hear() {
	a := m.agent
	parts := a.cursor.Poll()
	if commands := a.line.Take(); len(commands) > 0 {
		parts = append(parts, &droverv1.FeedResponse{Revision: uint64(a.cursor.Revision()), Deltas: commands})
	}
	for _, part := range parts {
		part.Epoch = a.reign.epoch
		if err := a.steps.Hear(m.sim.ctx, part, a.first); err != nil {
			m.sim.line("  the agent ends the feed: %v", err)
			m.disconnect()
			return
		}
		a.first = false
	}
	m.ended()
}

// ended stops an agent that would have returned by itself.
func (m *machine) ended() {
	if m.agent == nil {
		return
	}
	if why := m.agent.steps.Ended(); why != nil {
		m.sim.line("  the agent of machine %s ends: %v", m.name.ID, why)
		m.stop()
		m.dead = true
	}
}

func (m *machine) events() []event {
	now, label := m.sim.clock.now, "machine "+string(m.name.ID)
	a := m.agent
	switch {
	case m.dead:
		return nil
	case a == nil:
		if m.restart.After(now) {
			return nil
		}
		return []event{{label + ": the agent starts", 20, m.start}}
	}
	var out []event
	if m.link.cut && !m.healing.After(now) {
		out = append(out, event{label + ": the network works again", 20, m.heal})
	}
	add := func(what string, weight int, run func()) {
		out = append(out, event{label + what, weight, func() {
			run()
			m.ended()
		}})
	}
	if a.cursor != nil && (m.link.open() != nil || a.reign != m.sim.server.reign) {
		return []event{{label + ": the feed breaks", 20, m.disconnect}}
	}
	if a.cursor == nil && m.link.open() == nil && !a.retry.After(now) {
		add(": the feed opens", 15, m.connect)
	}
	if a.cursor != nil && (a.first || len(a.cursor.C()) > 0 || len(a.line.C()) > 0) {
		add(": the feed", 15, func() {
			drain(a.cursor.C())
			drain(a.line.C())
			m.hear()
		})
	}
	if a.steps.Answers() > 0 {
		add(": answers the auctioneer", 10, func() { a.steps.Answer(m.sim.ctx) })
	}
	if a.heartbeat.due(now) {
		add(": heartbeat", 15, func() {
			a.heartbeat.again(now)
			a.steps.Heartbeat(m.sim.ctx)
		})
	}
	if a.poll.due(now) {
		add(": the rep polls", 5, func() {
			a.poll.again(now)
			a.rep.Poll()
		})
	}
	return append(out, m.processes()...)
}

func drain(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// processes are ends of processes, and the loops' keys.
func (m *machine) processes() []event {
	a := m.agent
	var out []event
	if a.ends.IsZero() {
		a.ends, a.ending, _ = m.host.Pending()
	}
	if !a.ends.IsZero() && !a.ends.After(m.sim.clock.now) {
		out = append(out, event{fmt.Sprintf("machine %s: a process of %s ends", m.name.ID, a.ending), 15, func() {
			a.executor.Changed(a.ending)
			a.ends = time.Time{}
		}})
	}
	for _, d := range a.drivers {
		for _, e := range d.events() {
			run := e.run
			e.run = func() {
				defer m.crashed()
				run()
				m.ended()
			}
			out = append(out, e)
		}
	}
	return out
}

// deadline is when something becomes due by itself.
func (m *machine) deadline() time.Time {
	times := []time.Time{m.restart, m.healing}
	if a := m.agent; a != nil {
		times = append(times, a.heartbeat.at, a.poll.at, a.ends)
		if a.cursor == nil && m.link.open() == nil {
			times = append(times, a.retry)
		}
		for _, d := range a.drivers {
			times = append(times, d.deadline())
		}
	}
	var first time.Time
	for _, t := range times {
		if t.After(m.sim.clock.now) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// heal ends the faults of the machine's network.
func (m *machine) heal() { m.link.cut, m.link.lose, m.healing = false, 0, time.Time{} }

// healthy is a probe that always succeeds.
type healthy struct{}

// crash is what a simulated kill of the agent panics with, in the middle of a
// hook.
type crash struct{}

// crashed turns such a panic into the agent's end; it starts again a bit later.
func (m *machine) crashed() {
	p := recover()
	if p == nil {
		return
	}
	if _, ok := p.(crash); !ok {
		panic(p) //nolint:forbidigo // somebody else's
	}
	m.sim.line("  the agent of machine %s is killed during a hook", m.name.ID)
	m.kill()
}

func (m *machine) kill() {
	m.stop()
	m.restart = m.sim.faults.meanwhile(20 * time.Second)
}
