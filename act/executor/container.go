package executor

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"drover/noun/when"
	"drover/noun/work"
)

// container is one container in memory. The loop never steps one twice at once,
// so only what the API's callers touch too is guarded.
type container struct {
	place  Place
	origin work.Container // as reserved: who it is for, and its spec; immutable

	mu       sync.Mutex // guards meta, holds, deleting
	meta     meta
	holds    int // the rep is between claiming and running
	deleting bool

	leftover bool // a folder without readable meta; immutable

	// The rest belongs to the step.
	stopSent map[string]time.Time
	killAt   time.Time // of a deletion
	monitor  monitor
}

// monitor is the state of a container's probing.
type monitor struct {
	probes  map[string]outcome // of this round's checks
	next    time.Time          // of the next round
	wait    time.Duration      // grows while unhealthy
	failure string             // of the last round
}

// snapshot is a copy of what is recorded.
func (c *container) snapshot() (m meta, deleting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m = c.meta
	m.Said = slices.Clone(m.Said)
	if m.Ending != nil {
		e := *m.Ending
		m.Ending = &e
	}
	return m, c.deleting
}

func (c *container) account() work.Container {
	m, deleting := c.snapshot()
	m.Container.Deleting = deleting
	return m.Container
}

// update changes what is recorded, on disk first.
func (c *container) update(sync bool, change func(*meta)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.meta
	change(&next)
	if err := next.write(c.place.Dir, sync); err != nil {
		return err
	}
	c.meta = next
	return nil
}

// transition moves the container to a state that its present one allows.
func (c *container) transition(now time.Time, next work.ContainerState, change func(*meta)) error {
	c.mu.Lock()
	from := c.meta.Container.State
	c.mu.Unlock()
	if !from.CanBecome(next) {
		return fmt.Errorf("container %s: %s can not become %s", c.place.GUID, from, next)
	}
	// Forgetting that it began would begin it twice; forgetting how it ended, hide it.
	sync := next == work.Initializing || next == work.Completed
	return c.update(sync, func(m *meta) {
		m.Container.State, m.Container.Since = next, when.Of(now)
		if change != nil {
			change(m)
		}
	})
}
