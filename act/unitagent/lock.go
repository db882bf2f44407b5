package unitagent

import (
	"context"
	"sync"
)

// Lock lets one hook at a time run on a machine, because hooks share its package
// manager and files (SEMANTICS 32). Methods may be called concurrently.
type Lock struct {
	turn chan struct{}

	mu     sync.Mutex // guards holder
	holder string
}

// NewLock makes a lock that nobody holds.
func NewLock() *Lock { return &Lock{turn: make(chan struct{}, 1)} }

// Acquire waits for the turn. Holder says who has it and what for.
func (l *Lock) Acquire(ctx context.Context, holder string) (release func(), err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.set(holder)
	return func() {
		l.set("")
		<-l.turn
	}, nil
}

func (l *Lock) set(holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder = holder
}

// Holder is who has the turn now, and what for; empty: nobody.
func (l *Lock) Holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder
}
