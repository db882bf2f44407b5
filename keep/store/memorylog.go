package store

import (
	"bytes"
	"context"
	"slices"
	"sync"
)

// MemoryCluster is a log in memory, shared by the servers of one process. It
// starts no goroutine: whoever appends delivers the entry to all servers before
// Append returns. Leadership changes only by Elect and by faults. It is for tests
// and simulation, and keeps everything when a server restarts, as a disk would.
type MemoryCluster struct {
	mu       sync.Mutex // guards all; held while machines are called
	members  []*MemoryLog
	entries  []memoryEntry // committed after base
	bytes    int
	base     int // entries that the snapshot stands for
	snapshot []byte
	late     []memoryEntry // with unknown outcome, committed by what comes next
	epoch    uint64
	leader   *MemoryLog
}

type memoryEntry struct {
	epoch uint64
	data  []byte
}

// memoryLogBytes is the size of entries beyond which a snapshot replaces them.
const memoryLogBytes = 16 << 20

// MemoryLog is one server's part of a MemoryCluster.
type MemoryLog struct {
	c       *MemoryCluster
	name    string
	machine Machine // nil before Start and after Close
	applied int
	held    bool
	alone   bool
	faults  []Fault
}

// NewMemoryLog is the log of a single server, which leads from Start on.
func NewMemoryLog() *MemoryLog {
	l := NewMemoryCluster("memory").Log("memory")
	l.alone = true
	return l
}

// NewMemoryCluster is a log of the named servers. None leads until Elect.
func NewMemoryCluster(names ...string) *MemoryCluster {
	c := &MemoryCluster{}
	for _, name := range names {
		c.members = append(c.members, &MemoryLog{c: c, name: name})
	}
	return c
}

// Cluster is the cluster that the log is a part of.
func (l *MemoryLog) Cluster() *MemoryCluster { return l.c }

// Log is the part of the named server.
func (c *MemoryCluster) Log(name string) *MemoryLog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[c.index(name)]
}

func (c *MemoryCluster) index(name string) int {
	i := slices.IndexFunc(c.members, func(l *MemoryLog) bool { return l.name == name })
	if i < 0 {
		panic("store: no server " + name + " in the memory log") //nolint:forbidigo // a mistake of the test
	}
	return i
}

// Restart ends the server's part as a crash would and returns a new one, which
// delivers everything again once it is started. A leader loses its leadership.
func (c *MemoryCluster) Restart(name string) *MemoryLog {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.index(name)
	old := c.members[i]
	if c.leader == old {
		c.depose()
	}
	old.machine = nil
	c.members[i] = &MemoryLog{c: c, name: name, alone: old.alone}
	return c.members[i]
}

// Elect makes the named server the leader, in a new epoch.
func (c *MemoryCluster) Elect(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elect(c.members[c.index(name)])
}

func (c *MemoryCluster) elect(l *MemoryLog) {
	c.depose()
	c.epoch++
	c.settle()
	_ = c.deliver(l) // the answers were given when the entries were committed
	c.leader = l
	for _, m := range c.members {
		if m.machine == nil {
			continue
		}
		lead := Leadership{Leader: l.name, Address: l.name}
		if m == l {
			lead.Leading, lead.Epoch = true, c.epoch
		}
		m.machine.Lead(lead)
	}
}

// Depose ends the reign; nobody leads until Elect.
func (c *MemoryCluster) Depose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.depose()
}

func (c *MemoryCluster) depose() {
	if c.leader == nil {
		return
	}
	c.leader = nil
	for _, m := range c.members {
		if m.machine != nil {
			m.machine.Lead(Leadership{})
		}
	}
}

// Hold stops delivering to the server, as if it were slow, until Release. A held
// leader gets its entries nevertheless.
func (c *MemoryCluster) Hold(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[c.index(name)].held = true
}

// Release delivers what was held back.
func (c *MemoryCluster) Release(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.members[c.index(name)]
	l.held = false
	_ = c.deliver(l) // as in elect
}

// Compact replaces the entries by a snapshot of the named server's state.
func (c *MemoryCluster) Compact(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.members[c.index(name)]
	if l.machine == nil {
		return Closed()
	}
	_ = c.deliver(l) // as in elect
	return c.compact(l)
}

func (c *MemoryCluster) compact(l *MemoryLog) error {
	var b bytes.Buffer
	if _, err := l.machine.Snapshot().WriteTo(&b); err != nil {
		return err
	}
	c.entries = slices.Clone(c.entries[l.applied-c.base:])
	c.base, c.snapshot, c.bytes = l.applied, b.Bytes(), 0
	for _, e := range c.entries {
		c.bytes += len(e.data)
	}
	return nil
}

// deliver brings a server up to date and returns its answer to the last entry.
func (c *MemoryCluster) deliver(l *MemoryLog) (answer error) {
	if l.machine == nil {
		return nil
	}
	if l.applied < c.base {
		if err := l.machine.Restore(bytes.NewReader(c.snapshot)); err != nil {
			return err
		}
		l.applied = c.base
	}
	for l.applied < c.base+len(c.entries) {
		e := c.entries[l.applied-c.base]
		l.applied++
		answer = l.machine.Apply(e.epoch, e.data)
	}
	return answer
}

// settle commits the entries of unknown outcome that come late.
func (c *MemoryCluster) settle() {
	late := c.late
	c.late = nil
	for _, e := range late {
		_ = c.commit(e, nil)
	}
}

// commit adds an entry, delivers it and returns the answer of by's machine.
func (c *MemoryCluster) commit(e memoryEntry, by *MemoryLog) (answer error) {
	c.entries = append(c.entries, e)
	c.bytes += len(e.data)
	for _, m := range c.members {
		if m == by || !m.held {
			if a := c.deliver(m); m == by {
				answer = a
			}
		}
	}
	if by != nil && c.bytes > memoryLogBytes {
		if err := c.compact(by); err != nil {
			return err
		}
	}
	return answer
}

// Start implements Log.
func (l *MemoryLog) Start(m Machine) error {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.machine = m
	if l.applied < l.c.base {
		if err := m.Restore(bytes.NewReader(l.c.snapshot)); err != nil {
			l.machine = nil
			return err
		}
		l.applied = l.c.base
	}
	_ = l.c.deliver(l) // the answers were given when the entries were committed
	switch lead := l.c.leader; {
	case l.alone:
		l.c.elect(l)
	case lead != nil:
		m.Lead(Leadership{Leader: lead.name, Address: lead.name})
	}
	return nil
}

// Append implements Log.
func (l *MemoryLog) Append(epoch uint64, data []byte) error {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	fault := l.takeFault()
	if fault.Until != nil {
		c.mu.Unlock()
		<-fault.Until
		c.mu.Lock()
	}
	if err := l.leads(epoch); err != nil {
		return err
	}
	e := memoryEntry{epoch, slices.Clone(data)}
	c.settle()
	switch fault.Kind {
	case FaultRefused:
		return NotApplied("the log refused it (injected)")
	case FaultLost:
		return Unknown("the answer was lost (injected)")
	case FaultKept:
		_ = c.commit(e, l)
		return Unknown("the answer was lost (injected)")
	case FaultLate:
		c.late = append(c.late, e)
		return Unknown("the answer was lost (injected)")
	case FaultDeposed:
		c.depose()
		return Unknown("leadership was lost (injected)")
	case FaultDeposedLate:
		c.late = append(c.late, e)
		c.depose()
		return Unknown("leadership was lost (injected)")
	default:
		return c.commit(e, l)
	}
}

func (l *MemoryLog) leads(epoch uint64) error {
	switch c := l.c; {
	case l.machine == nil:
		return Closed()
	case c.leader == nil:
		return NotLeader("", "")
	case c.leader != l || c.epoch != epoch:
		return NotLeader(c.leader.name, c.leader.name)
	}
	return nil
}

// Barrier implements Log.
func (l *MemoryLog) Barrier(epoch uint64) error {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if err := l.leads(epoch); err != nil {
		return err
	}
	l.c.settle()
	return nil
}

// Verify implements Log.
func (l *MemoryLog) Verify(_ context.Context, epoch uint64) error {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.leads(epoch)
}

// Close implements Log.
func (l *MemoryLog) Close() error {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.c.leader == l {
		l.c.depose()
	}
	l.machine = nil
	return nil
}
