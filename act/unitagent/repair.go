package unitagent

import (
	"context"
	"time"

	"drover/act/hooktool"
	"drover/decide/uniter"
)

// endTime bounds the wait for a killed hook to be gone.
const endTime = 10 * time.Second

// repair ends a hook that a former agent left pending, and then counts it as
// failed. Spec: 003 "Errors in hooks".
func (a *Agent) repair(ctx context.Context) error {
	op := a.state.Uniter.Op
	if op == nil || op.Step != uniter.Pending {
		return nil
	}
	reason := "interrupted: the agent was killed while it ran"
	if p := a.state.Process; p != nil && p.Alive() {
		killGroup(*p)
		waiting, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		if err := p.Wait(waiting); err != nil {
			return err
		}
		reason = "killed: the agent was restarted while it ran"
	}
	a.state.Process = nil
	a.log.line(hooktool.Error, a.module(op.Hook.Name()), HookEnded+": failed: "+reason)
	uniter.Fail(&a.state.Uniter, uniter.Outcome{Exit: -1, Reason: reason}, a.now(), a.state.MaxRetries)
	return a.save()
}
