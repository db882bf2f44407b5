package machineagent

import (
	"context"
	"errors"
	"time"

	"drover/noun/when"
	"drover/wire/droverv1"
)

var errDeposed = errors.New("this leader was replaced by a newer one")

// runFeed keeps the feed open, with a growing and jittered wait between attempts.
func (a *Agent) runFeed(ctx context.Context) {
	wait := firstBackoff
	for ctx.Err() == nil {
		heard := false
		err := a.cfg.Server.Feed(ctx, &droverv1.FeedRequest{Resume: a.mirror.resume(), BootId: a.cfg.BootID, Epoch: a.epoch()},
			func(f *droverv1.FeedResponse) error {
				first := !heard
				heard, wait = true, firstBackoff
				return a.hear(ctx, f, first)
			})
		a.mirror.disconnected()
		if ctx.Err() != nil {
			return
		}
		a.cfg.Log.Info("no server", "err", err, "again in", wait)
		if !pause(ctx, wait/2+time.Duration(a.cfg.Jitter()*float64(wait/2))) {
			return
		}
		wait = min(2*wait, longestBackoff)
	}
}

// pause waits; false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hear takes one part of the feed: state into the mirror and the cell, commands
// to whom they are for. On a new connection all that waited for a server wakes.
func (a *Agent) hear(ctx context.Context, f *droverv1.FeedResponse, first bool) error {
	if !a.obey(f.GetEpoch()) {
		return errDeposed
	}
	before, _, _, connected := a.mirror.machine()
	touched := a.mirror.apply(f)
	after, units, _, now := a.mirror.machine()
	if a.cfg.Cell != nil {
		a.cfg.Cell.Feed(f)
	}
	for _, d := range f.GetDeltas() {
		if err := a.command(d); err != nil {
			return err
		}
	}
	if after != before && after != nil && a.cfg.UseServers != nil && len(after.GetServers()) > 0 {
		a.cfg.UseServers(after.GetServers()...)
	}
	keys := []string{machineKey}
	if now && (first || !connected) {
		for _, u := range units {
			keys = append(keys, unitKey(u.GetName()))
		}
		a.report(ctx)
	}
	for _, u := range touched {
		keys = append(keys, unitKey(u))
	}
	a.loop.Wake(keys...)
	return nil
}

// command hands over a delta that is a command. A work batch or a stop is the
// cell's to check; a power-off of a former leader was refused with its feed.
func (a *Agent) command(d *droverv1.Delta) error {
	switch v := d.GetValue().(type) {
	case *droverv1.Delta_Work:
		if a.cfg.Cell == nil {
			return nil
		}
		ack := a.cfg.Cell.Work(v.Work)
		select {
		case a.acks <- ack:
		default:
			a.cfg.Log.Warn("an answer to the auctioneer is dropped: too many wait", "batch", v.Work.GetId())
		}
	case *droverv1.Delta_Stop:
		if a.cfg.Cell != nil {
			a.cfg.Cell.Stop(v.Stop)
		}
	case *droverv1.Delta_SendLog:
		select {
		case a.logs <- v.SendLog:
		default:
			a.cfg.Log.Warn("a request for a log is dropped: too many wait", "target", v.SendLog.GetTarget())
		}
	case *droverv1.Delta_PowerOff:
		if v.PowerOff.GetEpoch() < a.epoch() {
			return nil
		}
		a.end(ErrPowerOff)
	}
	return nil
}

// report says what the machine is, once for each connection.
func (a *Agent) report(ctx context.Context) {
	facts := a.cfg.Facts()
	facts.BootId = a.cfg.BootID
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := a.cfg.Server.ReportMachine(ctx, facts); err != nil {
		a.cfg.Log.Warn("the machine's facts were not reported", "err", err)
	}
}

// runHeartbeats is the machine's presence.
func (a *Agent) runHeartbeats(ctx context.Context) {
	for {
		a.heartbeat(ctx)
		if !pause(ctx, heartbeatEvery) {
			return
		}
	}
}

func (a *Agent) heartbeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, heartbeatEvery)
	defer cancel()
	req := &droverv1.HeartbeatRequest{Epoch: a.epoch(), BootId: a.cfg.BootID, Now: int64(when.Of(a.cfg.Now()))}
	if a.cfg.Cell != nil {
		req.Cell = a.cfg.Cell.Report()
	}
	resp, err := a.cfg.Server.Heartbeat(ctx, req)
	if err != nil {
		a.cfg.Log.Debug("heartbeat was not heard", "err", err)
		return
	}
	if a.obey(resp.GetEpoch()) && resp.GetLeader() != "" && a.cfg.UseServers != nil {
		a.useLeader(resp.GetLeader())
	}
}

// useLeader puts the leader in front of the servers known.
func (a *Agent) useLeader(leader string) {
	servers := []string{leader}
	m, _, _, _ := a.mirror.machine()
	for _, s := range m.GetServers() {
		if s != leader {
			servers = append(servers, s)
		}
	}
	a.cfg.UseServers(servers...)
}

// runAcks answers the auctioneer without making the feed wait. An answer that is
// not heard is not repeated: heartbeats say how far the cell has come.
func (a *Agent) runAcks(ctx context.Context) {
	for {
		select {
		case ack := <-a.acks:
			a.answer(ctx, ack)
		case <-ctx.Done():
			return
		}
	}
}

func (a *Agent) answer(ctx context.Context, ack *droverv1.AckWorkRequest) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := a.cfg.Server.AckWork(ctx, ack); err != nil {
		a.cfg.Log.Warn("the auctioneer did not hear the cell's answer", "batch", ack.GetBatch(), "err", err)
	}
}
