package cli

import (
	"context"
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

// follow looks at the status after every change until the goal is reached, has
// failed, or its time is up.
func (a *App) follow(ctx context.Context, s *services, timeout time.Duration, g goal, p progress) error {
	wctx, cancel := context.WithTimeout(ctx, timeout)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	wake := make(chan struct{}, 1)
	watching.Go(func() { a.wakeOnChange(wctx, s, wake) })
	defer p.end()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last verdict
	for {
		st, err := a.status(wctx, s, true)
		switch {
		case err == nil:
			last = g.check(st)
			p.show(st, last)
			if last.failed != nil {
				return last.failed
			}
			if last.done {
				return nil
			}
		case wctx.Err() == nil && !fault.Is(err, fault.Unavailable):
			return err
		case wctx.Err() == nil:
			last = verdict{waiting: "no server answers"}
			p.show(nil, last)
		}
		if !sleep(wctx, lookDistance) {
			break
		}
		select {
		case <-wctx.Done():
		case <-wake:
		case <-ticker.C:
		}
		if wctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return a.interrupted(g.String())
	}
	return timedOut(timeout, g.String(), last)
}

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
