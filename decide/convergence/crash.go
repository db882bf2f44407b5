package convergence

import (
	"time"

	"drover/noun/when"
	"drover/noun/work"
)

// CrashPolicy are the numbers of the crash dance. Spec: 002 "Crashes".
type CrashPolicy struct {
	Immediate  int           // crashes that are restarted at once
	Base       time.Duration // wait after the first crash that is not
	Longest    time.Duration // longest wait
	GiveUp     int           // with a greater count it is never restarted
	ResetAfter time.Duration // RUNNING this long, the count starts again
}

// DefaultCrashPolicy is the seed's.
var DefaultCrashPolicy = CrashPolicy{
	Immediate:  3,
	Base:       30 * time.Second,
	Longest:    16 * time.Minute,
	GiveUp:     200,
	ResetAfter: 5 * time.Minute,
}

// Crash is the RepCrashDance: the state and the count of a record after a crash.
// The count is looked at before it is incremented (SEMANTICS 4).
func (p CrashPolicy) Crash(r *work.ActualLRP, now when.Instant) (next work.LRPState, count int) {
	count = r.CrashCount
	if r.State == work.Running && now.Sub(r.Since) >= p.ResetAfter {
		count = 0
	}
	if count < p.Immediate {
		return work.Unclaimed, count + 1
	}
	return work.Crashed, count + 1
}

// RestartAt is when a CRASHED record is to be restarted; false: never.
func (p CrashPolicy) RestartAt(r *work.ActualLRP) (when.Instant, bool) {
	if r.CrashCount > p.GiveUp {
		return 0, false
	}
	return r.Since.Add(p.wait(r.CrashCount)), true
}

// wait is base · 2^(count-immediate), at most the longest.
func (p CrashPolicy) wait(count int) time.Duration {
	wait := p.Base
	for range max(0, count-p.Immediate) {
		if wait >= p.Longest {
			break
		}
		wait *= 2
	}
	return min(wait, p.Longest)
}
