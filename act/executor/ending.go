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

// conclude ends the container with a result: at once when nothing runs, else it
// records the result and the next steps end what runs.
func (s *step) conclude(ctx context.Context, r work.RunResult) (loop.Next, error) {
	if len(s.active(ctx)) == 0 && s.err == nil {
		s.m.Ending = &ending{Result: r}
		return s.complete()
	}
	err := s.c.update(false, func(m *meta) {
		if m.Ending == nil { // a stop asked for meanwhile stays
			m.Ending = &ending{Result: r}
		}
	})
	return loop.Next{Again: true}, err
}

// end waits for the drain, ends what still runs, and completes the container.
func (s *step) end(ctx context.Context) (loop.Next, error) {
	active := s.active(ctx)
	if s.err != nil {
		return loop.Next{}, s.err
	}
	if len(active) == 0 {
		return s.complete()
	}
	if after := s.m.Ending.After.Time(); s.now.Before(after) {
		s.at(after)
		return s.next()
	}
	for _, name := range active {
		s.stop(ctx, name)
	}
	return s.next()
}

// active lists the processes that have not ended.
func (s *step) active(ctx context.Context) []string {
	var names []string
	for _, name := range processNames(&s.m.Container.Spec) {
		if p := s.look(ctx, name).phase; p == Starting || p == Running {
			names = append(names, name)
		}
	}
	return names
}

// activeBelow lists the active processes of the actions with these names.
func (s *step) activeBelow(ctx context.Context, prefixes []string) []string {
	if len(prefixes) == 0 {
		return nil
	}
	return slices.DeleteFunc(s.active(ctx), func(name string) bool {
		return !slices.ContainsFunc(prefixes, func(p string) bool { return name == p || strings.HasPrefix(name, p+".") })
	})
}

func processNames(spec *work.Spec) []string {
	var names []string
	if spec.Setup != nil {
		names = leaves("setup", spec.Setup)
	}
	names = append(names, leaves("action", &spec.Action)...)
	for i := range spec.Sidecars {
		names = append(names, leaves(sidecarName(i), &spec.Sidecars[i].Action)...)
	}
	if spec.Monitor != nil {
		names = append(names, leaves(monitorName, monitorAction(spec, 0))...)
	}
	return names
}

func (s *step) complete() (loop.Next, error) {
	r := s.m.Ending.Result
	if r.Failed && r.FailureReason == "" {
		r.FailureReason = "failed"
	}
	if s.m.Container.Task != "" && s.m.Container.ResultFile != "" && !r.Failed && !r.Stopped {
		text, err := readResult(s.dataDir(), s.m.Container.ResultFile)
		if err != nil {
			r = work.RunResult{Failed: true, FailureReason: err.Error()}
		}
		r.Result = text
	}
	err := s.c.transition(s.now, work.Completed, func(m *meta) { m.Container.Result = r })
	if err != nil {
		return loop.Next{}, err
	}
	s.e.event(work.ContainerCompletedEvent, s.c.place.GUID)
	return loop.Next{}, nil
}

// delete ends the container's processes and removes it.
// Spec: 002 "Container State" ("deleted regardless of current state").
func (s *step) delete(ctx context.Context) (loop.Next, error) {
	if s.c.killAt.IsZero() {
		s.c.killAt = s.now.Add(s.e.cfg.Times.Grace + insist)
		if !s.c.leftover {
			// A successor goes on with the deletion instead of the container.
			if err := s.c.update(false, func(m *meta) { m.Container.Deleting = true }); err != nil {
				s.e.cfg.Log.Warn("deletion not recorded", "container", s.c.place.GUID, "err", err)
			}
		}
	}
	if !s.c.leftover && s.now.Before(s.c.killAt) {
		active := s.active(ctx)
		for _, name := range active {
			s.stop(ctx, name)
		}
		if len(active) > 0 {
			return s.next()
		}
	}
	if !s.c.leftover {
		s.e.keepLogs(s.c)
		// Without its meta the folder is a leftover: nobody can begin it again.
		if err := os.Remove(filepath.Join(s.c.place.Dir, metaFile)); err != nil && !os.IsNotExist(err) {
			return loop.Next{}, err
		}
	}
	gone, err := s.e.cfg.Runtime.Delete(ctx, s.c.place)
	if err != nil {
		return loop.Next{}, err
	}
	if !gone {
		s.at(s.now.Add(lookAgain))
		return s.next()
	}
	if err := os.RemoveAll(s.c.place.Dir); err != nil {
		return loop.Next{}, err
	}
	s.e.remove(s.c.place.GUID)
	if s.e.cfg.Gone != nil && !s.c.leftover {
		s.e.cfg.Gone(s.c.account())
	}
	return loop.Next{}, nil
}

// stop asks a process to go, once; one that stays too long after its grace is
// killed with its shim.
func (s *step) stop(ctx context.Context, name string) {
	asked, ok := s.c.stopSent[name]
	var err error
	if !ok {
		if s.c.stopSent == nil {
			s.c.stopSent = map[string]time.Time{}
		}
		s.c.stopSent[name] = s.now
		err = s.e.cfg.Runtime.Stop(ctx, s.c.place, name)
	} else if s.now.Sub(asked) > s.e.cfg.Times.Grace+insist {
		err = s.e.cfg.Runtime.Kill(ctx, s.c.place, name)
	}
	if err != nil && s.err == nil {
		s.err = err
	}
	s.at(s.now.Add(time.Second))
}

// insist is how much longer than its grace a stopped process may take.
const insist = 5 * time.Second

// failure is the exit in words, "" when it went well.
func (x Exit) failure() string {
	switch {
	case x.Error != "":
		return x.Error
	case x.Signal != 0:
		return fmt.Sprintf("killed by signal %d (%s)", x.Signal, signalName(x.Signal))
	case x.Code != 0:
		return fmt.Sprintf("exited with status %d", x.Code)
	}
	return ""
}
