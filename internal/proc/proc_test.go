package proc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drover/internal/proc"
)

// The test binary plays the processes that the tests need.
func TestMain(m *testing.M) {
	switch os.Getenv("PROC_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "sleep":
		fmt.Println("pids", os.Getpid())
		block()
	case "daemon":
		// Starts a grandchild in a session of its own, then leaves it behind
		// if told to.
		pid := spawnSleeper()
		fmt.Println("pids", os.Getpid(), pid)
		if os.Getenv("PROC_TEST_LEAVE") != "" {
			os.Exit(0)
		}
		block()
	case "subreaper":
		subreaper()
	}
}

func block() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	<-never
}

func spawnSleeper() int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_ROLE=sleep")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd.Process.Pid
}

// subreaper runs a daemon that leaves a grandchild, prints whose child that has
// become, then ends everything below itself.
func subreaper() {
	r, err := proc.NewReaper()
	check(err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_ROLE=daemon", "PROC_TEST_LEAVE=1")
	out, err := cmd.StdoutPipe()
	check(err)
	check(r.Start(func() (int, error) { err := cmd.Start(); return cmd.Process.Pid, err }))
	pids := readPIDs(bufio.NewReader(out))
	check(cmd.Wait())
	r.Ended(cmd.Process.Pid)
	self, err := proc.Self()
	check(err)
	children, err := proc.Children(self)
	check(err)
	fmt.Println("adopted", len(children) == 1 && children[0].PID == pids[1])
	check(proc.KillDescendants(context.Background(), self))
	check(r.Reap())
	rest, err := proc.Descendants(self)
	check(err)
	_, err = os.Stat("/proc/" + strconv.Itoa(pids[1]))
	fmt.Println("left", len(rest), "zombie", err == nil)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func readPIDs(r *bufio.Reader) []int {
	line, err := r.ReadString('\n')
	check(err)
	var pids []int
	for _, f := range strings.Fields(line)[1:] {
		n, err := strconv.Atoi(f)
		check(err)
		pids = append(pids, n)
	}
	return pids
}

// start runs a role and returns its command with the pids it printed.
func start(t *testing.T, role string, env ...string) (*exec.Cmd, []int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "PROC_TEST_ROLE="+role), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, readPIDs(bufio.NewReader(out))
}

func ident(t *testing.T, pid int) proc.ID {
	t.Helper()
	id, err := proc.Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAnIdentityOfAnotherStartIsNobody(t *testing.T) {
	_, pids := start(t, "sleep")
	id := ident(t, pids[0])
	for name, other := range map[string]proc.ID{
		"another start time": {PID: id.PID, Start: id.Start + 1, Boot: id.Boot},
		"another boot":       {PID: id.PID, Start: id.Start, Boot: "other"},
		"nobody":             {},
	} {
		if other.Alive() {
			t.Errorf("%s: alive", name)
		}
		if err := other.Signal(syscall.SIGKILL); !errors.Is(err, proc.ErrGone) {
			t.Errorf("%s: signal gave %v, want ErrGone", name, err)
		}
	}
	if !id.Alive() {
		t.Fatal("the process was hit by a signal for another identity")
	}
}

func TestEndWaitsForTheProcessAndThenItIsGone(t *testing.T) {
	_, pids := start(t, "sleep")
	id := ident(t, pids[0])
	if err := proc.End(t.Context(), id, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Fatal("alive after End")
	}
	if err := id.Signal(syscall.SIGTERM); !errors.Is(err, proc.ErrGone) {
		t.Fatalf("signal to an ended process gave %v, want ErrGone", err)
	}
	if err := proc.End(t.Context(), id, time.Second); err != nil {
		t.Fatalf("ending it twice: %v", err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	_, pids := start(t, "sleep")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ident(t, pids[0]).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
}

func TestKillTreeReachesGrandchildrenInOtherSessions(t *testing.T) {
	_, pids := start(t, "daemon")
	root, grand := ident(t, pids[0]), ident(t, pids[1])
	ds, err := proc.Descendants(root)
	if err != nil || len(ds) != 1 || ds[0] != grand {
		t.Fatalf("descendants %v, %v; want only %v", ds, err, grand)
	}
	if err := proc.KillTree(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if root.Alive() || grand.Alive() {
		t.Fatal("something is left")
	}
}

func TestSubreaperAdoptsAndEndsWhatWasLeftBehind(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_ROLE=subreaper")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), "adopted true\nleft 0 zombie false\n"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestEnvMatchFindsByValueAndNotTheCaller(t *testing.T) {
	mark := t.TempDir()
	t.Setenv("PROC_TEST_MARK", mark)
	_, pids := start(t, "sleep")
	found, err := proc.EnvMatch([]string{"PROC_TEST_MARK"}, func(v string) bool { return v == mark })
	if err != nil || len(found) != 1 || found[0].PID != pids[0] {
		t.Fatalf("found %v, %v; want only pid %d", found, err, pids[0])
	}
}

func TestRecordsSurviveAndNonsenseIsReported(t *testing.T) {
	dir := t.TempDir()
	id, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	want := proc.Record{ID: id, Role: "server", Fields: map[string]string{"address": "127.0.0.1:1"}}
	if err := proc.WriteRecord(filepath.Join(dir, "server.json"), want); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	rs, err := proc.Records(dir)
	if err == nil {
		t.Error("the broken record was not reported")
	}
	got := rs["server"]
	if len(rs) != 1 || got.ID != want.ID || got.Role != want.Role || got.Fields["address"] != "127.0.0.1:1" {
		t.Errorf("got %+v, want only %+v", rs, want)
	}
	if !got.ID.Alive() {
		t.Error("own recorded identity is not alive")
	}
}

func TestStraysAreFoundByMarkAndByRecord(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CHARM_DIR", filepath.Join(dir, "units", "x", "charm"))
	_, marked := start(t, "sleep")
	t.Setenv("CHARM_DIR", dir+"-other")
	_, recorded := start(t, "sleep")
	id := ident(t, recorded[0])
	procs := filepath.Join(dir, "containers", "guid", "procs", "main")
	if err := os.MkdirAll(procs, 0o700); err != nil {
		t.Fatal(err)
	}
	shim := fmt.Sprintf("pid\x00%d\x00start\x00%d\x00boot\x00%s\x00", id.PID, id.Start, id.Boot)
	if err := os.WriteFile(filepath.Join(procs, "shim"), []byte(shim), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := proc.Strays(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[0].PID != marked[0] || found[1] != id {
		t.Fatalf("found %v; want pid %d and %v", found, marked[0], id)
	}
}
