package sim

import "time"

// epoch is when every simulation begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// clock is the one clock of a simulation. It moves only when told.
type clock struct{ now time.Time }

// Now is the simulated time.
func (c *clock) Now() time.Time { return c.now }

// since is the time since the beginning.
func (c *clock) since() time.Duration { return c.now.Sub(epoch) }

// to moves the clock forward; it never goes back.
func (c *clock) to(t time.Time) {
	if t.After(c.now) {
		c.now = t
	}
}
