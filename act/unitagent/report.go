package unitagent

import (
	"context"
	"fmt"

	"drover/decide/uniter"
	"drover/noun/entity"
	"drover/wire/droverv1"

	"google.golang.org/protobuf/proto"
)

// report tells the server how the unit's agent is, when that has changed. The
// server's copy is for display: the disk is authoritative.
// Spec: 004 "Introduction".
func (a *Agent) report(ctx context.Context, w *World, step *uniter.Step) error {
	runs := step.Kind == uniter.Act && step.Op.Kind == uniter.RunHook
	switch {
	case a.state.Uniter.Incarnation == 0, w.Unit == nil, step.Kind == uniter.Done:
		return nil
	case runs && a.program(step.Op.Hook) == "":
		return nil // nothing will run
	}
	status, message, hook := entity.AgentIdle, "", ""
	switch {
	case runs:
		status, hook = entity.AgentExecuting, step.Op.Hook.Name()
		message = "running " + hook
		if holder := a.cfg.Lock.Holder(); holder != "" && !a.parallel(w) {
			message = fmt.Sprintf("waiting to run %s: %s", hook, holder)
			hook = ""
		}
	case a.state.Uniter.Failure != nil:
		status, message = entity.AgentFailed, "hook failed: "+a.state.Uniter.Op.Hook.Name()
	case step.Kind == uniter.Wait:
		message = step.Why
	case a.state.Uniter.Workflow == entity.WorkflowNew:
		status = entity.AgentAllocating
	}
	return a.sendReport(ctx, status, message, hook)
}

func (a *Agent) sendReport(ctx context.Context, status entity.StatusValue, message, hook string) error {
	l := &a.state.Uniter
	req := &droverv1.ReportUnitRequest{
		Unit: string(a.cfg.Unit), Uid: string(a.cfg.UID), Incarnation: int32(l.Incarnation),
		Agent:    &droverv1.StatusValue{Value: string(status), Message: message},
		Workflow: string(l.Workflow), Hook: hook, LastHook: a.state.LastHook, LastHookMs: a.state.LastHookMS,
	}
	if f := l.Failure; f != nil && !f.Asked() {
		req.Failure = &droverv1.HookFailure{
			Hook: l.Op.Hook.Name(), Exit: int32(f.Exit), Reason: f.Reason, Tries: int32(f.Tries),
			Since: int64(f.Since), NextRetry: int64(f.NextRetry), LastOutput: f.LastOutput,
			RelationId: uint64(l.Op.Hook.Relation), Remote: string(l.Op.Hook.Remote),
		}
	}
	if a.reported != nil {
		req.Agent.Since = a.reported.Agent.Since
		if proto.Equal(req, a.reported) {
			return nil
		}
		if a.reported.Agent.Value != string(status) {
			req.Agent.Since = int64(a.now())
		}
	} else {
		req.Agent.Since = int64(a.now())
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := a.cfg.Server.ReportUnit(ctx, req); err != nil {
		return err
	}
	a.reported = req
	return nil
}

// parallel reports whether the model lets units run hooks beside each other.
func (a *Agent) parallel(w *World) bool {
	return w.Machine.GetSettings()["parallel-hooks"] == "true"
}
