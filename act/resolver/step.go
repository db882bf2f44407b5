package resolver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"drover/decide/convergence"
	"drover/internal/loop"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// The times of a call and between calls that failed.
const (
	callTimeout  = 10 * time.Second
	firstBackoff = time.Second
	maxBackoff   = 8 * time.Second
)

// Step resolves the task with the key as its topic, if that is wanted now.
func (r *Resolver) Step(ctx context.Context, key string) (loop.Next, error) {
	_, name, _ := strings.Cut(key, "/")
	g := work.TaskGUID(name)
	t, ok := r.cfg.Board.Task(r.cfg.Store.View(), g)
	if !ok {
		r.forget(g)
		return loop.Next{}, nil
	}
	c, held := r.held(&t)
	if !held {
		now := when.Of(r.cfg.Now())
		call, again := convergence.Callback(&t, now)
		if !call {
			return loop.Next{At: again.Time()}, nil
		}
		if began, err := r.begin(ctx, now, &t); err != nil || !began {
			return loop.Next{}, err
		}
		c = claim{incarnation: t.Incarnation, since: now}
		r.keep(g, c)
	}
	return r.resolve(ctx, &t, c)
}

// held is the resolver's own claim to the RESOLVING task. A claim to what it was
// before is dropped.
func (r *Resolver) held(t *work.Task) (claim, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.mine[t.GUID]
	if ok && t.State == work.TaskResolving && t.Incarnation == c.incarnation && t.Updated == c.since {
		return c, true
	}
	delete(r.mine, t.GUID)
	return claim{}, false
}

func (r *Resolver) keep(g work.TaskGUID, c claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mine[g] = c
}

func (r *Resolver) forget(g work.TaskGUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mine, g)
}

func (r *Resolver) begin(ctx context.Context, now when.Instant, t *work.Task) (began bool, err error) {
	_, err = r.cfg.Store.Update(ctx, func(tx *store.Txn) (err error) {
		began, err = r.cfg.Board.BeginResolving(tx, now, t.GUID, t.Incarnation)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("resolve task %s: %w", t.GUID, err)
	}
	return began, nil
}

// resolve calls the callback, unless it has answered before, and deletes the
// task. It calls only while the task is its own.
func (r *Resolver) resolve(ctx context.Context, t *work.Task, c claim) (loop.Next, error) {
	if !c.delivered {
		now := r.cfg.Now()
		left := c.since.Add(convergence.ResolvingTooLong).Sub(when.Of(now))
		switch {
		case left <= 0:
			return loop.Next{}, nil // convergence takes it back
		case now.Before(c.next): // woken by its own change
			return loop.Next{At: c.next}, nil
		}
		if err := r.call(ctx, t, min(left, callTimeout)); err != nil {
			return r.failed(ctx, t, c, err)
		}
		c.delivered = true
		r.keep(t.GUID, c)
	}
	_, err := r.cfg.Store.Update(ctx, func(tx *store.Txn) error {
		r.cfg.Board.EndResolving(tx, t.GUID, c.incarnation, c.since)
		return nil
	})
	if err != nil {
		return loop.Next{}, fmt.Errorf("delete resolved task %s: %w", t.GUID, err)
	}
	r.forget(t.GUID)
	r.cfg.Log.Info("callback delivered", "task", t.GUID, "failed", t.Failed)
	return loop.Next{}, nil
}

// failed notes when to call again.
func (r *Resolver) failed(ctx context.Context, t *work.Task, c claim, err error) (loop.Next, error) {
	if ctx.Err() != nil {
		return loop.Next{}, ctx.Err()
	}
	c.next = r.cfg.Now().Add(min(firstBackoff<<min(c.failures, 8), maxBackoff))
	c.failures++
	r.keep(t.GUID, c)
	r.cfg.Log.Warn("callback not delivered, will try again", "task", t.GUID, "err", err)
	return loop.Next{At: c.next}, nil
}

func (r *Resolver) call(ctx context.Context, t *work.Task, timeout time.Duration) error {
	body, err := json.Marshal(messageOf(t))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	status, err := r.cfg.Callbacks.Post(ctx, t.Callback, body)
	if err == nil && status >= 500 {
		err = fmt.Errorf("it answered %d", status)
	}
	return err
}

// message is what a callback is sent; the names are those that Diego sends. Its
// size is bounded by the bounds of what it is made of.
type message struct {
	GUID          string `json:"task_guid"`
	Failed        bool   `json:"failed"`
	FailureReason string `json:"failure_reason"`
	Result        string `json:"result"`
	Annotation    string `json:"annotation,omitempty"`
	CreatedAt     int64  `json:"created_at"` // nanoseconds since 1970
}

func messageOf(t *work.Task) message {
	return message{
		GUID: string(t.GUID), Failed: t.Failed, FailureReason: t.FailureReason, Result: t.Result,
		Annotation: t.Annotation, CreatedAt: t.Created.Time().UnixNano(),
	}
}
