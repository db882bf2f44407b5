package unitagent_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drover/act/unitagent"
	"drover/decide/uniter"
	"drover/internal/proc"
	"drover/noun/entity"
)

// agentProcess runs the agent of blog/0, with the charm that lies in the folder,
// until it is killed.
func agentProcess(dir string) {
	c := newCluster()
	data, err := os.ReadFile(filepath.Join(dir, "charm.zip"))
	if err != nil {
		panic(err)
	}
	sha, err := os.ReadFile(filepath.Join(dir, "sha"))
	if err != nil {
		panic(err)
	}
	c.archives[string(sha)] = data
	c.add("blog/0", string(sha)).Incarnation = 1
	w := &world{cluster: c, now: time.Unix(1_700_000_000, 0), lock: unitagent.NewLock(), dir: dir}
	a, err := unitagent.New(w.config("blog/0", nil))
	if err != nil {
		panic(err)
	}
	for {
		if _, err := a.Step(context.Background()); err != nil {
			panic(err)
		}
	}
}

func fifo(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hear waits for a hook to write into the pipe.
func hear(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

func process(t *testing.T, pid string) proc.ID {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	id, err := proc.Of(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = id.Signal(syscall.SIGKILL) })
	return id
}

// waitGone waits for the end of a process that is not the test's child.
func waitGone(t *testing.T, id proc.ID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := id.Wait(ctx); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
}

// An agent killed with SIGKILL while a hook runs: the hook goes on, the next
// agent ends it, counts it failed, and runs it again.
//
// Rule: H-011 W-001 W-002 W-019
func TestKilledMidway(t *testing.T) {
	w := newWorld(t)
	sha := w.charmOf(t, blogMeta, `#!/bin/bash
if [ ! -e "$DROVER_UNIT_DIR/once" ]; then
	touch "$DROVER_UNIT_DIR/once"
	echo $$ > "$DROVER_UNIT_DIR/begun"
	read x < "$DROVER_UNIT_DIR/never"
fi
`)
	w.add("blog/0", sha).Incarnation = 1
	write(t, filepath.Join(w.dir, "charm.zip"), string(w.archives[sha]))
	write(t, filepath.Join(w.dir, "sha"), sha)
	begun := fifo(t, filepath.Join(w.unitDir("blog/0"), "data", "begun"))
	fifo(t, filepath.Join(w.unitDir("blog/0"), "data", "never"))

	agent := exec.Command(self())
	agent.Env = append(os.Environ(), "DROVER_TEST_AGENT="+w.dir, "DROVER_TEST_HOOK="+hookBinary)
	agent.Stderr = os.Stderr
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	hook := process(t, hear(t, begun))
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	if !hook.Alive() {
		t.Fatal("the hook did not survive the agent")
	}

	next := w.start("blog/0")
	if _, err := next.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if hook.Alive() {
		t.Error("the hook that was found pending still runs")
	}
	l := next.Local()
	if l.Failure == nil || l.Failure.Exit != -1 || l.Failure.Reason != "killed: the agent was restarted while it ran" || l.Installed {
		t.Fatalf("the journal says %+v, %+v", l, l.Failure)
	}
	w.now = w.now.Add(5 * time.Second)
	w.settle()
	if l := next.Local(); l.Workflow != entity.WorkflowRunning {
		t.Errorf("afterwards the unit is %s", l.Workflow)
	}
}

// A hook's program never runs before its process is in the journal: an agent
// that dies in between leaves nothing behind.
func TestTheGateStaysClosed(t *testing.T) {
	dir := t.TempDir()
	hold, gate, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(hookBinary, "/bin/sh", "-c", "touch "+filepath.Join(dir, "ran"))
	cmd.Args[0] = "drover-exec"
	cmd.ExtraFiles = []*os.File{hold}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = hold.Close()
	_ = gate.Close()
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 126 {
		t.Errorf("the gate ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the hook ran")
	}
}

// Rule: H-017
func TestADaemonSurvivesItsHookAndAgent(t *testing.T) {
	w := newWorld(t)
	// One daemon has closed its output, the other keeps the hook's open.
	w.add("blog/0", w.charmOf(t, blogMeta, `#!/bin/bash
[ $JUJU_HOOK_NAME = start ] || exit 0
(exec cat "$DROVER_UNIT_DIR/never") >/dev/null 2>&1 & echo $! > "$DROVER_UNIT_DIR/daemon1"
(exec cat "$DROVER_UNIT_DIR/never") & echo $! > "$DROVER_UNIT_DIR/daemon2"
`))
	fifo(t, filepath.Join(w.unitDir("blog/0"), "data", "never"))
	a := w.start("blog/0")
	w.settle()
	one := process(t, strings.TrimSpace(w.read("blog/0", "data/daemon1")))
	two := process(t, strings.TrimSpace(w.read("blog/0", "data/daemon2")))
	if l := a.Local(); l.Workflow != entity.WorkflowRunning || !l.Configured {
		t.Errorf("the hook did not end with its process: %+v", l)
	}
	_ = a.Close()
	w.start("blog/0")
	w.settle()
	if !one.Alive() || !two.Alive() {
		t.Errorf("daemons alive: %v, %v", one.Alive(), two.Alive())
	}
}

func TestAPlannedStopEndsTheHook(t *testing.T) {
	w := newWorld(t)
	w.add("blog/0", w.charmOf(t, blogMeta, "#!/bin/bash\necho $$ > $DROVER_UNIT_DIR/begun; read x < $DROVER_UNIT_DIR/never\n"))
	begun := fifo(t, filepath.Join(w.unitDir("blog/0"), "data", "begun"))
	fifo(t, filepath.Join(w.unitDir("blog/0"), "data", "never"))
	a := w.start("blog/0")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if _, err := a.Step(ctx); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	hook := process(t, hear(t, begun))
	if holder := w.lock.Holder(); holder != "blog/0 runs install" {
		t.Errorf("the lock's holder is %q", holder)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	waitGone(t, hook)
	if f := a.Local().Failure; f == nil || f.Reason != "killed: the agent stopped" {
		t.Errorf("the failure is %+v", f)
	}
	if w.lock.Holder() != "" {
		t.Error("the lock is still held")
	}
}

func TestHookTimeout(t *testing.T) {
	w := newWorld(t)
	w.machine.Settings["hook-timeout"] = "50ms"
	w.add("blog/0", w.charmOf(t, blogMeta, "#!/bin/bash\nread x < $DROVER_UNIT_DIR/never\n"))
	fifo(t, filepath.Join(w.unitDir("blog/0"), "data", "never"))
	w.start("blog/0")
	w.settle()
	if f := w.reports["blog/0"].Failure; f.GetReason() != "killed: it ran longer than 50ms" {
		t.Errorf("reported %v", f)
	}
}

func TestOneHookAtATime(t *testing.T) {
	l := unitagent.NewLock()
	release, err := l.Acquire(t.Context(), "a/0 runs install")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Acquire(ctx, "b/0 runs install"); err == nil {
		t.Fatal("two have the turn")
	}
	release()
	if _, err := l.Acquire(t.Context(), "b/0 runs install"); err != nil || l.Holder() != "b/0 runs install" {
		t.Errorf("%v, holder %q", err, l.Holder())
	}
}

// Rule: W-019
func TestJournal(t *testing.T) {
	j := unitagent.Journal{Path: filepath.Join(t.TempDir(), "journal.json")}
	s, err := j.Load("blog/0", "u")
	if err != nil || s.Uniter.Incarnation != 0 {
		t.Fatalf("a new disk: %+v, %v", s, err)
	}
	s.Number, s.Unsent = 2, []unitagent.Commit{{Number: 1}, {Number: 2}}
	if err := j.Save(&s); err != nil {
		t.Fatal(err)
	}
	again, err := j.Load("blog/0", "u")
	a, _ := json.Marshal(s)
	b, _ := json.Marshal(again)
	if err != nil || string(a) != string(b) {
		t.Errorf("written %s\nread    %s, %v", a, b, err)
	}
	if _, err := j.Load("blog/0", "another"); err == nil {
		t.Error("the journal of another unit was accepted")
	}
	for name, spoil := range map[string]func(s *unitagent.State){
		"numbers":  func(s *unitagent.State) { s.Unsent[0].Number = 7 },
		"workflow": func(s *unitagent.State) { s.Uniter.Workflow = "resting" },
		"failure":  func(s *unitagent.State) { s.Uniter.Failure = &uniter.Failure{} },
	} {
		bad, _ := j.Load("blog/0", "u")
		spoil(&bad)
		if j.Save(&bad) == nil {
			t.Errorf("%s: an impossible state was written", name)
		}
	}
}

func TestAnUnreadableJournalIsANewDisk(t *testing.T) {
	w := newWorld(t)
	w.add("blog/0", w.charmOf(t, blogMeta, "#!/bin/bash\n"))
	w.start("blog/0")
	w.settle()
	write(t, filepath.Join(w.unitDir("blog/0"), "state", "journal.json"), "{")
	w.start("blog/0")
	w.settle()
	if w.units["blog/0"].Incarnation != 2 || w.agents["blog/0"].Local().Incarnation != 2 {
		t.Errorf("the incarnation is %d", w.units["blog/0"].Incarnation)
	}
	if _, err := os.Stat(filepath.Join(w.unitDir("blog/0"), "state", "journal.json.unreadable")); err != nil {
		t.Error(err)
	}
}
