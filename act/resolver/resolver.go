// Package resolver hands completed tasks to their callbacks and deletes what was
// delivered.
//
// A task is made RESOLVING before its callback is called, so that no second
// resolver calls it too; any answer below 500 delivers it. What fails is tried
// again with back-off while the task is this resolver's. It takes no task back:
// convergence makes what was RESOLVING for too long COMPLETED, and deletes what
// nobody could deliver in its time.
//
// Invariant: T5. A callback may be called twice when the answer is lost.
//
// Spec: 002 "Tasks / Resolving Completed Tasks"; SEMANTICS 75.
package resolver

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"drover/internal/loop"
	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

const (
	pollEvery = 30 * time.Second
	atOnce    = 32 // callbacks that are called at the same time
)

// Callbacks is how a callback is called. It is bounded by the context's time, and
// may be called concurrently.
type Callbacks interface {
	// Post sends the JSON body and returns the answer's status.
	Post(ctx context.Context, url string, body []byte) (status int, err error)
}

// Config is what a Resolver needs.
type Config struct {
	Store     *store.Store
	Board     *board.Board
	Callbacks Callbacks
	Now       func() time.Time
	Log       *slog.Logger
}

// Resolver is the actor. Its keys are the topics "task/<guid>".
type Resolver struct {
	cfg  Config
	loop *loop.Loop

	mu   sync.Mutex // guards mine
	mine map[work.TaskGUID]claim
}

// claim is a task that this resolver made RESOLVING.
type claim struct {
	incarnation work.Incarnation
	since       when.Instant
	failures    int
	next        time.Time // not called before
	delivered   bool
}

// New makes a resolver; nothing runs until Run or Step.
func New(cfg Config) *Resolver {
	r := &Resolver{cfg: cfg, mine: map[work.TaskGUID]claim{}}
	r.loop = loop.New(loop.Config{Name: "resolver", Actor: r, Now: cfg.Now, Log: cfg.Log, Workers: atOnce})
	return r
}

// Loop is the resolver's loop, for whoever steps it.
func (r *Resolver) Loop() *loop.Loop { return r.loop }

// Notice wakes the keys of the topics that are tasks.
func (r *Resolver) Notice(topics ...store.Topic) {
	for _, t := range topics {
		if strings.HasPrefix(string(t), "task/") {
			r.loop.Wake(string(t))
		}
	}
}

// Look wakes the keys of all tasks that may be waiting for their callback.
func (r *Resolver) Look() {
	for t := range r.cfg.Board.TasksIn(r.cfg.Store.View(), work.TaskCompleted) {
		if t.Callback != "" {
			r.loop.Wake(string(board.TaskTopic(t.GUID)))
		}
	}
}

// Run resolves until the context ends. It is run by the leader only.
func (r *Resolver) Run(ctx context.Context) error {
	sub := r.cfg.Store.Subscribe()
	defer sub.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { _ = r.loop.Run(ctx) })
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	r.Look()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sub.C():
			r.Notice(sub.Take()...)
		case <-poll.C:
			r.Look()
		}
	}
}
