package up

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"drover/internal/proc"
	"drover/noun/fault"
)

// The test binary plays the installed program: its server says that it runs and
// goes at SIGTERM, or at once if the data folder has a file "die".
func TestMain(m *testing.M) {
	i := slices.Index(os.Args, "server")
	if i < 0 {
		os.Exit(m.Run())
	}
	data := os.Args[slices.Index(os.Args, "--data")+1]
	if _, err := os.Stat(filepath.Join(data, "server", "die")); err == nil {
		fmt.Println("Error: it must not live.")
		os.Exit(1)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	os.Exit(0)
}

func options(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return Options{
		Folders: Folders{Data: filepath.Join(dir, "data"), Config: filepath.Join(dir, "conf")},
		Default: ln.Addr().String(), Say: func(string, ...any) {},
	}
}

func prepare(t *testing.T, o Options) *House {
	t.Helper()
	// Found beside the test binary, so nothing is built.
	t.Chdir(t.TempDir())
	h, err := Prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := Down(t.Context(), o.Folders, false); err != nil {
			t.Error(err)
		}
	})
	return h
}

func TestUpInstallsTheProgramAndLinksTheSmallOnes(t *testing.T) {
	o := options(t)
	h := prepare(t, o)
	defer h.Release()
	fi, err := os.Stat(o.Program())
	if err != nil || fi.Mode()&0o111 == 0 {
		t.Errorf("the program is not installed: %v, %v", fi, err)
	}
	for _, name := range small {
		if to, err := os.Readlink(o.bin(name)); err != nil || to != "drover" {
			t.Errorf("%s leads to %q, %v; want drover", name, to, err)
		}
	}
}

func TestOneUpAtATime(t *testing.T) {
	o := options(t)
	h := prepare(t, o)
	if _, err := Prepare(o); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second up gave %v, want a conflict", err)
	}
	h.Release()
	again, err := Prepare(o)
	if err != nil {
		t.Fatalf("after the first went: %v", err)
	}
	again.Release()
}

func TestTheServerOfAKilledUpIsAdoptedAndDownEndsIt(t *testing.T) {
	o := options(t)
	h := prepare(t, o)
	if err := h.StartServer(); err != nil {
		t.Fatal(err)
	}
	id := h.id
	h.Release() // what a killed up leaves: a server and no lock

	next, err := Prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	if !next.Adopted() || next.id != id {
		t.Errorf("adopted %v as %v, want %v", next.Adopted(), next.id, id)
	}
	if err := next.StartServer(); err != nil || next.id != id {
		t.Errorf("with an adopted server another was started: %v, %v", next.id, err)
	}
	next.Release()
	reap(t, h.server)
	if _, err := Down(t.Context(), o.Folders, true); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("the server outlived down")
	}
	if _, err := os.Stat(o.Data); !os.IsNotExist(err) {
		t.Errorf("after purge the data folder is there: %v", err)
	}
}

// reap waits for a child in the background, as init would.
func reap(t *testing.T, cmd *exec.Cmd) {
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() { <-done })
}

func TestAServerThatDoesNotLiveIsReportedWithItsLastWords(t *testing.T) {
	o := options(t)
	h := prepare(t, o)
	if err := os.WriteFile(filepath.Join(o.Data, "server", "die"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := h.StartServer()
	if err == nil {
		if err := h.id.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		err = h.CheckServer()
	}
	if err == nil || !strings.Contains(err.Error(), "it must not live") {
		t.Errorf("got %v, want the server's last words", err)
	}
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
}

func TestDownEndsWhatLostItsSupervisor(t *testing.T) {
	o := options(t)
	prepare(t, o).Release()
	unit := filepath.Join(o.Data, "machines", "7", "units", "blog-0")
	if err := os.MkdirAll(unit, 0o700); err != nil {
		t.Fatal(err)
	}
	// The test binary as a daemon that a hook left: anything that blocks.
	cmd := exec.Command(os.Args[0], "server", "--data", t.TempDir())
	cmd.Env = []string{"CHARM_DIR=" + filepath.Join(unit, "charm")}
	cmd.Stdout = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reap(t, cmd)
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Down(t.Context(), o.Folders, false); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("a unit's daemon outlived down")
	}
}

func TestUpListensAsTheLastTime(t *testing.T) {
	o := options(t)
	first := o.Default
	prepare(t, o).Release()
	o.Default = "127.0.0.1:1"
	h, err := Prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	if h.Listen() != first {
		t.Errorf("the second up listens on %s, want %s", h.Listen(), first)
	}
}

func TestKeepRestartsTheServer(t *testing.T) {
	o := options(t)
	h := prepare(t, o)
	if err := h.StartServer(); err != nil {
		t.Fatal(err)
	}
	first := h.id
	restarted := make(chan struct{})
	h.o.Say = func(format string, _ ...any) {
		if strings.Contains(format, "restarted") {
			close(restarted)
		}
	}
	if err := first.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	keeping := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { keeping <- h.Keep(ctx) }()
	<-restarted
	record := waitForOther(t, o.Folders, first)
	cancel()
	if err := <-keeping; err != nil {
		t.Fatal(err)
	}
	if record.Alive() {
		t.Error("the server outlived its keeper")
	}
}

// waitForOther waits until another server than the first is recorded.
func waitForOther(t *testing.T, f Folders, first proc.ID) proc.ID {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if r, err := proc.ReadRecord(f.record("server")); err == nil && r.ID != first {
			return r.ID
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("no other server was started")
		}
	}
}
