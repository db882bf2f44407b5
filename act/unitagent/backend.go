package unitagent

import (
	"context"
	"time"

	"drover/act/hooktool"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// readPause is the wait between attempts to read while the server is away.
const readPause = 200 * time.Millisecond

// backend is what a running hook's tools reach at once.
type backend struct {
	agent  *Agent
	module string
}

// ReadSettings waits for an absent server for as long as a hook may be kept
// waiting (SEMANTICS 39).
func (b *backend) ReadSettings(ctx context.Context, relation entity.RelationID, owner string) (map[string]string, error) {
	a := b.agent
	req := &droverv1.ReadSettingsRequest{Unit: string(a.cfg.Unit), Uid: string(a.cfg.UID), RelationId: uint64(relation), Owner: owner}
	until := a.cfg.Now().Add(a.cfg.ReadWait)
	for {
		one, cancel := context.WithTimeout(ctx, callTime)
		values, err := a.cfg.Server.ReadSettings(one, req)
		cancel()
		if err == nil || !isAway(err) || ctx.Err() != nil {
			return values, err
		}
		if !a.cfg.Now().Before(until) {
			return nil, fault.New(fault.Unavailable, "no server").Why("it was not reached within %s", a.cfg.ReadWait)
		}
		timer := time.NewTimer(readPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// SetStatus takes effect at once. While the server is away the last status is
// kept in the journal: a hook does not fail because nobody watches.
func (b *backend) SetStatus(ctx context.Context, status entity.StatusValue, message string) error {
	a := b.agent
	a.state.Status = &Status{Value: status, Message: message, Since: int64(a.now())}
	if a.cfg.Host.Look(a.cfg.Unit).Connected && a.sendStatus(ctx) == nil {
		return nil
	}
	return a.save()
}

// Log writes to the unit's log.
func (b *backend) Log(level hooktool.Level, message string) {
	b.agent.log.line(level, b.module+".juju-log", message)
}
