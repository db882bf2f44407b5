package process_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"drover/act/executor"
	"drover/act/executor/process"
	"drover/act/executor/shim"
	"drover/internal/proc"
	"drover/noun/work"
)

const patience = 20 * time.Second

// cell is an executor over real processes.
type cell struct {
	testing.TB
	dir  string
	ex   *executor.Executor
	stop func()
}

func newCell(t testing.TB) *cell {
	c := &cell{TB: t, dir: t.TempDir()}
	c.start()
	t.Cleanup(func() {
		for _, ct := range c.ex.List() {
			_ = c.ex.DeleteContainer(ct.GUID)
		}
		c.until("every container to be gone", func() bool { return len(c.ex.List()) == 0 })
		c.stop()
	})
	return c
}

func (c *cell) start() {
	c.Helper()
	runtime, err := process.New(process.Config{Shim: []string{shimProgram}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.Fatal(err)
	}
	ex, err := executor.New(executor.Config{
		Dir: c.dir, Cell: "c1", Capacity: work.Resources{MemoryMB: 10000, DiskMB: 10000, Containers: 100}, Address: "127.0.0.1",
		Runtime: runtime, Now: time.Now, Log: slog.New(slog.DiscardHandler), Boot: "boot",
	})
	if err != nil {
		c.Fatal(err)
	}
	c.ex = ex
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ex.Run(ctx)
	}()
	c.stop = func() {
		cancel()
		<-done
		_ = runtime.Close()
	}
}

func (c *cell) until(what string, ok func() bool) {
	c.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			c.Fatalf("waited %v for %s", patience, what)
		}
	}
}

func (c *cell) begin(ct work.Container) {
	c.Helper()
	if err := c.ex.Reserve(ct); err != nil {
		c.Fatal(err)
	}
	if err := c.ex.RunContainer(ct.GUID); err != nil {
		c.Fatal(err)
	}
}

func (c *cell) await(guid work.ContainerGUID, state work.ContainerState) work.Container {
	c.Helper()
	var ct work.Container
	c.until(fmt.Sprintf("%s to be %s", guid, state), func() bool {
		ct, _ = c.ex.Get(guid)
		return ct.State == state
	})
	return ct
}

func script(guid, text string) work.Container {
	return work.Container{
		GUID: work.ContainerGUID(guid), Incarnation: "inc", LRP: &work.LRPKey{ProcessGUID: "web", Index: 3},
		Spec: work.Spec{MemoryMB: 1, Action: work.Action{Run: &work.RunAction{Path: "sh", Args: []string{"-c", text}}}},
	}
}

// file reads a file of the container's working directory once it has content.
func (c *cell) file(guid, name string) string {
	c.Helper()
	var text string
	c.until(name, func() bool {
		b, _ := os.ReadFile(filepath.Join(c.dir, "containers", guid, "data", name))
		text = strings.TrimSpace(string(b))
		return text != ""
	})
	return text
}

func (c *cell) process(guid, name string) proc.ID {
	c.Helper()
	return c.recorded(guid, name, shim.PIDFile)
}

func (c *cell) recorded(guid, name, file string) proc.ID {
	c.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, "containers", guid, "procs", name, file))
	if err != nil {
		c.Fatal(err)
	}
	p, err := shim.DecodeProcess(b)
	if err != nil {
		c.Fatal(err)
	}
	return proc.ID{PID: p.PID, Start: p.Start, Boot: p.Boot}
}

func pidOf(t testing.TB, text string) proc.ID {
	t.Helper()
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	id, err := proc.Of(pid)
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	return id
}

func TestAProcessSurvivesItsAgentAndIsAdopted(t *testing.T) {
	c := newCell(t)
	c.begin(script("a", `echo started; trap 'echo bye; exit 7' TERM; : > ready; while :; do sleep 0.05; done`))
	c.await("a", work.ContainerRunning)
	before := c.process("a", "action")
	c.stop()
	c.start() // a successor over the same folder; the predecessor is never asked again
	c.await("a", work.ContainerRunning)
	if after := c.process("a", "action"); after != before || !after.Alive() {
		t.Fatalf("%v became %v", before, after)
	}
	if err := before.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ct := c.await("a", work.Completed)
	if want := "killed by signal 9 (killed)"; ct.Result.FailureReason != want {
		t.Errorf("reason %q, want %q", ct.Result.FailureReason, want)
	}
}

func TestAnEndThatNobodySawIsNotMissed(t *testing.T) {
	c := newCell(t)
	c.begin(script("a", `while [ ! -e go ]; do sleep 0.02; done; exit 7`))
	c.await("a", work.ContainerRunning)
	id := c.process("a", "action")
	c.stop()
	if err := os.WriteFile(filepath.Join(c.dir, "containers", "a", "data", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.until("the process to end", func() bool { return !id.Alive() })
	c.start()
	if ct := c.await("a", work.Completed); ct.Result.FailureReason != "exited with status 7" {
		t.Errorf("got %+v", ct.Result)
	}
}

func TestKillingTheShimFailsTheContainerAndLeavesNothing(t *testing.T) {
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprintf("agent away %v", away), func(t *testing.T) {
			c := newCell(t)
			c.begin(script("a", `setsid sleep 3600 & echo $! > stray; wait`))
			c.await("a", work.ContainerRunning)
			stray := pidOf(t, c.file("a", "stray"))
			process := c.process("a", "action")
			if away {
				c.stop()
			}
			if err := c.recorded("a", "action", shim.ShimFile).Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if away {
				c.start()
			}
			ct := c.await("a", work.Completed)
			if ct.Result.FailureReason != lostShim || stray.Alive() || process.Alive() {
				t.Errorf("got %+v, stray alive %v, process alive %v", ct.Result, stray.Alive(), process.Alive())
			}
		})
	}
}

const lostShim = process.LostShim

func TestWhatAProcessDetachedEndsWithIt(t *testing.T) {
	c := newCell(t)
	c.begin(script("a", `setsid sh -c 'sleep 3600 & echo $! > stray; wait' & while [ ! -s stray ]; do sleep 0.02; done; exit 1`))
	ct := c.await("a", work.Completed)
	b, err := os.ReadFile(filepath.Join(c.dir, "containers", "a", "data", "stray"))
	if err != nil {
		t.Fatal(err)
	}
	if pid := strings.TrimSpace(string(b)); ct.Result.FailureReason != "exited with status 1" || exists("/proc/"+pid) {
		t.Errorf("got %+v, stray there %v", ct.Result, exists("/proc/"+pid))
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func TestTheEnvironmentSaysWhereToListen(t *testing.T) {
	c := newCell(t)
	ct := script("a", `env > all; exec sleep 3600`)
	ct.Spec.Ports = []int{8080, 9090}
	ct.Spec.Env = []work.EnvVar{{Name: "GREETING", Value: "spec"}, {Name: "CF_INSTANCE_IP", Value: "mine"}}
	ct.Spec.Action.Run.Env = []work.EnvVar{{Name: "GREETING", Value: "action"}}
	c.begin(ct)
	got := c.await("a", work.ContainerRunning)
	env := "\n" + c.file("a", "all") + "\n"
	host := func(i int) string { return strconv.Itoa(got.Net.Ports[i].Host) }
	for _, want := range []string{
		"PORT=" + host(0), "PORT_8080=" + host(0), "PORT_9090=" + host(1), "CF_INSTANCE_ADDR=127.0.0.1:" + host(0),
		"INSTANCE_GUID=a", "INSTANCE_INDEX=3", "DROVER_LRP=web", "DROVER_CONTAINER=a", "GREETING=action", "CF_INSTANCE_IP=mine",
		"HOME=" + filepath.Join(c.dir, "containers", "a", "data"),
	} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("%s is missing in %s", want, env)
		}
	}
	if got.Net.Ports[0].Host == got.Net.Ports[1].Host || got.Net.Address != "127.0.0.1" {
		t.Errorf("net %+v", got.Net)
	}
}

func TestATCPMonitorFindsAListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := (executor.NetProbe{}).TCP(t.Context(), l.Addr().String()); err != nil {
		t.Errorf("a listener: %v", err)
	}
	address := l.Addr().String()
	l.Close()
	if err := (executor.NetProbe{}).TCP(t.Context(), address); err == nil {
		t.Error("nobody listens, and the probe succeeded")
	}
}

func TestATaskLeavesItsResultAndItsLog(t *testing.T) {
	c := newCell(t)
	ct := script("t1", `for i in 1 2 3 4 5; do echo line $i; done; echo oops >&2; echo 42 > out`)
	ct.LRP, ct.Task, ct.ResultFile = nil, "hello", "out"
	c.begin(ct)
	if got := c.await("t1", work.Completed); got.Result != (work.RunResult{Result: "42\n"}) {
		t.Errorf("got %+v", got.Result)
	}
	read := func(q executor.LogQuery) string {
		t.Helper()
		var b bytes.Buffer
		if err := c.ex.Log(t.Context(), q, &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got, want := read(executor.LogQuery{Target: "task:hello"}), "line 1\nline 2\nline 3\nline 4\nline 5\noops\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := c.ex.DeleteContainer("t1"); err != nil {
		t.Fatal(err)
	}
	c.until("it to be gone", func() bool { _, ok := c.ex.Get("t1"); return !ok })
	if got, want := read(executor.LogQuery{Target: "task:hello", Lines: 2}), "line 5\noops\n"; got != want {
		t.Errorf("after its container is gone: %q, want %q", got, want)
	}
	if err := c.ex.Log(t.Context(), executor.LogQuery{Target: "task:other"}, io.Discard); err == nil {
		t.Error("the log of an unknown task was read")
	}
}

// lines is a writer that others may read from.
type lines struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestALogIsFollowed(t *testing.T) {
	c := newCell(t)
	c.begin(script("a", `echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exec sleep 3600`))
	ctx, cancel := context.WithCancel(t.Context())
	var out lines
	done := make(chan error, 1)
	go func() { done <- c.ex.Log(ctx, executor.LogQuery{Target: "web/3", Follow: true, Lines: 10}, &out) }()
	c.until("the first line", func() bool { return out.String() == "one\n" })
	if err := os.WriteFile(filepath.Join(c.dir, "containers", "a", "data", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.until("the second line", func() bool { return out.String() == "one\ntwo\n" })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// BenchmarkStart is the time from Reserve to RUNNING for 50 containers, and what
// a shim weighs.
func BenchmarkStart(b *testing.B) {
	const n = 50
	for b.Loop() {
		c := newCell(b)
		for i := range n {
			c.begin(script(fmt.Sprintf("a%d", i), "exec sleep 3600"))
		}
		for i := range n {
			c.await(work.ContainerGUID(fmt.Sprintf("a%d", i)), work.ContainerRunning)
		}
		b.StopTimer()
		total := 0
		for i := range n {
			total += pss(b, c.recorded(fmt.Sprintf("a%d", i), "action", shim.ShimFile).PID)
		}
		b.ReportMetric(float64(total)/n, "kB-PSS/shim")
		for _, ct := range c.ex.List() {
			_ = c.ex.DeleteContainer(ct.GUID)
		}
		c.until("all to be gone", func() bool { return len(c.ex.List()) == 0 })
		b.StartTimer()
	}
}

func pss(t testing.TB, pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}
