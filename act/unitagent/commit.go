package unitagent

import (
	"context"
	"time"

	"drover/act/hooktool"
	"drover/noun/fault"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// callTime bounds the calls that hooks wait for.
const callTime = 5 * time.Second

// flush sends what hooks wrote while the server was away, in order, and the last
// status. What is left unsent is the error.
func (a *Agent) flush(ctx context.Context, w *World) error {
	if len(a.state.Unsent) == 0 && a.state.Status == nil {
		return nil
	}
	if !w.Connected {
		return fault.New(fault.Unavailable, "unit %s has writes of hooks to send", a.cfg.Unit).Why("no server")
	}
	for len(a.state.Unsent) > 0 {
		if err := a.send(ctx, &a.state.Unsent[0]); err != nil {
			return err
		}
		a.state.Unsent = a.state.Unsent[1:]
		if err := a.save(); err != nil {
			return err
		}
	}
	return a.sendStatus(ctx)
}

// send sends one commit. The server knows its number, so that one whose answer
// was not heard is not applied twice.
func (a *Agent) send(ctx context.Context, c *Commit) error {
	req := &droverv1.CommitHookRequest{
		Unit: string(a.cfg.Unit), Uid: string(a.cfg.UID), Incarnation: int32(a.state.Uniter.Incarnation),
		Number: c.Number, Hook: c.Hook, Version: c.Writes.Version, Workflow: string(c.Workflow), HookMs: c.MS,
		Open: convert.PortsToWire(c.Writes.Open), Close: convert.PortsToWire(c.Writes.Close),
	}
	for _, s := range c.Writes.Settings {
		req.Settings = append(req.Settings, &droverv1.SettingsWrite{
			RelationId: uint64(s.Relation), Application: s.App, Set: s.Set, Delete: s.Delete,
		})
	}
	resp, err := a.cfg.Server.CommitHook(ctx, req)
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.ResourceExhausted) {
		// It will never be taken: waiting would hold up all that follow.
		a.cfg.Log.Error("the server refuses what a hook wrote, it is dropped", "unit", a.cfg.Unit, "hook", c.Hook, "err", err)
		a.log.line(hooktool.Error, a.module(c.Hook), "what the hook wrote was refused and is lost: "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range resp.GetDropped() {
		a.log.line(hooktool.Warning, a.module(c.Hook), "dropped: "+d)
	}
	return nil
}

func (a *Agent) sendStatus(ctx context.Context) error {
	st := a.state.Status
	if st == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := a.cfg.Server.SetStatus(ctx, &droverv1.SetStatusRequest{
		Unit: string(a.cfg.Unit), Uid: string(a.cfg.UID),
		Workload: &droverv1.StatusValue{Value: string(st.Value), Message: st.Message, Since: st.Since},
	})
	if err != nil && !fault.Is(err, fault.Invalid) {
		return err
	}
	a.state.Status = nil
	return a.save()
}

// unsentSettings are the changes of earlier hooks that the server has not yet.
func (a *Agent) unsentSettings() []hooktool.SettingsWrite {
	var ws []hooktool.SettingsWrite
	for _, c := range a.state.Unsent {
		ws = append(ws, c.Writes.Settings...)
	}
	return ws
}
