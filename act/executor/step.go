package executor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drover/internal/loop"
	"drover/noun/work"
)

// Step does what the container of the key needs next. Spec: 002 "Container State".
func (e *Executor) Step(ctx context.Context, key string) (loop.Next, error) {
	c := e.lookup(work.ContainerGUID(key))
	if c == nil {
		return loop.Next{}, nil
	}
	m, deleting := c.snapshot()
	s := &step{e: e, c: c, m: m, now: e.cfg.Now(), seen: map[string]outcome{}}
	switch {
	case deleting:
		return s.delete(ctx)
	case m.Container.State == work.Reserved:
		return s.reserved()
	case m.Container.State == work.Completed:
		return loop.Next{}, nil
	case m.Ending != nil:
		return s.end(ctx)
	case m.Container.State == work.Initializing:
		return s.create(ctx)
	}
	return s.advance(ctx)
}

// step is one look at one container.
type step struct {
	e    *Executor
	c    *container
	m    meta
	now  time.Time
	seen map[string]outcome
	err  error     // of a look
	wake time.Time // earliest wanted
}

// at asks for a step at the time, if no earlier one is asked for.
func (s *step) at(t time.Time) {
	if !t.IsZero() && (s.wake.IsZero() || t.Before(s.wake)) {
		s.wake = t
	}
}

func (s *step) next() (loop.Next, error) {
	s.at(s.now.Add(s.e.cfg.Times.Safety))
	return loop.Next{At: s.wake}, s.err
}

// reserved reaps a reservation nobody used. Spec: 002 "Harmonizing Tasks with
// Container State: Rep" ("reaped by the executor"); SEMANTICS 76.
func (s *step) reserved() (loop.Next, error) {
	expiry := s.m.Container.Created.Time().Add(s.e.cfg.Times.ReserveExpiry)
	s.c.mu.Lock()
	reap := !s.now.Before(expiry) && s.c.holds == 0 && s.c.meta.Container.State == work.Reserved
	if reap {
		s.c.deleting = true
	}
	s.c.mu.Unlock()
	if reap {
		s.e.cfg.Log.Info("reservation expired", "container", s.c.place.GUID)
		return loop.Next{Again: true}, nil
	}
	if s.now.Before(expiry) {
		s.at(expiry)
	}
	return s.next()
}

// create makes the container's place and finds its ports.
func (s *step) create(ctx context.Context) (loop.Next, error) {
	net, err := s.makePlace(ctx)
	if err != nil {
		return s.conclude(ctx, work.RunResult{Failed: true, FailureReason: "cannot create the container: " + err.Error()})
	}
	if err := s.c.transition(s.now, work.Created, func(m *meta) { m.Container.Net = net }); err != nil {
		return loop.Next{}, err
	}
	return loop.Next{Again: true}, nil
}

func (s *step) makePlace(ctx context.Context) (work.NetInfo, error) {
	net := work.NetInfo{Address: s.e.cfg.Address, InstanceAddress: s.e.cfg.Address}
	if err := os.MkdirAll(s.dataDir(), 0o700); err != nil {
		return net, err
	}
	if err := s.e.cfg.Runtime.Create(ctx, s.c.place); err != nil {
		return net, err
	}
	own := map[int]bool{}
	taken := func(port int) bool { return own[port] || s.e.portTaken(port) }
	for _, p := range s.m.Container.Spec.Ports {
		host, err := s.e.cfg.FreePort(s.e.cfg.Address, taken)
		if err != nil {
			return net, fmt.Errorf("no port on %s: %w", s.e.cfg.Address, err)
		}
		own[host] = true
		net.Ports = append(net.Ports, work.PortMapping{Container: p, Host: host})
	}
	return net, nil
}

func (s *step) dataDir() string { return filepath.Join(s.c.place.Dir, "data") }

// advance walks the container's actions one look further.
func (s *step) advance(ctx context.Context) (loop.Next, error) {
	spec := &s.m.Container.Spec
	if spec.Setup != nil {
		w := s.walk(ctx)
		v := w.action("setup", spec.Setup)
		switch {
		case s.err != nil:
			return loop.Next{}, s.err
		case !v.done:
			return s.do(ctx, w)
		case v.failure != "":
			return s.conclude(ctx, work.RunResult{Failed: true, FailureReason: "setup: " + v.failure})
		}
		s.say(w)
	}
	w := s.walk(ctx)
	v, over := s.body(w)
	switch {
	case s.err != nil:
		return loop.Next{}, s.err
	case over != nil:
		s.say(w)
		return s.conclude(ctx, *over)
	}
	if !v.first.IsZero() {
		if spec.Monitor == nil {
			if s.m.Container.State == work.Created {
				return s.running()
			}
		} else if next, acted, err := s.probe(ctx, v.first); acted || err != nil {
			return next, err
		}
	}
	return s.do(ctx, w)
}

// body walks the action and the sidecars beside it; over is set when one ended.
func (s *step) body(w *walk) (v verdict, over *work.RunResult) {
	spec := &s.m.Container.Spec
	v = w.action("action", &spec.Action)
	if v.done {
		return v, &work.RunResult{Failed: v.failure != "", FailureReason: v.failure}
	}
	for i := range spec.Sidecars {
		side := w.action(sidecarName(i), &spec.Sidecars[i].Action)
		if side.done {
			why := side.failure
			if why == "" {
				why = "it ended"
			}
			return v, &work.RunResult{Failed: true, FailureReason: fmt.Sprintf("sidecar %d: %s", i, why)}
		}
	}
	return v, nil
}

func sidecarName(i int) string { return fmt.Sprintf("sidecar%d", i) }

// running makes the container RUNNING.
func (s *step) running() (loop.Next, error) {
	if err := s.c.transition(s.now, work.ContainerRunning, nil); err != nil {
		return loop.Next{}, err
	}
	s.e.event(work.ContainerRunningEvent, s.c.place.GUID)
	return loop.Next{Again: true}, nil
}

// do starts and stops what a walk asked for.
func (s *step) do(ctx context.Context, w *walk) (loop.Next, error) {
	s.say(w)
	s.at(w.wake)
	for _, name := range s.activeBelow(ctx, w.stop) {
		s.stop(ctx, name)
	}
	for _, l := range w.start {
		if err := s.start(ctx, l); err != nil {
			return s.conclude(ctx, work.RunResult{Failed: true, FailureReason: "cannot start: " + err.Error()})
		}
	}
	if len(w.start) > 0 || s.starting() {
		s.at(s.now.Add(lookAgain))
	}
	return s.next()
}

// lookAgain is how long a step trusts to be told of a start or an end.
const lookAgain = 500 * time.Millisecond

func (s *step) starting() bool {
	for _, o := range s.seen { // order-free: any
		if o.phase == Starting {
			return true
		}
	}
	return false
}

func (s *step) start(ctx context.Context, l leaf) error {
	run := l.action.Run
	dir := run.Dir
	switch {
	case dir == "":
		dir = s.dataDir()
	case !filepath.IsAbs(dir):
		dir = filepath.Join(s.dataDir(), dir)
	}
	return s.e.cfg.Runtime.Start(ctx, s.c.place, Process{
		Name: l.name, Path: run.Path, Args: run.Args, Dir: dir, User: run.User, Grace: s.e.cfg.Times.Grace,
		Env: s.environment(run.Env),
	})
}

// say writes progress messages, each once.
func (s *step) say(w *walk) {
	var lines strings.Builder
	var names []string
	for _, msg := range w.said {
		if !slices.Contains(s.m.Said, msg.name) && !slices.Contains(names, msg.name) {
			names = append(names, msg.name)
			lines.WriteString(msg.text + "\n")
		}
	}
	if len(names) == 0 {
		return
	}
	err := appendFile(filepath.Join(s.c.place.Dir, progressFile), lines.String())
	if err == nil {
		err = s.c.update(false, func(m *meta) { m.Said = append(m.Said, names...) })
	}
	if err != nil {
		s.e.cfg.Log.Warn("progress not logged", "container", s.c.place.GUID, "err", err)
	}
	s.m.Said = append(s.m.Said, names...)
}

// walk begins a walk over what the runtime knows.
func (s *step) walk(ctx context.Context) *walk {
	return &walk{now: s.now, known: func(name string) outcome { return s.look(ctx, name) }}
}

// look is the outcome of a process, looked up once a step.
func (s *step) look(ctx context.Context, name string) outcome {
	if o, ok := s.c.monitor.probes[name]; ok {
		return o
	}
	if o, ok := s.seen[name]; ok {
		return o
	}
	st, err := s.e.cfg.Runtime.Status(ctx, s.c.place, name)
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("look at process %s: %w", name, err)
		}
		st.Phase = Starting // nothing is done on a look that failed
	}
	o := outcome{phase: st.Phase, started: st.Started}
	if st.Phase == Ended {
		o.ended, o.failure = st.Exit.Ended, st.Exit.failure()
		if o.started.IsZero() {
			o.started = o.ended
		}
	}
	s.seen[name] = o
	return o
}
