package store

import (
	"context"
	"errors"
)

var errReignEnded = errors.New("this server does not lead any more")

// reign is one time of leading, from its announcement to its end.
type reign struct {
	epoch uint64
	ctx   context.Context // done when the reign ends
	end   context.CancelCauseFunc
}

// Leadership says who leads, as far as this server knows.
func (s *Store) Leadership() Leadership {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leadership
}

// LeadershipChanged is closed at the next change of what Leadership tells.
func (s *Store) LeadershipChanged() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Ready waits until a leader is known: when this server is that leader, it can
// write.
func (s *Store) Ready(ctx context.Context) error {
	for {
		s.mu.Lock()
		l, changed := s.leadership, s.changed
		s.mu.Unlock()
		if l.Leading || l.Leader != "" {
			return nil
		}
		select {
		case <-changed:
		case <-s.done:
			return Closed()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// WhileLeading runs fn each time that this server leads, with the epoch of the
// reign and a context that ends with it, one run after the other. It returns when
// the context or the store ends, or with the error of an fn that failed while
// this server led. The leader's loops live in fn.
func (s *Store) WhileLeading(ctx context.Context, fn func(ctx context.Context, epoch uint64) error) error {
	var last *reign
	for {
		s.mu.Lock()
		r, changed := s.reign, s.changed
		s.mu.Unlock()
		if r != nil && r != last {
			last = r
			if err := r.run(ctx, fn); err != nil && r.ctx.Err() == nil && ctx.Err() == nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-s.done:
			return Closed()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *reign) run(ctx context.Context, fn func(context.Context, uint64) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()
	return fn(ctx, r.epoch)
}

// lead takes note of who leads.
func (s *Store) lead(l Leadership) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leadership == l || s.closedState && l.Leading {
		return
	}
	if s.reign != nil && (!l.Leading || l.Epoch != s.reign.epoch) {
		s.reign.end(errReignEnded)
		s.reign = nil
	}
	if l.Leading && s.reign == nil {
		s.reign = &reign{epoch: l.Epoch}
		s.reign.ctx, s.reign.end = context.WithCancelCause(context.Background())
	}
	s.leadership = l
	close(s.changed)
	s.changed = make(chan struct{})
}

// Fresh is a state that holds every write acknowledged before the call, by any
// server. Only the leader can give it; others answer NotLeaderError.
func (s *Store) Fresh(ctx context.Context) (*View, error) {
	l := s.Leadership()
	if !l.Leading {
		return nil, NotLeader(l.Leader, l.Address)
	}
	if err := s.log.Verify(ctx, l.Epoch); err != nil {
		return nil, err
	}
	return s.View(), nil
}
