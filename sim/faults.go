package sim

import (
	"strings"
	"time"

	"drover/act/executor"
	"drover/keep/store"
	"drover/noun/work"
)

// faults happen between any two steps.
type faults struct {
	sim   *Sim
	done  bool
	elect time.Time // when a leader is elected again; zero: there is one
}

func newFaults(s *Sim) *faults { return &faults{sim: s} }

// meanwhile is a random time up to the limit.
func (f *faults) meanwhile(most time.Duration) time.Time {
	return f.sim.clock.now.Add(time.Duration(f.sim.rng.Int64N(int64(most))))
}

func (f *faults) events() []event {
	var out []event
	if !f.elect.IsZero() {
		if !f.elect.After(f.sim.clock.now) {
			out = append(out, event{"a leader is elected", 20, f.elected})
		}
		return out
	}
	if f.done {
		return nil
	}
	out = append(out,
		event{"fault: leadership ends", 1, func() {
			f.sim.server.depose()
			f.elect = f.meanwhile(40 * time.Second)
		}},
		event{"fault: the log", 1, f.hurtLog},
	)
	if len(f.sim.server.changes.C()) > 0 {
		out = append(out, event{"fault: changes are lost", 1, f.sim.server.lose})
	}
	for _, m := range f.sim.machines {
		out = append(out, f.onMachine(m)...)
	}
	return out
}

// onMachine are the faults of one machine: each rare by itself, since there may
// be many machines.
func (f *faults) onMachine(m *machine) []event {
	if m.agent == nil || f.sim.rng.IntN(4) > 0 {
		return nil
	}
	label := "fault: machine " + string(m.name.ID)
	out := []event{
		{label + ": its agent is killed", 1, m.kill},
		{label + ": its agent restarts, with goodbye", 1, func() {
			m.agent.steps.Goodbye(f.sim.ctx)
			m.kill()
		}},
		{label + ": an answer will be lost", 1, func() { m.link.lose++ }},
	}
	if !m.link.cut {
		out = append(out, event{label + ": the network is cut", 1, func() {
			m.link.cut, m.healing = true, f.meanwhile(time.Minute)
		}})
	}
	if alive := m.host.Alive(); len(alive) > 0 {
		out = append(out, event{label + ": a process crashes", 1, func() {
			name, _ := pick(f.sim, alive)
			guid, process, _ := strings.Cut(name, "/")
			f.sim.line("  %s", name)
			m.host.End(work.ContainerGUID(guid), process, executor.Exit{Signal: 11})
			m.agent.executor.Changed(work.ContainerGUID(guid))
		}})
	}
	return out
}

func (f *faults) elected() {
	f.elect = time.Time{}
	f.sim.server.elect()
}

// hurtLog lets one of the next commits fail, or come without an answer.
func (f *faults) hurtLog() {
	kinds := []store.FaultKind{store.FaultRefused, store.FaultLost, store.FaultKept, store.FaultLate}
	kind, _ := pick(f.sim, kinds)
	f.sim.line("  the next entry: %s", kind)
	f.sim.server.log.Inject(store.Fault{Kind: kind})
}

func (f *faults) deadline() time.Time { return f.elect }

// end heals everything; nothing goes wrong afterwards.
func (f *faults) end() {
	f.done = true
	f.sim.users.done = true
	if !f.elect.IsZero() {
		f.elected()
	}
	for _, m := range f.sim.machines {
		m.heal()
	}
	f.sim.line("  no faults any more")
}
