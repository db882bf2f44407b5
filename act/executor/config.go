package executor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"drover/noun/work"
)

// Config is what an Executor needs.
type Config struct {
	Dir      string         // its folder; made when missing
	Cell     work.CellID    // for the containers' environment
	Capacity work.Resources // what containers may take together
	Address  string         // of the machine: where ports are, and what containers should listen on
	Runtime  Runtime
	Probe    Probe                                                        // nil: over the network
	FreePort func(address string, taken func(port int) bool) (int, error) // nil: ask the kernel
	BaseEnv  []string                                                     // of every process; nil: PATH only
	Now      func() time.Time
	Log      *slog.Logger
	// Event is told what happened to a container, by guid only; Gone is given
	// the last account of a container that was deleted or reaped. Both may be
	// nil, must not block, and are called without a lock.
	Event func(work.ContainerEvent)
	Gone  func(work.Container)
	// Boot is the id of the host's boot: processes of another boot are gone.
	Boot  string
	Times Times
}

// Times are the executor's timers. Zero fields take their default.
type Times struct {
	ReserveExpiry time.Duration // 1 min: an unused reservation is reaped (SEMANTICS 76)
	Drain         time.Duration // 2 s: unroutable before SIGTERM (SEMANTICS 43)
	Grace         time.Duration // 10 s between SIGTERM and SIGKILL
	StartTimeout  time.Duration // 60 s to be healthy, when the spec says nothing
	ProbeTimeout  time.Duration // 5 s for one round of the monitor
	FirstProbe    time.Duration // 50 ms after the start's first failed probe, doubling up to
	Unhealthy     time.Duration // 2 s between probes until healthy
	Healthy       time.Duration // 30 s between probes when healthy
	Safety        time.Duration // 30 s: a running container is looked at, events or not
}

func (t Times) withDefaults() Times {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&t.ReserveExpiry, time.Minute)
	set(&t.Drain, 2*time.Second)
	set(&t.Grace, 10*time.Second)
	set(&t.StartTimeout, time.Minute)
	set(&t.ProbeTimeout, 5*time.Second)
	set(&t.FirstProbe, 50*time.Millisecond)
	set(&t.Unhealthy, 2*time.Second)
	set(&t.Healthy, 30*time.Second)
	set(&t.Safety, 30*time.Second)
	return t
}

// Probe checks whether something answers on a container's port. Both give up
// when the context ends.
type Probe interface {
	TCP(ctx context.Context, address string) error
	HTTP(ctx context.Context, url string) error
}

// Validate reports what is missing.
func (c *Config) Validate() error {
	switch {
	case c.Dir == "":
		return errors.New("executor: no folder")
	case c.Runtime == nil:
		return errors.New("executor: no runtime")
	case c.Now == nil || c.Log == nil:
		return errors.New("executor: no clock or log")
	case c.Address == "":
		return errors.New("executor: no address")
	case c.Capacity.Containers <= 0:
		return errors.New("executor: no room for containers")
	}
	return nil
}
