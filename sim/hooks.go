package sim

import (
	"context"
	"strings"

	"drover/act/hooktool/client"
	"drover/act/unitagent"
	"drover/internal/proc"
	"drover/noun/charm"
)

// Probe of executor.Probe: everything answers.
func (healthy) TCP(context.Context, string) error  { return nil }
func (healthy) HTTP(context.Context, string) error { return nil }

// hooks runs hooks that have no process: each takes its turn at once, writes a
// setting or two, and ends well, fails, or is killed with its agent.
type hooks struct{ machine *machine }

// noProcess is the pid of hooks here; no kernel gives it to anybody.
const noProcess = 1 << 30

// Run implements unitagent.Runner.
func (h *hooks) Run(ctx context.Context, spec unitagent.HookSpec, started func(proc.ID) error) unitagent.Result {
	s := h.machine.sim
	if err := started(proc.ID{PID: noProcess, Start: 1, Boot: "sim"}); err != nil {
		return unitagent.Result{Exit: -1, Reason: "not started: " + err.Error()}
	}
	s.line("  hook %s", spec.Program[len(spec.Dir):])
	dice := s.rng.IntN(100)
	if s.faults.done {
		dice = 99
	}
	if dice < 2 {
		s.oracle.ran(spec.Env, charm.Failed)
		panic(crash{}) //nolint:forbidigo // the agent dies here
	}
	h.tool(ctx, spec, "status-set", "active", "sim")
	if s.rng.IntN(2) == 0 {
		h.tool(ctx, spec, "relation-set", "value="+s.newID())
	}
	if s.rng.IntN(4) == 0 {
		h.tool(ctx, spec, "open-port", "80/tcp")
	}
	if dice < 10 {
		s.oracle.ran(spec.Env, charm.Failed)
		return unitagent.Result{Exit: 1, Reason: "exit status 1"}
	}
	s.oracle.ran(spec.Env, charm.Succeeded)
	return unitagent.Result{}
}

// tool calls a hook tool; its exit code is the hook's own affair.
func (h *hooks) tool(ctx context.Context, spec unitagent.HookSpec, name string, args ...string) {
	for _, v := range spec.Env {
		if id, ok := strings.CutPrefix(v, "JUJU_CONTEXT_ID="); ok {
			spec.Tools.Call(ctx, &client.Request{Context: id, Tool: name, Args: args})
		}
	}
}
