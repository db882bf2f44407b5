// Package loop is the one loop that every actor runs: woken by key, it looks,
// decides and acts, one step at a time for a key, different keys in parallel.
//
// Wake-ups carry keys only and coalesce; polling and events take the same path,
// so a lost event costs latency, never correctness. A step that fails is tried
// again in milliseconds, with back-off only on repetition.
//
// Run is for programs. A simulation never calls it: it asks for the keys that
// are due and calls StepKey itself, on its own clock, in its own order.
//
// Invariant: never two steps of one key at once.
package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Actor does one step for a key: look (read state again), decide (pure), act
// (one transaction or call). Step is never called twice at once for one key.
type Actor interface {
	Step(ctx context.Context, key string) (Next, error)
}

// Next says when the key wants its next step even if nothing wakes it. The zero
// Next waits for a wake-up.
type Next struct {
	Again bool      // at once: this step acted and there may be more
	At    time.Time // at this time
}

// Config is what a Loop needs.
type Config struct {
	Name    string
	Actor   Actor
	Now     func() time.Time
	Log     *slog.Logger
	Workers int           // keys in parallel; 0: 1
	Backoff time.Duration // longest wait after failures; 0: 10 s
}

const firstBackoff = 5 * time.Millisecond

// Loop drives an Actor. Wake may be called concurrently with everything.
type Loop struct {
	cfg  Config
	bell chan struct{}

	mu    sync.Mutex // guards queue
	queue queue
}

// New makes a loop; nothing runs until Run or StepKey.
func New(cfg Config) *Loop {
	if cfg.Workers == 0 {
		cfg.Workers = 1
	}
	if cfg.Backoff == 0 {
		cfg.Backoff = 10 * time.Second
	}
	return &Loop{cfg: cfg, bell: make(chan struct{}, 1), queue: newQueue()}
}

// Wake marks keys as due now. It never blocks.
func (l *Loop) Wake(keys ...string) {
	l.mu.Lock()
	for _, k := range keys {
		l.queue.wake(l.queue.entry(k))
	}
	l.mu.Unlock()
	l.ring()
}

// Forget drops a key that will not come back.
func (l *Loop) Forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.queue.keys[key]; ok && !e.busy {
		l.queue.forget(e)
	}
}

func (l *Loop) ring() {
	select {
	case l.bell <- struct{}{}:
	default:
	}
}

// Due lists the keys that are due at the time and not busy, in the order in
// which they were woken, then by time and key.
func (l *Loop) Due(now time.Time) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.due(now)
}

// Deadline is the earliest time at which a key becomes due by itself; zero when
// none will.
func (l *Loop) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue.timers) == 0 {
		return time.Time{}
	}
	return l.queue.timers[0].due
}

// begin marks the key busy; false when it is busy already.
func (l *Loop) begin(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.queue.entry(key)
	if e.busy {
		return false
	}
	l.queue.calm(e)
	e.busy = true
	return true
}

func (l *Loop) end(key string, next Next, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.queue.keys[key]
	e.busy = false
	if err != nil {
		wait := min(firstBackoff<<min(e.failures, 16), l.cfg.Backoff)
		e.failures++
		l.queue.schedule(e, l.cfg.Now().Add(wait))
		return
	}
	e.failures = 0
	switch {
	case next.Again:
		l.queue.again(e)
	case !next.At.IsZero():
		l.queue.schedule(e, next.At)
	case e.place == nil:
		l.queue.forget(e)
	}
}

// StepKey does one step for the key on the caller's goroutine and returns the
// step's error, which is also logged and leads to a retry.
func (l *Loop) StepKey(ctx context.Context, key string) error {
	if !l.begin(key) {
		return nil
	}
	return l.step(ctx, key)
}

// step does the step of a key that begin marked busy.
func (l *Loop) step(ctx context.Context, key string) error {
	next, err := l.cfg.Actor.Step(ctx, key)
	if err != nil && ctx.Err() == nil {
		l.cfg.Log.Warn("step failed, will try again", "loop", l.cfg.Name, "key", key, "err", err)
	}
	l.end(key, next, err)
	return err
}

// Run steps due keys until the context ends, then waits for the steps under way.
func (l *Loop) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, l.cfg.Workers)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		for _, key := range l.Due(l.cfg.Now()) {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			if !l.begin(key) {
				<-slots
				continue
			}
			wg.Go(func() {
				_ = l.step(ctx, key)
				<-slots
				l.ring()
			})
		}
		wait := time.Hour
		if d := l.Deadline(); !d.IsZero() {
			wait = max(0, d.Sub(l.cfg.Now()))
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.bell:
		case <-timer.C:
		}
	}
}
