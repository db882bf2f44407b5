// Package presence is what the leader knows of its agents beside the store: when
// each was last heard, what its cell reports of itself, and which work it was
// sent and has not answered.
//
// It writes nothing to the store and asks no clock but its own; heartbeats and
// answers are told to it, actors read it. All of it is lost with leadership: a
// new leader makes a new Tracker, and nobody counts as silent before it has
// been up for one TTL.
//
// Invariants: a machine is silent only after a TTL without a sound, or a grace
// after its connection was reset; work counts against a cell from sending until
// a report that includes it.
//
// Spec: 002 "Detecting Cell Failures", "Distributing ActualLRPs: Auctioneer";
// SEMANTICS 13, 42.
package presence

import (
	"sort"
	"sync"
	"time"

	"drover/noun/work"
)

// The times of SEMANTICS 2 and 42.
const (
	DefaultTTL   = 15 * time.Second
	DefaultGrace = 5 * time.Second // after a connection was reset
	MaxGoodbye   = 10 * time.Minute
)

// Config is what a Tracker needs.
type Config struct {
	Now   func() time.Time
	TTL   time.Duration // 0: DefaultTTL
	Grace time.Duration // 0: DefaultGrace
}

// Report is what a cell says of itself. Facts that are stored are not here.
type Report struct {
	Reserved   work.Resources // by containers that exist, and by units
	Capacity   work.Resources
	Evacuating bool
	Unfit      string
	LastWork   uint64 // highest batch acted upon
}

// State is how a machine's agent is there.
type State uint8

// The states of an agent. Reset: its connection broke longer than the grace ago;
// its LRPs move, its tasks are given the full TTL. Silent: nothing was heard for
// a TTL.
const (
	_ State = iota
	Here
	Away
	Reset
	Silent
)

var stateNames = [...]string{"unset", "here", "away", "reset", "silent"}

// String is the state's name.
func (s State) String() string { return stateNames[s] }

// Tracker is the leader's view of its agents. Machines are named by the key of
// their row, "model/id". All methods may be called concurrently.
type Tracker struct {
	cfg   Config
	began time.Time

	mu       sync.Mutex // guards all below
	machines map[string]*machine
	cells    map[work.CellID]*cell
	watchers map[chan struct{}]bool // false: only of agents that are gone
}

type machine struct {
	heard time.Time // zero: not yet
	reset time.Time // when its connection broke; zero: it did not
	away  time.Time // until when it said goodbye
}

type cell struct {
	report   Report
	reported bool
	sent     []sent // in the order of batches
}

type sent struct {
	batch     uint64
	resources work.Resources
}

// New makes a tracker that has heard nobody; its time of grace begins now.
func New(cfg Config) *Tracker {
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	return &Tracker{
		cfg: cfg, began: cfg.Now(), machines: map[string]*machine{},
		cells: map[work.CellID]*cell{}, watchers: map[chan struct{}]bool{},
	}
}

// Began is when the tracker was made.
func (t *Tracker) Began() time.Time { return t.began }

// TTL is how long an agent may be silent.
func (t *Tracker) TTL() time.Duration { return t.cfg.TTL }

// Heard notes a sign of life of the machine's agent; it ends a goodbye.
func (t *Tracker) Heard(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.machine(key) = machine{heard: t.cfg.Now()}
}

// Goodbye notes that the agent will be back until then, at most MaxGoodbye.
func (t *Tracker) Goodbye(key string, until time.Time) {
	t.mu.Lock()
	now := t.cfg.Now()
	if last := now.Add(MaxGoodbye); until.After(last) {
		until = last
	}
	m := t.machine(key)
	m.heard, m.away = now, until
	t.mu.Unlock()
	t.ring(true)
}

// Disconnected notes that the agent's connection was reset by its side.
func (t *Tracker) Disconnected(key string) {
	t.mu.Lock()
	if m := t.machine(key); m.reset.IsZero() {
		m.reset = t.cfg.Now()
	}
	t.mu.Unlock()
	t.ring(true)
}

// Forget drops a machine that is removed.
func (t *Tracker) Forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.machines, key)
}

func (t *Tracker) machine(key string) *machine {
	m, ok := t.machines[key]
	if !ok {
		m = &machine{}
		t.machines[key] = m
	}
	return m
}

// LastHeard is when the machine's agent was last heard by this leader; false:
// not yet.
func (t *Tracker) LastHeard(key string) (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.machines[key]
	if !ok || m.heard.IsZero() {
		return time.Time{}, false
	}
	return m.heard, true
}

// State is how the machine's agent is there now, and when that changes if
// nothing is heard; zero: never.
func (t *Tracker) State(key string) (State, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.cfg.Now()
	m, ok := t.machines[key]
	if !ok {
		m = &machine{}
	}
	if m.away.After(now) {
		return Away, m.away
	}
	last := latest(m.heard, t.began, m.away)
	silent := last.Add(t.cfg.TTL)
	if !m.away.IsZero() {
		silent = m.away
	}
	if !now.Before(silent) {
		return Silent, time.Time{}
	}
	if m.reset.IsZero() || !m.away.IsZero() {
		return Here, silent
	}
	lost := latest(m.reset.Add(t.cfg.Grace), t.began.Add(t.cfg.TTL))
	if now.Before(lost) {
		return Here, earliest(lost, silent)
	}
	return Reset, silent
}

// Report notes what a cell says of itself. A report that is older than the last
// one, by its LastWork, changes nothing.
func (t *Tracker) Report(id work.CellID, r Report) {
	t.mu.Lock()
	c := t.cell(id)
	if c.reported && r.LastWork < c.report.LastWork {
		t.mu.Unlock()
		return
	}
	better := !c.reported || roomier(c.report, r) || c.report.Unfit != r.Unfit || c.report.Evacuating != r.Evacuating
	c.report, c.reported = r, true
	for len(c.sent) > 0 && c.sent[0].batch <= r.LastWork {
		c.sent = c.sent[1:]
	}
	t.mu.Unlock()
	if better {
		t.ring(false)
	}
}

// roomier reports whether some good is freer than before.
func roomier(before, now Report) bool {
	was, is := before.Capacity.Sub(before.Reserved), now.Capacity.Sub(now.Reserved)
	return is.MemoryMB > was.MemoryMB || is.DiskMB > was.DiskMB || is.Containers > was.Containers
}

// ForgetCell drops a cell that is lost or removed: it reports afresh.
func (t *Tracker) ForgetCell(id work.CellID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.cells, id)
}

func (t *Tracker) cell(id work.CellID) *cell {
	c, ok := t.cells[id]
	if !ok {
		c = &cell{}
		t.cells[id] = c
	}
	return c
}

// Reported is the cell's last report to this leader; false: none yet.
func (t *Tracker) Reported(id work.CellID) (Report, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.cells[id]
	if !ok || !c.reported {
		return Report{}, false
	}
	return c.report, true
}

// Sent counts a batch against the cell until a report includes it.
func (t *Tracker) Sent(id work.CellID, batch uint64, r work.Resources) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.cell(id)
	c.sent = append(c.sent, sent{batch, r})
	sort.Slice(c.sent, func(i, j int) bool { return c.sent[i].batch < c.sent[j].batch })
}

// Unsent stops counting a batch that did not get to the cell, or got no answer.
func (t *Tracker) Unsent(id work.CellID, batch uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.cell(id)
	for i, s := range c.sent {
		if s.batch == batch {
			c.sent = append(c.sent[:i:i], c.sent[i+1:]...)
			return
		}
	}
}

// Used is what is taken of the cell's capacity: what it reports, and what was
// sent to it since. False: it has not reported to this leader.
func (t *Tracker) Used(id work.CellID) (work.Resources, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.cells[id]
	if !ok || !c.reported {
		return work.Resources{}, false
	}
	used := c.report.Reserved
	for _, s := range c.sent {
		used = used.Add(s.resources)
	}
	return used, true
}

// Watch returns a channel that receives after a cell reported more room or
// another condition, or an agent left or lost its connection, and a function
// that ends it.
func (t *Tracker) Watch() (bell <-chan struct{}, stop func()) { return t.watch(true) }

// WatchGone is Watch for agents that left or lost their connection only.
func (t *Tracker) WatchGone() (bell <-chan struct{}, stop func()) { return t.watch(false) }

func (t *Tracker) watch(all bool) (bell <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	t.mu.Lock()
	t.watchers[c] = all
	t.mu.Unlock()
	return c, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watchers, c)
	}
}

func (t *Tracker) ring(gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, all := range t.watchers { // order-free: each is only rung
		if !all && !gone {
			continue
		}
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
