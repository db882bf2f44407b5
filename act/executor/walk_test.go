package executor

import (
	"slices"
	"testing"
	"time"

	"drover/noun/work"
)

func TestWalk(t *testing.T) {
	t0 := time.Unix(1000, 0)
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	ran := func(from, to int, failure string) outcome {
		return outcome{phase: Ended, started: at(from), ended: at(to), failure: failure}
	}
	runs := outcome{phase: Running, started: at(0)}
	run := work.Action{Run: &work.RunAction{Path: "x"}}
	list := func(n int) *work.ListAction {
		return &work.ListAction{Actions: slices.Repeat([]work.Action{run}, n)}
	}
	serial, parallel, codependent := work.Action{Serial: list(2)}, work.Action{Parallel: list(2)}, work.Action{Codependent: list(2)}
	try := work.Action{Try: &run}
	timeout := work.Action{Timeout: &work.TimeoutAction{Action: run, MS: 5000}}
	progress := work.Action{EmitProgress: &work.ProgressAction{Action: run, Start: "begin", Success: "good", Failure: "bad"}}
	for _, c := range []struct {
		name    string
		action  work.Action
		known   map[string]outcome
		start   []string
		stop    []string
		said    []string
		wake    time.Time
		done    bool
		failure string
	}{
		{name: "a run starts", action: run, start: []string{"a"}},
		{name: "a run goes on", action: run, known: map[string]outcome{"a": runs}},
		{name: "a run is done", action: run, known: map[string]outcome{"a": ran(0, 1, "x")}, done: true, failure: "x"},
		{name: "serial starts the first", action: serial, start: []string{"a.0"}},
		{name: "serial goes on with the second", action: serial, known: map[string]outcome{"a.0": ran(0, 1, "")}, start: []string{"a.1"}},
		{name: "serial stops at the first failure", action: serial, known: map[string]outcome{"a.0": ran(0, 1, "x")}, done: true, failure: "x"},
		{name: "serial is done after the last", action: serial, known: map[string]outcome{"a.0": ran(0, 1, ""), "a.1": ran(1, 2, "")}, done: true},
		{name: "parallel starts all", action: parallel, start: []string{"a.0", "a.1"}},
		{name: "parallel waits for all", action: parallel, known: map[string]outcome{"a.0": ran(0, 1, "x"), "a.1": runs}, failure: "x"},
		{name: "parallel fails with the first failure in time", action: parallel, known: map[string]outcome{"a.0": ran(0, 9, "late"), "a.1": ran(0, 2, "early")}, done: true, failure: "early"},
		{name: "codependent starts all", action: codependent, start: []string{"a.0", "a.1"}},
		{name: "codependent ends the others when one ends", action: codependent, known: map[string]outcome{"a.0": ran(0, 1, ""), "a.1": runs}, stop: []string{"a"}, failure: "one of the codependent actions ended"},
		{name: "codependent starts nobody when one has ended", action: codependent, known: map[string]outcome{"a.0": ran(0, 1, "x")}, done: true, failure: "x"},
		{name: "codependent fails with the first that ended", action: codependent, known: map[string]outcome{"a.0": ran(0, 3, "killed"), "a.1": ran(0, 1, "x")}, done: true, failure: "x"},
		{name: "try never fails", action: try, known: map[string]outcome{"a.0": ran(0, 1, "x")}, done: true},
		{name: "time-out waits", action: timeout, known: map[string]outcome{"a.0": {phase: Running, started: at(8)}}, wake: at(13)},
		{name: "time-out ends what takes too long", action: timeout, known: map[string]outcome{"a.0": runs}, stop: []string{"a"}, failure: "exceeded 5s"},
		{name: "time-out is told when it is over", action: timeout, known: map[string]outcome{"a.0": ran(0, 6, "killed")}, done: true, failure: "exceeded 5s"},
		{name: "what ended in time did, whenever it is looked at", action: timeout, known: map[string]outcome{"a.0": ran(0, 4, "")}, done: true},
		{name: "progress tells of the start", action: progress, start: []string{"a.0"}, said: []string{"begin"}},
		{name: "progress tells of success", action: progress, known: map[string]outcome{"a.0": ran(0, 1, "")}, said: []string{"begin", "good"}, done: true},
		{name: "progress tells of failure", action: progress, known: map[string]outcome{"a.0": ran(0, 1, "x")}, said: []string{"begin", "bad: x"}, done: true, failure: "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &walk{now: at(10), known: func(name string) outcome {
				if o, ok := c.known[name]; ok {
					return o
				}
				return outcome{phase: Absent}
			}}
			v := w.action("a", &c.action)
			var start, said []string
			for _, l := range w.start {
				start = append(start, l.name)
			}
			for _, m := range w.said {
				said = append(said, m.text)
			}
			if v.done != c.done || v.failure != c.failure && (c.done || c.failure != "") {
				t.Errorf("done %v %q, want %v %q", v.done, v.failure, c.done, c.failure)
			}
			if !slices.Equal(start, c.start) || !slices.Equal(w.stop, c.stop) || !slices.Equal(said, c.said) || !w.wake.Equal(c.wake) {
				t.Errorf("start %v stop %v said %v wake %v", start, w.stop, said, w.wake)
			}
		})
	}
}

// Rule: D-011 D-012 D-013 D-014
func TestTransitionsOutsideTheListAreRefused(t *testing.T) {
	allowed := map[work.ContainerState][]work.ContainerState{
		work.Reserved:         {work.Initializing},
		work.Initializing:     {work.Created, work.Completed},
		work.Created:          {work.ContainerRunning, work.Completed},
		work.ContainerRunning: {work.Completed},
	}
	for from := work.Reserved; from <= work.Completed; from++ {
		for to := work.Reserved; to <= work.Completed; to++ {
			c := &container{place: Place{GUID: "a", Dir: t.TempDir()}}
			c.meta.Container.GUID, c.meta.Container.State = "a", from
			err := c.transition(time.Unix(1, 0), to, nil)
			if want := slices.Contains(allowed[from], to); (err == nil) != want {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if got := c.account().State; err != nil && got != from {
				t.Errorf("%s to %s was refused, and is %s", from, to, got)
			}
		}
	}
}
