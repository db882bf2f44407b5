package convergence

import (
	"testing"
	"time"

	"drover/noun/when"
	"drover/noun/work"
)

const t0 = when.Instant(1_000_000 * int64(time.Second))

// Rule: D-097 D-098 D-099 D-103 D-104 D-105
func TestCrash(t *testing.T) {
	for _, tt := range []struct {
		name      string
		state     work.LRPState
		count     int
		ran       time.Duration
		next      work.LRPState
		nextCount int
	}{
		{"first", work.Running, 0, time.Minute, work.Unclaimed, 1},
		{"second", work.Running, 1, time.Minute, work.Unclaimed, 2},
		{"third", work.Running, 2, time.Minute, work.Unclaimed, 3},
		{"the hole at exactly three", work.Running, 3, time.Minute, work.Crashed, 4},
		{"beyond", work.Claimed, 4, time.Minute, work.Crashed, 5},
		{"after five minutes of running it starts again", work.Running, 50, 5 * time.Minute, work.Unclaimed, 1},
		{"just before", work.Running, 50, 5*time.Minute - 1, work.Crashed, 51},
		{"claimed long ago is no reset", work.Claimed, 50, time.Hour, work.Crashed, 51},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := work.ActualLRP{State: tt.state, CrashCount: tt.count, Since: t0}
			next, count := DefaultCrashPolicy.Crash(&r, t0.Add(tt.ran))
			if next != tt.next || count != tt.nextCount {
				t.Errorf("%s %d, want %s %d", next, count, tt.next, tt.nextCount)
			}
		})
	}
}

// Rule: D-100 D-101 D-102
func TestRestartAt(t *testing.T) {
	for count, want := range map[int]time.Duration{ // order-free: each on its own
		3: 30 * time.Second, 4: time.Minute, 5: 2 * time.Minute, 6: 4 * time.Minute, 7: 8 * time.Minute,
		8: 16 * time.Minute, 9: 16 * time.Minute, 200: 16 * time.Minute, 201: -1,
	} {
		at, ever := DefaultCrashPolicy.RestartAt(&work.ActualLRP{CrashCount: count, Since: t0})
		if !ever {
			at = t0.Add(-1)
		}
		if at.Sub(t0) != want {
			t.Errorf("after %d crashes: %s, want %s", count, at.Sub(t0), want)
		}
	}
}
