// Package runtimetest holds every runtime to the contract of executor.Runtime:
// one suite, run by each implementation's tests.
//
// It uses /bin/sh for programs and signals, and no sleeps: it waits for what
// it has been told.
//
// Spec: 002 "Container State".
package runtimetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"drover/act/executor"
	"drover/noun/work"
)

// Subject makes runtimes for one test.
type Subject interface {
	// New makes a runtime of the machine; called again it makes its successor,
	// and the one before must not be used any more.
	New(t *testing.T) executor.Runtime
}

// Programs of the suite, by path and arguments: a subject that runs nothing
// knows them by Path.
var (
	True    = executor.Process{Path: "true"}
	Exit3   = executor.Process{Path: "sh", Args: []string{"-c", "exit 3"}}
	Forever = executor.Process{Path: "sleep", Args: []string{"3600"}}
	Missing = executor.Process{Path: "/no/such/program"}
	// Deaf ignores SIGTERM; it makes the file "deaf" when it does.
	Deaf = executor.Process{Path: "sh", Args: []string{"-c", `trap "" TERM; : > deaf; while :; do sleep 1000; done`}}
)

const patience = 20 * time.Second

// Run runs the suite.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	for _, c := range []struct {
		name string
		test func(*suite)
	}{
		{"a process that was never started is absent", absent},
		{"a process that exits has its exit code", exits},
		{"a program that does not exist is ended with an error, not running", missing},
		{"a running process stops on SIGTERM", stops},
		{"a process deaf to SIGTERM is killed after its grace", deaf},
		{"a killed process is ended by SIGKILL", kills},
		{"a name can be used once, and again when it is forgotten", names},
		{"a running process can not be forgotten", keeps},
		{"deleting a place ends all of its processes and no others", deletes},
		{"a successor finds running and ended processes", adopts},
		{"changes are told", tells},
		{"stop and kill of ended and absent processes do nothing", idle},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{T: t, subject: newSubject(t), dir: t.TempDir()}
			s.restart()
			c.test(s)
		})
	}
}

type suite struct {
	*testing.T
	subject Subject
	dir     string
	rt      executor.Runtime
	told    chan work.ContainerGUID
	stop    func()
}

// restart puts a new runtime in place of the present one.
func (s *suite) restart() {
	if s.stop != nil {
		s.stop()
	}
	s.rt = s.subject.New(s.T)
	told := make(chan work.ContainerGUID, 1024)
	s.told = told
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.rt.Run(ctx, func(g work.ContainerGUID) {
			select {
			case told <- g:
			default:
			}
		})
	}()
	var stopped bool
	s.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-done
		}
	}
	s.Cleanup(s.stop)
}

func (s *suite) place(guid string) executor.Place {
	s.Helper()
	p := executor.Place{GUID: work.ContainerGUID(guid), Dir: filepath.Join(s.dir, guid)}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		s.Fatal(err)
	}
	s.must(s.rt.Create(s.Context(), p))
	s.Cleanup(func() { s.gone(p) })
	return p
}

// gone deletes the place and waits until nothing is left.
func (s *suite) gone(p executor.Place) {
	s.Helper()
	s.until("the place to be gone", func() bool {
		gone, err := s.rt.Delete(context.Background(), p)
		s.must(err)
		return gone
	})
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) start(p executor.Place, name string, ps executor.Process) {
	s.Helper()
	ps.Name = name
	if ps.Dir == "" {
		ps.Dir = p.Dir
	}
	if ps.Grace == 0 {
		ps.Grace = 10 * time.Second
	}
	ps.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	s.must(s.rt.Start(s.Context(), p, ps))
}

func (s *suite) status(p executor.Place, name string) executor.Status {
	s.Helper()
	st, err := s.rt.Status(context.Background(), p, name)
	s.must(err)
	return st
}

// until looks again whenever something is told, and a few times a second.
func (s *suite) until(what string, ok func() bool) {
	s.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-s.told:
		case <-tick.C:
		case <-deadline:
			s.Fatalf("waited %v for %s", patience, what)
		}
	}
}

func (s *suite) await(p executor.Place, name string, want executor.Phase) executor.Status {
	s.Helper()
	var st executor.Status
	s.until(name+" to be "+want.String(), func() bool {
		st = s.status(p, name)
		return st.Phase == want
	})
	return st
}

func absent(s *suite) {
	p := s.place("a")
	if st := s.status(p, "x"); st.Phase != executor.Absent {
		s.Errorf("got %v", st.Phase)
	}
}

func exits(s *suite) {
	p := s.place("a")
	s.start(p, "ok", True)
	s.start(p, "three", Exit3)
	if st := s.await(p, "ok", executor.Ended); !st.Exit.OK() || st.Started.IsZero() || st.Exit.Ended.Before(st.Started) {
		s.Errorf("true: %+v", st)
	}
	if st := s.await(p, "three", executor.Ended); st.Exit.Code != 3 || st.Exit.OK() {
		s.Errorf("exit 3: %+v", st)
	}
}

func missing(s *suite) {
	p := s.place("a")
	s.start(p, "x", Missing)
	if st := s.await(p, "x", executor.Ended); st.Exit.Error == "" || st.Exit.OK() {
		s.Errorf("got %+v, want an error", st)
	}
}

func stops(s *suite) {
	p := s.place("a")
	s.start(p, "x", Forever)
	s.await(p, "x", executor.Running)
	s.must(s.rt.Stop(s.Context(), p, "x"))
	if st := s.await(p, "x", executor.Ended); st.Exit.Signal != 15 {
		s.Errorf("got %+v, want signal 15", st)
	}
}

func deaf(s *suite) {
	p := s.place("a")
	d := Deaf
	d.Grace = 200 * time.Millisecond
	s.start(p, "x", d)
	s.await(p, "x", executor.Running)
	if s.rt.Name() != "fake" {
		s.until("the trap to be set", func() bool { _, err := os.Stat(filepath.Join(p.Dir, "deaf")); return err == nil })
	}
	s.must(s.rt.Stop(s.Context(), p, "x"))
	if st := s.await(p, "x", executor.Ended); st.Exit.Signal != 9 {
		s.Errorf("got %+v, want signal 9", st)
	}
}

func kills(s *suite) {
	p := s.place("a")
	s.start(p, "x", Deaf)
	s.await(p, "x", executor.Running)
	s.must(s.rt.Kill(s.Context(), p, "x"))
	if st := s.await(p, "x", executor.Ended); st.Exit.Signal != 9 {
		s.Errorf("got %+v, want signal 9", st)
	}
}

func names(s *suite) {
	p := s.place("a")
	s.start(p, "x", True)
	again := True
	again.Name = "x"
	if err := s.rt.Start(s.Context(), p, again); err == nil {
		s.Error("a name was used twice")
	}
	s.await(p, "x", executor.Ended)
	s.must(s.rt.Forget(s.Context(), p, "x"))
	if st := s.status(p, "x"); st.Phase != executor.Absent {
		s.Errorf("forgotten, it is %v", st.Phase)
	}
	s.start(p, "x", Exit3)
	if st := s.await(p, "x", executor.Ended); st.Exit.Code != 3 {
		s.Errorf("the second one: %+v", st)
	}
}

func keeps(s *suite) {
	p := s.place("a")
	s.start(p, "x", Forever)
	s.await(p, "x", executor.Running)
	if err := s.rt.Forget(s.Context(), p, "x"); err == nil {
		s.Error("it was forgotten")
	}
	if st := s.status(p, "x"); st.Phase != executor.Running {
		s.Errorf("it is %v", st.Phase)
	}
}

func deletes(s *suite) {
	p, other := s.place("a"), s.place("b")
	s.start(p, "x", Forever)
	s.start(p, "y", Deaf)
	s.start(p, "z", True)
	s.start(other, "x", Forever)
	s.await(p, "x", executor.Running)
	s.await(other, "x", executor.Running)
	s.gone(p)
	for _, name := range []string{"x", "y", "z"} {
		if st := s.status(p, name); st.Phase != executor.Absent {
			s.Errorf("%s is %v", name, st.Phase)
		}
	}
	if st := s.status(other, "x"); st.Phase != executor.Running {
		s.Errorf("the other place's process is %v", st.Phase)
	}
	s.gone(p) // again is harmless
}

func adopts(s *suite) {
	p := s.place("a")
	s.start(p, "runs", Forever)
	s.start(p, "ended", Exit3)
	before := s.await(p, "runs", executor.Running)
	s.await(p, "ended", executor.Ended)
	s.restart()
	if st := s.status(p, "runs"); st.Phase != executor.Running || st.PID != before.PID || !st.Started.Equal(before.Started) {
		s.Errorf("running: got %+v, want %+v", st, before)
	}
	if st := s.status(p, "ended"); st.Phase != executor.Ended || st.Exit.Code != 3 {
		s.Errorf("ended: %+v", st)
	}
	s.must(s.rt.Stop(s.Context(), p, "runs"))
	if st := s.await(p, "runs", executor.Ended); st.Exit.Signal != 15 {
		s.Errorf("after a stop: %+v", st)
	}
}

func tells(s *suite) {
	p := s.place("a")
	s.start(p, "x", Forever)
	hear := func(want executor.Phase) {
		s.Helper()
		deadline := time.After(patience)
		for s.status(p, "x").Phase != want {
			select {
			case g := <-s.told:
				if g != p.GUID {
					s.Errorf("told of %q", g)
				}
			case <-deadline:
				s.Fatalf("not told that it is %v", want)
			}
		}
	}
	hear(executor.Running)
	s.must(s.rt.Stop(s.Context(), p, "x"))
	hear(executor.Ended)
}

func idle(s *suite) {
	p := s.place("a")
	s.start(p, "x", Exit3)
	s.await(p, "x", executor.Ended)
	for _, name := range []string{"x", "never"} {
		s.must(s.rt.Stop(s.Context(), p, name))
		s.must(s.rt.Kill(s.Context(), p, name))
	}
	if st := s.status(p, "x"); st.Exit.Code != 3 {
		s.Errorf("got %+v", st)
	}
	if st := s.status(p, "never"); st.Phase != executor.Absent {
		s.Errorf("got %v", st.Phase)
	}
}
