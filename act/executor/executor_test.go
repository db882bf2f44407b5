package executor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drover/act/executor"
	"drover/act/executor/fake"
	"drover/noun/fault"
	"drover/noun/work"
)

// Rule: D-004 D-006 D-007 D-010 D-017 D-021 D-022 D-023
func TestAContainerWithoutMonitorGoesThroughItsStates(t *testing.T) {
	bubble(t, func(r *rig) {
		r.behave["action"] = fake.Behaviour{After: time.Minute}
		guid := r.reserve(lrp("a"))
		if c := r.want(guid, work.Reserved); c.Result != (work.RunResult{}) {
			t.Errorf("reserved with a result: %+v", c.Result)
		}
		if n := r.host.Starts(); n != 0 {
			t.Errorf("a reservation started %d processes", n)
		}
		if err := r.ex.RunContainer(guid); err != nil {
			t.Fatal(err)
		}
		if c := r.get(guid); c.State == work.Reserved {
			t.Error("RunContainer returned before the container left RESERVED")
		}
		synctest.Wait()
		r.want(guid, work.ContainerRunning)
		r.pass(2 * time.Minute)
		if c := r.want(guid, work.Completed); c.Result != (work.RunResult{}) {
			t.Errorf("ended well with %+v", c.Result)
		}
		if want := []string{"reserved a", "running a", "completed a"}; !slices.Equal(r.events, want) {
			t.Errorf("events %v, want %v", r.events, want)
		}
	})
}

// Rule: D-018 D-019 D-020
func TestRunResult(t *testing.T) {
	for _, c := range []struct {
		name   string
		does   fake.Behaviour
		stop   bool
		change func(*work.Container)
		want   work.RunResult
	}{
		{name: "exit status", does: fake.Behaviour{Exit: executor.Exit{Code: 3}}, want: work.RunResult{Failed: true, FailureReason: "exited with status 3"}},
		{name: "signal", does: fake.Behaviour{Exit: executor.Exit{Signal: 11}}, want: work.RunResult{Failed: true, FailureReason: "killed by signal 11 (segmentation fault)"}},
		{name: "not startable", does: fake.Behaviour{StartError: "no such file"}, want: work.RunResult{Failed: true, FailureReason: "cannot start serve: no such file"}},
		{name: "success", does: fake.Behaviour{After: time.Second}},
		{name: "stopped", does: fake.Forever, stop: true, want: work.RunResult{Stopped: true}},
		{name: "stopped although deaf", does: fake.Behaviour{After: -1, IgnoreTerm: true}, stop: true, want: work.RunResult{Stopped: true}},
		{name: "failed setup", change: func(c *work.Container) { s := run("prepare"); c.Spec.Setup = &s },
			want: work.RunResult{Failed: true, FailureReason: "setup: exited with status 1"}},
		{name: "sidecar that ends", does: fake.Forever, change: func(c *work.Container) { c.Spec.Sidecars = []work.Sidecar{{Action: run("side")}} },
			want: work.RunResult{Failed: true, FailureReason: "sidecar 0: it ended"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.behave["action"] = c.does
				r.behave["setup"] = fake.Behaviour{After: time.Second, Exit: executor.Exit{Code: 1}}
				r.behave["sidecar0"] = fake.Behaviour{After: time.Second}
				ct := lrp("a")
				if c.change != nil {
					c.change(&ct)
				}
				guid := r.begin(ct)
				if c.stop {
					if err := r.ex.StopContainer(guid); err != nil {
						t.Fatal(err)
					}
				}
				r.pass(time.Minute)
				if got := r.want(guid, work.Completed).Result; got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
				if alive := r.host.Alive(); len(alive) > 0 {
					t.Errorf("completed, but there still are %v", alive)
				}
			})
		})
	}
}

// Rule: D-008 D-009
func TestMonitor(t *testing.T) {
	t.Run("the container is RUNNING once the monitor says so", func(t *testing.T) {
		bubble(t, func(r *rig) {
			r.probe.answer(errSick)
			guid := r.begin(lrp("a", monitored))
			r.pass(30 * time.Second)
			r.want(guid, work.Created)
			r.probe.answer(nil)
			r.pass(3 * time.Second)
			c := r.want(guid, work.ContainerRunning)
			if got, want := r.probe.asked[0], "tcp 127.9.8.7:40001"; got != want || c.Net.Ports[0] != (work.PortMapping{Container: 8080, Host: 40001}) {
				t.Errorf("probed %s with %+v, want %s", got, c.Net, want)
			}
		})
	})
	t.Run("it fails after its start time-out", func(t *testing.T) {
		bubble(t, func(r *rig) {
			r.probe.answer(errSick)
			guid := r.begin(lrp("a", monitored, func(c *work.Container) { c.Spec.StartTimeoutMS = 5000 }))
			r.pass(4 * time.Second)
			r.want(guid, work.Created)
			r.pass(2 * time.Second)
			c := r.want(guid, work.Completed)
			if want := "not healthy within 5s: connection refused"; c.Result.FailureReason != want {
				t.Errorf("reason %q, want %q", c.Result.FailureReason, want)
			}
			if len(r.host.Alive()) > 0 {
				t.Error("its process still runs")
			}
		})
	})
	t.Run("a RUNNING container that becomes unhealthy fails", func(t *testing.T) {
		bubble(t, func(r *rig) {
			guid := r.begin(lrp("a", monitored))
			r.want(guid, work.ContainerRunning)
			r.pass(45 * time.Second)
			r.want(guid, work.ContainerRunning)
			r.probe.answer(errSick)
			r.pass(31 * time.Second)
			c := r.want(guid, work.Completed)
			if want := "became unhealthy: connection refused"; c.Result.FailureReason != want {
				t.Errorf("reason %q, want %q", c.Result.FailureReason, want)
			}
		})
	})
	t.Run("a program can be the monitor", func(t *testing.T) {
		bubble(t, func(r *rig) {
			check := run("check")
			r.behave["monitor.0"] = fake.Behaviour{After: 100 * time.Millisecond, Exit: executor.Exit{Code: 1}}
			guid := r.begin(lrp("a", func(c *work.Container) { c.Spec.Monitor = &check }))
			r.pass(10 * time.Second)
			r.want(guid, work.Created)
			r.mu.Lock()
			r.behave["monitor.0"] = fake.Behaviour{After: 100 * time.Millisecond}
			r.mu.Unlock()
			r.pass(5 * time.Second)
			r.want(guid, work.ContainerRunning)
		})
	})
	t.Run("a monitor that hangs is a failed round", func(t *testing.T) {
		bubble(t, func(r *rig) {
			check := run("check")
			guid := r.begin(lrp("a", func(c *work.Container) { c.Spec.Monitor = &check }))
			r.pass(2 * time.Minute)
			if c := r.want(guid, work.Completed); !strings.HasSuffix(c.Result.FailureReason, "exceeded 5s") {
				t.Errorf("reason %q", c.Result.FailureReason)
			}
		})
	})
}

func TestStopping(t *testing.T) {
	t.Run("a container that traffic may reach drains first", func(t *testing.T) {
		bubble(t, func(r *rig) {
			guid := r.begin(lrp("a", monitored))
			if err := r.ex.StopContainer(guid); err != nil {
				t.Fatal(err)
			}
			r.pass(1900 * time.Millisecond)
			if len(r.host.Alive()) != 1 {
				t.Fatal("it was signalled while draining")
			}
			r.pass(200 * time.Millisecond)
			if c := r.want(guid, work.Completed); !c.Result.Stopped {
				t.Errorf("got %+v", c.Result)
			}
		})
	})
	t.Run("one that ignores SIGTERM is killed after ten seconds", func(t *testing.T) {
		bubble(t, func(r *rig) {
			r.behave["action"] = fake.Behaviour{After: -1, IgnoreTerm: true}
			guid := r.begin(lrp("a"))
			if err := r.ex.StopContainer(guid); err != nil {
				t.Fatal(err)
			}
			r.pass(9900 * time.Millisecond)
			r.want(guid, work.ContainerRunning)
			r.pass(200 * time.Millisecond)
			r.want(guid, work.Completed)
		})
	})
	t.Run("a successor goes on with the stop", func(t *testing.T) {
		bubble(t, func(r *rig) {
			r.behave["action"] = fake.Behaviour{After: -1, IgnoreTerm: true}
			guid := r.begin(lrp("a"))
			if err := r.ex.StopContainer(guid); err != nil {
				t.Fatal(err)
			}
			r.restart()
			r.pass(11 * time.Second)
			if c := r.want(guid, work.Completed); !c.Result.Stopped {
				t.Errorf("got %+v", c.Result)
			}
		})
	})
	t.Run("a reservation is deleted instead", func(t *testing.T) {
		bubble(t, func(r *rig) {
			guid := r.reserve(lrp("a"))
			if err := r.ex.StopContainer(guid); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			r.wantGone(guid)
		})
	})
}

// Rule: D-016
func TestAContainerIsDeletedInAnyState(t *testing.T) {
	for _, c := range []struct {
		name  string
		state work.ContainerState
		make  func(*rig) work.ContainerGUID
	}{
		{"RESERVED", work.Reserved, func(r *rig) work.ContainerGUID { return r.reserve(lrp("a")) }},
		{"CREATED", work.Created, func(r *rig) work.ContainerGUID { r.probe.answer(errSick); return r.begin(lrp("a", monitored)) }},
		{"RUNNING", work.ContainerRunning, func(r *rig) work.ContainerGUID { return r.begin(lrp("a")) }},
		{"RUNNING and deaf", work.ContainerRunning, func(r *rig) work.ContainerGUID {
			r.behave["action"] = fake.Behaviour{After: -1, IgnoreTerm: true}
			return r.begin(lrp("a"))
		}},
		{"COMPLETED", work.Completed, func(r *rig) work.ContainerGUID {
			r.behave["action"] = fake.Behaviour{}
			return r.begin(lrp("a"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				guid := c.make(r)
				r.want(guid, c.state)
				if err := r.ex.DeleteContainer(guid); err != nil {
					t.Fatal(err)
				}
				r.pass(30 * time.Second)
				r.wantGone(guid)
				if alive := r.host.Alive(); len(alive) > 0 {
					t.Errorf("deleted, but there still are %v", alive)
				}
				if _, err := os.Stat(filepath.Join(r.dir, "containers", string(guid))); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("its folder is left: %v", err)
				}
				if _, taken := r.ex.Resources(); taken != (work.Resources{}) {
					t.Errorf("it still takes %+v", taken)
				}
			})
		})
	}
}

func TestADeletionUnderWaySaysSoAndSurvivesARestart(t *testing.T) {
	bubble(t, func(r *rig) {
		r.behave["action"] = fake.Behaviour{After: -1, IgnoreTerm: true}
		guid := r.begin(lrp("a"))
		if err := r.ex.DeleteContainer(guid); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !r.get(guid).Deleting {
			t.Error("it does not say that it is being deleted")
		}
		r.restart()
		if !r.get(guid).Deleting {
			t.Error("the successor forgot the deletion")
		}
		r.pass(30 * time.Second)
		r.wantGone(guid)
	})
}

func TestReservationsAreAccounted(t *testing.T) {
	bubble(t, func(r *rig) {
		sized := func(guid string, memory, disk int64) work.Container {
			return lrp(guid, func(c *work.Container) { c.Spec.MemoryMB, c.Spec.DiskMB = memory, disk })
		}
		r.reserve(sized("a", 600, 100))
		for _, c := range []struct {
			name      string
			container work.Container
			kind      fault.Kind
			text      string
		}{
			{"memory", sized("b", 401, 0), fault.NotPlaceable, "insufficient resources: memory"},
			{"disk", sized("b", 0, 901), fault.NotPlaceable, "insufficient resources: disk"},
			{"both", sized("b", 500, 1000), fault.NotPlaceable, "insufficient resources: memory, disk"},
			{"the guid is another's", lrp("a", func(c *work.Container) { c.Incarnation = "other" }), fault.Conflict, "container a exists already: it is for other work"},
			{"a guid that is a path", lrp("../x"), fault.Invalid, `"../x" is not a valid container guid`},
			{"an action of this version's future", lrp("b", func(c *work.Container) {
				c.Spec.Action = work.Action{Download: &work.DownloadAction{From: "http://x", To: "y"}}
			}), fault.Invalid, "download and upload actions are not supported"},
			{"an image", lrp("b", func(c *work.Container) { c.Spec.RootFS = "docker:///busybox" }), fault.Invalid, "plain processes"},
			{"a check of a port it does not have", lrp("b", monitored, func(c *work.Container) { c.Spec.Ports = nil }), fault.Invalid, "port 8080"},
		} {
			err := r.ex.Reserve(c.container)
			if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: got %v, want %v %q", c.name, err, c.kind, c.text)
			}
		}
		if err := r.ex.Reserve(sized("a", 600, 100)); err != nil {
			t.Errorf("the same reservation again: %v", err)
		}
		if _, taken := r.ex.Resources(); taken != (work.Resources{MemoryMB: 600, DiskMB: 100, Containers: 1}) {
			t.Errorf("taken %+v", taken)
		}
		r.ex.Hold(work.Resources{MemoryMB: 300})
		if err := r.ex.Reserve(sized("b", 200, 0)); !fault.Is(err, fault.NotPlaceable) {
			t.Errorf("beside units that hold 300 MiB: %v", err)
		}
		for _, guid := range []string{"b", "c", "d", "e"} {
			r.reserve(sized(guid, 0, 0))
		}
		if err := r.ex.Reserve(sized("f", 0, 0)); err == nil || !strings.Contains(err.Error(), "containers") {
			t.Errorf("a sixth container: %v", err)
		}
	})
}

// Rule: D-198
func TestAReservationThatIsNotUsedIsReaped(t *testing.T) {
	bubble(t, func(r *rig) {
		guid, kept, used := r.reserve(lrp("a")), r.reserve(lrp("kept")), r.begin(lrp("used"))
		release := r.ex.Keep(kept)
		r.pass(59 * time.Second)
		r.want(guid, work.Reserved)
		r.pass(2 * time.Second)
		r.wantGone(guid)
		r.want(kept, work.Reserved)
		r.want(used, work.ContainerRunning)
		release()
		synctest.Wait()
		r.wantGone(kept)
		if err := r.ex.RunContainer(guid); !fault.Is(err, fault.NotFound) {
			t.Errorf("running a reaped one: %v", err)
		}
	})
}

// Rule: D-156
func TestTaskResults(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		does                fake.Behaviour
		want                work.RunResult
	}{
		{name: "a result", file: "out", content: "42\n", want: work.RunResult{Result: "42\n"}},
		{name: "the largest result", file: "out", content: strings.Repeat("x", executor.MaxResult), want: work.RunResult{Result: strings.Repeat("x", executor.MaxResult)}},
		{name: "too large a result fails", file: "out", content: strings.Repeat("x", executor.MaxResult+1),
			want: work.RunResult{Failed: true, FailureReason: "the result file out is larger than 10240 bytes"}},
		{name: "a result that is a folder fails", file: ".", want: work.RunResult{Failed: true, FailureReason: "the result file . is not a regular file"}},
		{name: "no result wanted", content: "42", want: work.RunResult{}},
		{name: "a failed task has no result", file: "out", content: "42", does: fake.Behaviour{Exit: executor.Exit{Code: 1}},
			want: work.RunResult{Failed: true, FailureReason: "exited with status 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				does := c.does
				does.After = time.Second
				r.behave["action"] = does
				guid := r.begin(task("a", func(ct *work.Container) { ct.ResultFile = c.file }))
				if err := os.WriteFile(filepath.Join(r.dir, "containers", "a", "data", "out"), []byte(c.content), 0o600); err != nil {
					t.Fatal(err)
				}
				r.pass(2 * time.Second)
				if got := r.want(guid, work.Completed).Result; got != c.want {
					t.Errorf("got %.80s, want %.80s", fmt.Sprint(got), fmt.Sprint(c.want))
				}
			})
		})
	}
}

func TestASuccessorTakesOver(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func(*rig) work.ContainerGUID
		away  func(*rig) // what happens while nobody is there
		state work.ContainerState
		want  work.RunResult
	}{
		{name: "a reservation", make: func(r *rig) work.ContainerGUID { return r.reserve(lrp("a")) }, state: work.Reserved},
		{name: "a running container", make: func(r *rig) work.ContainerGUID { return r.begin(lrp("a")) }, state: work.ContainerRunning},
		{name: "a container that ended meanwhile", make: func(r *rig) work.ContainerGUID { return r.begin(lrp("a")) },
			away:  func(r *rig) { r.host.End("a", "action", executor.Exit{Code: 7}) },
			state: work.Completed, want: work.RunResult{Failed: true, FailureReason: "exited with status 7"}},
		{name: "a completed container", make: func(r *rig) work.ContainerGUID {
			r.behave["action"] = fake.Behaviour{Exit: executor.Exit{Code: 5}}
			return r.begin(lrp("a"))
		}, state: work.Completed, want: work.RunResult{Failed: true, FailureReason: "exited with status 5"}},
		{name: "a container whose host was started again", make: func(r *rig) work.ContainerGUID { return r.begin(lrp("a")) },
			away: func(r *rig) {
				r.boot = "boot-2"
				r.host.EndAll(executor.Exit{Error: "shim was killed"})
			},
			state: work.Completed, want: work.RunResult{Failed: true, FailureReason: "the machine restarted"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				guid := c.make(r)
				before := r.host.Starts()
				r.stop()
				if c.away != nil {
					c.away(r)
				}
				r.start()
				r.pass(time.Second)
				if got := r.want(guid, c.state).Result; got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
				if r.host.Starts() != before {
					t.Error("the successor started something again")
				}
			})
		})
	}
}

func TestWhatACreationLeftBehindIsRemoved(t *testing.T) {
	bubble(t, func(r *rig) {
		guid := r.begin(lrp("a"))
		r.stop()
		path := filepath.Join(r.dir, "containers", string(guid), "meta")
		if err := os.WriteFile(path, []byte(`{"state":"RUNN`), 0o600); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.pass(time.Second)
		if _, ok := r.ex.Get(guid); ok {
			t.Error("a container without readable meta exists")
		}
		if alive := r.host.Alive(); len(alive) > 0 {
			t.Errorf("%v still run", alive)
		}
		if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder is left: %v", err)
		}
	})
}

func TestARuntimeThatRefusesFailsTheContainer(t *testing.T) {
	bubble(t, func(r *rig) {
		guid := r.reserve(lrp("a"))
		r.host.Refuse(errors.New("no space left"))
		if err := r.ex.RunContainer(guid); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c := r.want(guid, work.Completed); c.Result.FailureReason != "cannot create the container: no space left" {
			t.Errorf("got %+v", c.Result)
		}
	})
}
