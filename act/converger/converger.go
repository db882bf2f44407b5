// Package converger keeps the board's records in step with what is desired and
// with which cells are there.
//
// Changes mark keys, timers are the loop's deadlines, and a sweep every 30 s
// looks at everything once: a lost wake-up costs time, never correctness. It
// places nothing and stops nothing itself: starts are asked of the auctioneer,
// stops of the cells.
//
// Invariants: P7, P9, T7; a cell's loss is written before what it held is moved.
//
// Spec: 002 "Harmonizing DesiredLRPs with ActualLRPs: Convergence", "Detecting
// Cell Failures", "Tasks / Maintaining Consistency: Convergence"; SEMANTICS 42,
// 66, 69.
package converger

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"drover/act/presence"
	"drover/internal/loop"
	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// SweepEvery is how often everything is looked at.
const SweepEvery = 30 * time.Second

// actionsAtOnce is how many changes one transaction makes.
const actionsAtOnce = 1000

// Starts takes start requests. Spec: 002 "Starting ActualLRPs".
type Starts interface {
	EmitLRP(work.LRPKey)
	EmitTask(work.TaskGUID)
}

// Cells is how a cell is told to stop a container. A cell that is not connected
// is an error; it is told again.
type Cells interface {
	Stop(ctx context.Context, cell work.CellID, s Stop) error
}

// Stop names the container to stop: an LRP's instance, or with a TaskIncarnation
// a cancelled task's.
type Stop struct {
	LRP             work.LRPKey
	Instance        work.InstanceGUID
	TaskIncarnation work.Incarnation
	Epoch           uint64
}

// Config is what a converger needs.
type Config struct {
	Store    *store.Store
	Board    *board.Board
	Presence *presence.Tracker
	Starts   Starts
	Cells    Cells
	Epoch    uint64
	Now      func() time.Time
	Log      *slog.Logger
}

// Converger is the actor. Its keys are "sweep" and the topics "lrp/<guid>",
// "task/<guid>", "cell/<id>" and "domain/<name>".
type Converger struct {
	cfg  Config
	loop *loop.Loop

	mu        sync.Mutex           // guards all below
	said      map[string]time.Time // what was said last, and when
	cancelled map[work.Incarnation]struct{}
}

// Sweep is the key of the look at everything.
const Sweep = "sweep"

// New makes a converger that begins with a sweep.
func New(cfg Config) *Converger {
	c := &Converger{cfg: cfg, said: map[string]time.Time{}, cancelled: map[work.Incarnation]struct{}{}}
	c.loop = loop.New(loop.Config{Name: "converger", Actor: c, Now: cfg.Now, Log: cfg.Log})
	c.loop.Wake(Sweep)
	return c
}

// Loop is the converger's loop, for whoever steps it.
func (c *Converger) Loop() *loop.Loop { return c.loop }

// Run converges until the context ends.
func (c *Converger) Run(ctx context.Context) error {
	sub := c.cfg.Store.Subscribe()
	defer sub.Close()
	bell, stop := c.cfg.Presence.Watch()
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-sub.C():
				c.Notice(sub.Take()...)
			case <-bell:
				c.PresenceChanged()
			}
		}
	})
	return c.loop.Run(ctx)
}

// Notice wakes the keys of the topics that are the board's.
func (c *Converger) Notice(topics ...store.Topic) {
	for _, t := range topics {
		switch kind, _, _ := strings.Cut(string(t), "/"); kind {
		case "lrp", "task", "cell", "domain":
			c.loop.Wake(string(t))
		}
	}
}

// PresenceChanged has every cell looked at.
func (c *Converger) PresenceChanged() {
	for cell := range c.cfg.Board.AllCells(c.cfg.Store.View()) {
		c.loop.Wake(string(board.CellTopic(cell.ID)))
	}
}

// Step converges one key.
func (c *Converger) Step(ctx context.Context, key string) (loop.Next, error) {
	now := when.Of(c.cfg.Now())
	kind, name, _ := strings.Cut(key, "/")
	switch kind {
	case "lrp":
		return c.lrp(ctx, now, work.ProcessGUID(name))
	case "task":
		return c.task(ctx, now, work.TaskGUID(name))
	case "cell":
		return c.cell(ctx, now, work.CellID(name))
	case "domain":
		return c.domain(ctx, now, work.Domain(name))
	case Sweep:
		return c.sweep(ctx, now)
	}
	return loop.Next{}, nil
}

func at(i when.Instant) loop.Next { return loop.Next{At: i.Time()} }
