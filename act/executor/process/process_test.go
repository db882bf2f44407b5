package process_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"drover/act/executor"
	"drover/act/executor/process"
	"drover/act/executor/runtimetest"
	"drover/act/executor/shim"
	"drover/internal/proc"
)

var shimProgram string

// TestMain builds the shim, so that what is measured and killed is the real one.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "shim")
	if err != nil {
		panic(err)
	}
	shimProgram = filepath.Join(dir, "drover-shim")
	if out, err := exec.Command("go", "build", "-o", shimProgram, "drover/cmd/drover-shim").CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func newRuntime(t testing.TB) *process.Runtime {
	t.Helper()
	r, err := process.New(process.Config{Shim: []string{shimProgram}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

type subject struct{}

func (subject) New(t *testing.T) executor.Runtime { return newRuntime(t) }

func TestConformance(t *testing.T) {
	runtimetest.Run(t, func(*testing.T) runtimetest.Subject { return subject{} })
}

// A spec whose agent was killed before the shim took it is not started by the
// shim once a successor has called the process absent.
func TestASpecIsStartedOnceOrNever(t *testing.T) {
	p := executor.Place{GUID: "a", Dir: t.TempDir()}
	dir := filepath.Join(p.Dir, "procs", "x")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := shim.Spec{Path: "/bin/sh", Args: []string{"-c", ": > " + p.Dir + "/ran"}, Dir: "/"}
	b, err := spec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := shim.WriteFile(filepath.Join(dir, shim.SpecFile), b, false); err != nil {
		t.Fatal(err)
	}
	st, err := newRuntime(t).Status(context.Background(), p, "x")
	if err != nil || st.Phase != executor.Absent {
		t.Fatalf("got %v %v", st.Phase, err)
	}
	_ = os.MkdirAll(dir, 0o700) // the late shim still finds its folder
	if err := exec.Command(shimProgram, dir).Run(); err == nil {
		t.Error("the shim found something to do")
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "ran")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the process was started")
	}
}

func TestAMissingShimIsAnErrorAndLeavesNothing(t *testing.T) {
	r, err := process.New(process.Config{Shim: []string{"/no/such/shim"}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := executor.Place{GUID: "a", Dir: t.TempDir()}
	if err := r.Start(t.Context(), p, executor.Process{Name: "x", Path: "true"}); err == nil {
		t.Fatal("started without a shim")
	}
	if st, err := r.Status(t.Context(), p, "x"); err != nil || st.Phase != executor.Absent {
		t.Errorf("got %v %v", st.Phase, err)
	}
}

// A shim is of the agent's machine but not of its session: no hangup reaches it.
func TestAShimHasASessionOfItsOwn(t *testing.T) {
	c := newCell(t)
	c.begin(script("a", "exec sleep 3600"))
	c.until("the shim's record", func() bool { return exists(filepath.Join(c.dir, "containers", "a", "procs", "action", shim.PIDFile)) })
	id := c.recorded("a", "action", shim.ShimFile)
	if sid := session(t, id); sid != id.PID {
		t.Errorf("the shim %v is of session %d", id, sid)
	}
	p := c.process("a", "action")
	if sid := session(t, p); sid != p.PID {
		t.Errorf("the process %v is of session %d", p, sid)
	}
	for fd, to := range descriptors(t, id.PID) {
		if fd <= 2 && to != os.DevNull {
			t.Errorf("the shim's descriptor %d is %s", fd, to)
		}
	}
}

func session(t *testing.T, id proc.ID) int {
	t.Helper()
	sid, _, errno := syscallGetsid(id.PID)
	if errno != 0 {
		t.Fatal(errno)
	}
	return sid
}
