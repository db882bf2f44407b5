package sim

import (
	"time"

	"drover/internal/loop"
)

// driver steps one loop in place of its Run.
type driver struct {
	sim  *Sim
	name string
	loop *loop.Loop
}

// events are the keys that are due.
func (d *driver) events() []event {
	var out []event
	for _, key := range d.loop.Due(d.sim.clock.now) {
		out = append(out, event{d.name + " " + key, 10, func() {
			if err := d.loop.StepKey(d.sim.ctx, key); err != nil {
				d.sim.line("  %s %s: %v", d.name, key, err)
			}
		}})
	}
	return out
}

func (d *driver) deadline() time.Time { return d.loop.Deadline() }

// alarm is something that is to happen at a time, over and over.
type alarm struct {
	at    time.Time
	every time.Duration
}

func (a *alarm) due(now time.Time) bool { return !a.at.IsZero() && !a.at.After(now) }

func (a *alarm) again(now time.Time) { a.at = now.Add(a.every) }
