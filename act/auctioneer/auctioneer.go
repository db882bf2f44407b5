// Package auctioneer brings UNCLAIMED LRPs and PENDING tasks to cells, one batch
// after the other.
//
// It never claims or starts anything: cells do. It sends each cell the work that
// placement chose for it and waits for the answer: what was refused goes into
// the next batch, what gets no answer is left to convergence, what fits nowhere
// waits with its placement error for a change of capacity.
//
// Invariants: identical work is sent once at a time; work sent and not yet
// answered counts against its cell; a task fails for lack of room only on a
// complete view (SEMANTICS 77).
//
// Spec: 002 "Distributing ActualLRPs: Auctioneer", "Distributing Tasks:
// Auctioneer", "Communicating Fullness"; SEMANTICS 8, 68.
package auctioneer

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/act/presence"
	"drover/internal/loop"
	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/work"
)

// The times of an auction.
const (
	AnswerWithin = 10 * time.Second       // a cell that is silent longer is left to convergence
	RetryEvery   = 30 * time.Second       // what fits nowhere, without any change
	firstRetry   = 100 * time.Millisecond // after a second refusal
	longestRetry = 10 * time.Second
	longestRest  = time.Second // between auctions that place nothing, while capacity grows
)

// Cells is how work gets to a cell. Send hands the batch to the cell's
// connection; the answer comes through Ack.
type Cells interface {
	Send(ctx context.Context, cell work.CellID, b Batch) error
}

// Batch is the work of one auction for one cell. A cell refuses an epoch lower
// than the highest it has seen.
type Batch struct {
	ID    uint64
	Epoch uint64
	Items []Work
}

// Work is one item of a batch: an index of an LRP with its new instance, or with
// a Task a task.
type Work struct {
	LRP         work.LRPKey
	Instance    work.InstanceGUID
	Task        work.TaskGUID
	Incarnation work.Incarnation
	Domain      work.Domain
	Spec        work.Spec
	ResultFile  string
}

// Refusal is an item that a cell did not take.
type Refusal struct {
	LRP    work.LRPKey
	Task   work.TaskGUID
	Reason string
}

// Config is what an auctioneer needs.
type Config struct {
	Store    *store.Store
	Board    *board.Board
	Presence *presence.Tracker
	Cells    Cells
	Epoch    uint64 // of this leader
	Now      func() time.Time
	NewID    func() string // of instances
	Log      *slog.Logger
}

// Auctioneer is the actor; its only key is Key. Ack, EmitLRP, EmitTask and
// Notice may be called concurrently with everything.
type Auctioneer struct {
	cfg  Config
	loop *loop.Loop

	mu       sync.Mutex // guards all below
	all      bool       // everything is to be looked at
	guids    map[work.ProcessGUID]struct{}
	tasks    map[work.TaskGUID]struct{}
	waiting  map[item]*wait
	touched  map[work.CellID]struct{}
	known    map[work.CellID]work.Cell // rows of the last auction
	capacity bool                      // grew since the last auction
	patience time.Duration             // between auctions for grown capacity alone
	rest     time.Time                 // none such before
	batches  map[uint64]*batch
	inflight map[item]sentItem
	next     uint64 // batch id
}

// Key is the key of the auctioneer's loop.
const Key = "auction"

// item is the identity of work: the record that asks for it.
type item struct {
	lrp  work.LRPKey
	task work.TaskGUID
}

// wait is work that has no cell: tried again at once when ready, at its time, or
// if it fitted nowhere when capacity changes.
type wait struct {
	failed  bool // it fitted nowhere
	again   time.Time
	refused int // by cells, in a row
}

type batch struct {
	cell  work.CellID
	items []item
	late  time.Time
}

// sentItem is work that a cell was sent, of the record as it was then.
type sentItem struct {
	batch uint64
	cell  work.CellID
	of    string // the version of the record

	refused int // by cells, in a row, before
}

// New makes an auctioneer that has yet to look at everything.
func New(cfg Config) *Auctioneer {
	a := &Auctioneer{
		cfg: cfg, all: true,
		guids: map[work.ProcessGUID]struct{}{}, tasks: map[work.TaskGUID]struct{}{},
		touched: map[work.CellID]struct{}{}, known: map[work.CellID]work.Cell{},
		waiting: map[item]*wait{}, batches: map[uint64]*batch{}, inflight: map[item]sentItem{},
		next: uint64(cfg.Now().UnixMicro()), // ids grow over changes of leader
	}
	a.loop = loop.New(loop.Config{Name: "auctioneer", Actor: a, Now: cfg.Now, Log: cfg.Log, Backoff: time.Second})
	a.loop.Wake(Key)
	return a
}

// Loop is the auctioneer's loop, for whoever steps it.
func (a *Auctioneer) Loop() *loop.Loop { return a.loop }

// Run auctions until the context ends.
func (a *Auctioneer) Run(ctx context.Context) error {
	sub := a.cfg.Store.Subscribe()
	defer sub.Close()
	bell, stop := a.cfg.Presence.Watch()
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
				a.Notice(sub.Take()...)
			case <-bell:
				a.CapacityChanged()
			}
		}
	})
	return a.loop.Run(ctx)
}

// Notice marks the LRPs and tasks of the topics to be looked at; other topics
// are ignored, but a cell's row that changed means that capacity may have grown.
func (a *Auctioneer) Notice(topics ...store.Topic) {
	a.mu.Lock()
	mine := false
	for _, t := range topics {
		kind, name, _ := strings.Cut(string(t), "/")
		switch kind {
		case "lrp":
			a.guids[work.ProcessGUID(name)] = struct{}{}
		case "task":
			a.tasks[work.TaskGUID(name)] = struct{}{}
		case "cell":
			a.touched[work.CellID(name)] = struct{}{}
		default:
			continue
		}
		mine = true
	}
	a.mu.Unlock()
	if mine {
		a.loop.Wake(Key)
	}
}

// CapacityChanged has what fitted nowhere tried again.
func (a *Auctioneer) CapacityChanged() {
	a.mu.Lock()
	a.capacity = true
	a.mu.Unlock()
	a.loop.Wake(Key)
}

// EmitLRP is convergence's start request for an index: whatever was sent for it
// longer than the answer's time ago is forgotten.
func (a *Auctioneer) EmitLRP(k work.LRPKey) {
	a.emit(item{lrp: k}, func() { a.guids[k.ProcessGUID] = struct{}{} })
}

// EmitTask is convergence's start request for a task.
func (a *Auctioneer) EmitTask(g work.TaskGUID) {
	a.emit(item{task: g}, func() { a.tasks[g] = struct{}{} })
}

func (a *Auctioneer) emit(i item, mark func()) {
	a.mu.Lock()
	if s, ok := a.inflight[i]; ok {
		if _, pending := a.batches[s.batch]; !pending {
			delete(a.inflight, i)
		}
	}
	mark()
	a.mu.Unlock()
	a.loop.Wake(Key)
}

// Ack is a cell's answer to a batch: what it refused goes into the next one.
// Answers to batches of another leader, or that came too late, change nothing.
func (a *Auctioneer) Ack(cell work.CellID, id uint64, refused []Refusal) {
	a.mu.Lock()
	b, ok := a.batches[id]
	if !ok || b.cell != cell {
		a.mu.Unlock()
		return
	}
	delete(a.batches, id)
	for _, r := range refused {
		i := item{lrp: r.LRP, task: r.Task}
		if s, ok := a.inflight[i]; ok && s.batch == id {
			delete(a.inflight, i)
			a.carryOver(i, s.refused)
		}
	}
	a.mu.Unlock()
	for _, r := range refused {
		a.cfg.Log.Info("work refused", "cell", cell, "lrp", r.LRP.ProcessGUID, "index", r.LRP.Index, "task", r.Task, "why", r.Reason)
	}
	if len(refused) > 0 {
		a.loop.Wake(Key)
	}
}

// carryOver puts refused work into the next batch: at once, with back-off only
// on repetition.
func (a *Auctioneer) carryOver(i item, before int) {
	w := &wait{refused: before + 1}
	if before > 0 {
		w.again = a.cfg.Now().Add(min(firstRetry<<min(before-1, 10), longestRetry))
	}
	a.waiting[i] = w
}

func compareItems(x, y item) int {
	return cmp.Or(cmp.Compare(x.task, y.task),
		cmp.Compare(x.lrp.ProcessGUID, y.lrp.ProcessGUID), cmp.Compare(x.lrp.Index, y.lrp.Index))
}

func sorted[K cmp.Ordered](set map[K]struct{}) []K {
	keys := make([]K, 0, len(set))
	for k := range set { // order-free: sorted below
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
