// Package when has the one representation of a moment that rows, messages and
// decisions share.
//
// It never asks a clock: a moment is always given by the caller, so that what
// decides stays a function of its arguments.
//
// Invariant: the zero Instant means "never" or "not set" and is before every
// other.
package when

import "time"

// Instant is a moment in Unix nanoseconds, UTC. The zero value means unset.
type Instant int64

// Of turns a time into an Instant; the zero time becomes the zero Instant.
func Of(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixNano())
}

// Time is the moment as a time in UTC; the zero time when unset.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(i)).UTC()
}

// IsZero reports whether the moment is unset.
func (i Instant) IsZero() bool { return i == 0 }

// Add is the moment d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub is the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Before reports whether i is before j.
func (i Instant) Before(j Instant) bool { return i < j }

// String is RFC 3339 in UTC, or "-" when unset.
func (i Instant) String() string {
	if i == 0 {
		return "-"
	}
	return i.Time().Format(time.RFC3339Nano)
}
