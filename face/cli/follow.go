package cli

import (
	"context"
	"strings"
	"sync"
	"time"

	"drover/noun/fault"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
)

// How often a wait looks again although nothing told it to, how close together
// two looks may be, and after what silence it says what holds it.
const (
	pollEvery    = 500 * time.Millisecond
	lookDistance = 40 * time.Millisecond
	quietFor     = 10 * time.Second
)

// staleFor is how long a failure that is there from the beginning may stay
// before it ends a wait: it may be resolved already, and the agent about to act
// on that.
const staleFor = time.Second

// eachChange calls look after every change and at least so often, until it is
// done, fails, or the context ends, which is no error.
func (a *App) eachChange(ctx context.Context, s *services, every time.Duration, look func(context.Context) (done bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	wake := make(chan struct{}, 1)
	watching.Go(func() { a.wakeOnChange(ctx, s, wake) })
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if done, err := look(ctx); done || err != nil {
			return err
		}
		if !sleep(ctx, lookDistance) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-ticker.C:
		}
	}
}

// follow looks at the status after every change until the goal is reached, and
// has stayed so for a while if the flags say so, or has failed, or its time is
// up.
func (a *App) follow(ctx context.Context, s *services, f followFlags, g goal, p progress) error {
	wctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	defer p.end()
	var last verdict
	var since time.Time // reached without a break
	reached, first, stale, began := false, true, false, a.Now()
	err := a.eachChange(wctx, s, pollEvery, func(ctx context.Context) (bool, error) {
		st, err := a.status(ctx, s, true)
		switch {
		case err == nil:
			last = g.check(st)
			if last.waiting == "" && !last.done {
				last.waiting = g.String() + " is not reached yet"
			}
			p.show(st, last)
		case ctx.Err() != nil:
			return false, nil //nolint:nilerr // the context says why
		case !fault.Is(err, fault.Unavailable):
			return false, err
		default:
			last = verdict{waiting: "no server answers"}
			p.show(nil, last)
		}
		stale = last.failed != nil && (stale || first && fault.Is(last.failed, fault.EntityFailed))
		first = false
		switch {
		case stale && a.Now().Sub(began) < staleFor:
			return false, nil
		case last.failed != nil:
			return false, a.withOutput(ctx, s, last)
		case !last.done:
			since = time.Time{}
		case since.IsZero():
			since = a.Now()
		}
		reached = last.done && a.Now().Sub(since) >= f.stable
		return reached, nil
	})
	switch {
	case err != nil:
		return err
	case reached:
		return nil
	case ctx.Err() != nil:
		return a.interrupted(g.String())
	case last.failed != nil:
		return last.failed
	}
	if last.done {
		last.waiting = "it is reached, but has not stayed so for " + f.stable.String()
	}
	return timedOut(f.timeout, g.String(), last)
}

// outputWait bounds how long an error waits for the output it tells.
const outputWait = 3 * time.Second

// withOutput is the failure with the last lines that the failed thing wrote, if
// they can be had.
func (a *App) withOutput(ctx context.Context, s *services, v verdict) error {
	if v.logOf == "" {
		return v.failed
	}
	ctx, cancel := context.WithTimeout(ctx, outputWait)
	defer cancel()
	stream, err := s.Server.ReadLog(ctx, connect.NewRequest(&droverv1.ReadLogRequest{Model: a.flags.model, Target: v.logOf, Lines: outputLines}))
	if err != nil {
		return v.failed
	}
	defer stream.Close()
	var text strings.Builder
	for stream.Receive() && text.Len() < maxOutput {
		text.Write(stream.Msg().Data)
	}
	f := asFault(v.failed)
	if strings.TrimSpace(text.String()) == "" {
		return f
	}
	return f.Why("%s%s", f.Because, lastOutput(text.String()))
}

const maxOutput = 64 << 10

// wakeOnChange rings for every change of the model. A lost stream costs latency
// only: follow looks again by itself.
func (a *App) wakeOnChange(ctx context.Context, s *services, wake chan<- struct{}) {
	for ctx.Err() == nil {
		stream, err := s.Server.Watch(ctx, connect.NewRequest(&droverv1.WatchRequest{Model: a.flags.model}))
		if err == nil {
			for stream.Receive() {
				select {
				case wake <- struct{}{}:
				default:
				}
			}
			_ = stream.Close() // only looked at for wake-ups
		}
		sleep(ctx, pollEvery)
	}
}

// sleep waits; false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
