package presence

import (
	"iter"
	"time"

	"drover/noun/work"
)

// Complete reports whether an auction sees every cell: each one that the store
// says is present has reported to this leader and there is one, or the time of
// grace is over. Otherwise it says when that is.
func (t *Tracker) Complete(cells iter.Seq[work.Cell]) (bool, time.Time) {
	over := t.began.Add(t.cfg.TTL)
	if !t.cfg.Now().Before(over) {
		return true, time.Time{}
	}
	known := 0
	for c := range cells {
		if c.Presence != work.Present {
			continue
		}
		if _, ok := t.Reported(c.ID); !ok {
			return false, over
		}
		known++
	}
	if known == 0 {
		return false, over
	}
	return true, time.Time{}
}
