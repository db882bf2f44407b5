package executor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"drover/internal/loop"
	"drover/noun/work"
)

const monitorName = "monitor"

// probe drives the monitor of a container whose action started at began. It
// reports whether the container's state or fate changed.
func (s *step) probe(ctx context.Context, began time.Time) (next loop.Next, acted bool, err error) {
	mon := &s.c.monitor
	starting := s.m.Container.State == work.Created
	deadline := began.Add(s.startTimeout())
	if starting {
		s.at(deadline)
	}
	if !s.now.Before(mon.next) {
		if err := s.round(ctx); err != nil {
			return loop.Next{}, true, err
		}
		if mon.probes == nil && mon.failure == "" && starting {
			next, err = s.running()
			return next, true, err
		}
		if mon.probes == nil && mon.failure != "" && !starting {
			next, err = s.conclude(ctx, work.RunResult{Failed: true, FailureReason: "became unhealthy: " + mon.failure})
			return next, true, err
		}
	}
	if starting && !s.now.Before(deadline) {
		why := mon.failure
		if why == "" {
			why = "its monitor has not answered"
		}
		next, err = s.conclude(ctx, work.RunResult{Failed: true, FailureReason: fmt.Sprintf("not healthy within %v: %s", s.startTimeout(), why)})
		return next, true, err
	}
	if mon.next.After(s.now) { // else a round is under way, and its end will be told
		s.at(mon.next)
	}
	return loop.Next{}, false, nil
}

func (s *step) startTimeout() time.Duration {
	if ms := s.m.Container.Spec.StartTimeoutMS; ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return s.e.cfg.Times.StartTimeout
}

// round begins or goes on with one round of the monitor. When it is over,
// probes is nil and failure says how it went.
func (s *step) round(ctx context.Context) error {
	mon := &s.c.monitor
	if mon.probes == nil {
		mon.probes = map[string]outcome{}
	}
	action := monitorAction(&s.m.Container.Spec, s.e.cfg.Times.ProbeTimeout)
	for {
		w := s.walk(ctx)
		v := w.action(monitorName, action)
		if s.err != nil {
			return s.err
		}
		if v.done {
			s.roundOver(ctx, v.failure)
			return nil
		}
		checked, err := s.begin(ctx, w)
		if err != nil {
			s.roundOver(ctx, err.Error())
			return nil
		}
		if !checked {
			return nil
		}
	}
}

// monitorAction is one round of the monitor, bounded in time.
func monitorAction(spec *work.Spec, limit time.Duration) *work.Action {
	return &work.Action{Timeout: &work.TimeoutAction{Action: *spec.Monitor, MS: limit.Milliseconds()}}
}

// begin does the checks and starts the processes a round asked for.
func (s *step) begin(ctx context.Context, w *walk) (checked bool, err error) {
	s.at(w.wake)
	for _, l := range w.start {
		if l.action.Run != nil {
			if err := s.start(ctx, l); err != nil {
				return false, fmt.Errorf("cannot start the monitor: %w", err)
			}
			s.at(s.now.Add(lookAgain))
			continue
		}
		checked = true
		o := outcome{phase: Ended, started: s.now, ended: s.now}
		if err := s.check(ctx, l.action); err != nil {
			o.failure = err.Error()
		}
		s.c.monitor.probes[l.name] = o
	}
	for _, name := range s.activeBelow(ctx, w.stop) {
		if err := s.e.cfg.Runtime.Kill(ctx, s.c.place, name); err != nil {
			return false, err
		}
		s.at(s.now.Add(lookAgain))
	}
	return checked, nil
}

// roundOver forgets the round's processes and plans the next one.
func (s *step) roundOver(ctx context.Context, failure string) {
	mon := &s.c.monitor
	for _, name := range leaves(monitorName, monitorAction(&s.m.Container.Spec, 0)) {
		if o, ok := s.seen[name]; ok && o.phase == Ended {
			if err := s.e.cfg.Runtime.Forget(ctx, s.c.place, name); err != nil {
				s.e.cfg.Log.Warn("a probe's remains stay", "container", s.c.place.GUID, "err", err)
			}
			delete(s.seen, name)
		}
	}
	mon.probes, mon.failure = nil, failure
	t := s.e.cfg.Times
	switch {
	case failure == "":
		mon.wait, mon.next = 0, s.now.Add(t.Healthy)
	default:
		mon.wait = min(max(2*mon.wait, t.FirstProbe), t.Unhealthy)
		mon.next = s.now.Add(mon.wait)
	}
}

func (s *step) check(ctx context.Context, a *work.Action) error {
	ctx, cancel := context.WithTimeout(ctx, s.e.cfg.Times.ProbeTimeout)
	defer cancel()
	if a.TCPCheck != nil {
		return s.e.cfg.Probe.TCP(ctx, s.address(a.TCPCheck.Port))
	}
	path := a.HTTPCheck.Path
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	return s.e.cfg.Probe.HTTP(ctx, "http://"+s.address(a.HTTPCheck.Port)+path)
}

// address is where the container's port is on the host.
func (s *step) address(port int) string {
	for _, p := range s.m.Container.Net.Ports {
		if p.Container == port {
			port = p.Host
			break
		}
	}
	return net.JoinHostPort(s.e.cfg.Address, strconv.Itoa(port))
}

// NetProbe probes over the network.
type NetProbe struct{}

// TCP succeeds when the address accepts a connection.
func (NetProbe) TCP(ctx context.Context, address string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}

// HTTP succeeds when GET answers 2xx or 3xx.
func (NetProbe) HTTP(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Close = true
	res, err := http.DefaultTransport.RoundTrip(req) // redirects are answers
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 399 {
		return fmt.Errorf("GET %s answered %s", url, res.Status)
	}
	return nil
}
