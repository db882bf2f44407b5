// Package cleaner works off recorded bulk work: settings of removed relations,
// units to be created beyond what one request may, units of Dying applications
// that were never deployed, forced removals, and answers to old requests.
//
// It decides nothing: each record says what is wanted, and keep/registry does
// one bounded step of it in one transaction. It records nothing itself.
//
// Invariants: a step changes at most registry.MaxCleanRows rows; a record goes
// with its last step, so what was begun is finished after any crash.
//
// Spec: 000 "juju remove-relation" (the cleanup document that nothing consumed);
// SEMANTICS 14, 17, 41, 52.
package cleaner

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"drover/internal/loop"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/when"
)

// requestsKey is the key whose steps forget answers to old requests; it is no
// cleanup's id.
const requestsKey = "requests"

const (
	pollEvery     = 30 * time.Second
	requestsEvery = 10 * time.Minute
)

// Config is what a Cleaner needs.
type Config struct {
	Store    *store.Store
	Registry *registry.Registry
	Now      func() time.Time
	Log      *slog.Logger
}

// Cleaner steps cleanups. Its keys are their ids.
type Cleaner struct {
	cfg  Config
	loop *loop.Loop
}

// New makes a cleaner; nothing runs until Run or Step.
func New(cfg Config) *Cleaner {
	c := &Cleaner{cfg: cfg}
	c.loop = loop.New(loop.Config{Name: "cleaner", Actor: c, Now: cfg.Now, Log: cfg.Log})
	return c
}

// Loop is the cleaner's loop, for a simulation that steps it.
func (c *Cleaner) Loop() *loop.Loop { return c.loop }

// Keys are the keys that there is something to do for.
func (c *Cleaner) Keys() []string {
	keys := []string{requestsKey}
	for _, q := range c.cfg.Registry.ListCleanups(c.cfg.Store.View()) {
		keys = append(keys, q.ID)
	}
	return keys
}

// Step does one step of the cleanup with the key as its id.
func (c *Cleaner) Step(ctx context.Context, key string) (loop.Next, error) {
	if key == requestsKey {
		more, err := c.cfg.Store.ExpireRequests(ctx)
		return loop.Next{Again: more, At: c.cfg.Now().Add(requestsEvery)}, err
	}
	var res registry.CleanResult
	_, err := c.cfg.Store.Update(ctx, func(tx *store.Txn) (err error) {
		res, err = c.cfg.Registry.CleanStep(tx, when.Of(c.cfg.Now()), key)
		return err
	})
	if err != nil {
		return loop.Next{}, err
	}
	if res.Rows > 0 {
		c.cfg.Log.Info("cleaned", "cleanup", key, "rows", res.Rows, "done", res.Done)
	}
	switch {
	case res.Done:
		return loop.Next{}, nil
	case res.Until.IsZero():
		return loop.Next{Again: true}, nil
	}
	return loop.Next{At: res.Until.Time()}, nil
}

// Run cleans until the context ends. It is run by the leader only.
func (c *Cleaner) Run(ctx context.Context) error {
	sub := c.cfg.Store.Subscribe(registry.CleanupTopic)
	defer sub.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { _ = c.loop.Run(ctx) })
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		sub.Take()
		c.loop.Wake(c.Keys()...)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sub.C():
		case <-poll.C:
		}
	}
}
