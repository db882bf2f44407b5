// Package process is the runtime of plain processes: each process of a container
// is the child of a shim of its own and sees the host's files.
//
// It needs no privilege and isolates nothing. It never waits for a process: one
// goroutine (Run) hears of every start and end through inotify and pidfds.
//
// Invariants: a spec is started once or never, whoever is killed when (see
// shim); a process whose shim is gone without a record is ended with all that
// it started before it is called Ended; nothing is signalled that was not just
// identified by pid and start time.
//
// Linux only. Spec: 002 "Container State".
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drover/act/executor"
	"drover/act/executor/shim"
	"drover/internal/proc"
)

// Config is what a Runtime needs.
type Config struct {
	Shim   []string // the program and its arguments before the folder
	Now    func() time.Time
	Log    *slog.Logger
	LogMax int64 // of one of a process's two log files; 0: the shim's default
}

// Names of the variables by which strays are found.
const (
	containerVar = "DROVER_CONTAINER"
	processVar   = "DROVER_PROCESS" // <container>/<name>
)

// LostShim is the reason of processes that ended with their shim.
const LostShim = "shim was killed"

// insistAfter is how long Kill trusts the shim before it kills the shim as well.
const insistAfter = 7 * time.Second

// Runtime implements executor.Runtime.
type Runtime struct {
	cfg   Config
	watch *watcher

	mu    sync.Mutex // guards procs and what they hold
	procs map[string]*tracked
}

var _ executor.Runtime = (*Runtime)(nil)

// tracked is a process with a shim that was alive when last looked at.
type tracked struct {
	place  executor.Place
	name   string
	dir    string
	shim   proc.ID
	child  bool // started by this runtime, which must reap it
	pidfd  int  // -1: the shim is gone
	killed time.Time
}

// New makes a runtime; Close gives its descriptors back.
func New(cfg Config) (*Runtime, error) {
	if len(cfg.Shim) == 0 || cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("process runtime: no shim, clock or log")
	}
	w, err := newWatcher()
	if err != nil {
		return nil, fmt.Errorf("process runtime: %w", err)
	}
	return &Runtime{cfg: cfg, watch: w, procs: map[string]*tracked{}}, nil
}

// Close gives the runtime's descriptors back. Run must have returned.
func (r *Runtime) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.procs { // order-free: each is closed
		if t.pidfd >= 0 {
			unix.Close(t.pidfd)
			t.pidfd = -1
		}
	}
	return r.watch.close()
}

// Name is "process".
func (r *Runtime) Name() string { return "process" }

func procsDir(p executor.Place) string             { return filepath.Join(p.Dir, "procs") }
func procDir(p executor.Place, name string) string { return filepath.Join(procsDir(p), name) }

// Create makes the folder of the place's processes.
func (r *Runtime) Create(_ context.Context, p executor.Place) error {
	return os.MkdirAll(procsDir(p), 0o700)
}

// Stop asks the process's group to go.
func (r *Runtime) Stop(_ context.Context, p executor.Place, name string) error {
	return r.signal(p, name, unix.SIGTERM)
}

// Kill ends the process and what it started; called again and again, it ends
// the shim too.
func (r *Runtime) Kill(_ context.Context, p executor.Place, name string) error {
	sig := unix.SIGUSR1
	r.mu.Lock()
	if t := r.procs[procDir(p, name)]; t != nil {
		switch now := r.cfg.Now(); {
		case t.killed.IsZero():
			t.killed = now
		case now.Sub(t.killed) > insistAfter:
			sig = unix.SIGKILL
		}
	}
	r.mu.Unlock()
	return r.signal(p, name, sig)
}

func (r *Runtime) signal(p executor.Place, name string, sig unix.Signal) error {
	if _, err := r.Status(context.Background(), p, name); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.procs[procDir(p, name)]
	if t == nil || t.pidfd < 0 {
		return nil // it has ended
	}
	if err := unix.PidfdSendSignal(t.pidfd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal the shim of %s/%s: %w", p.GUID, name, err)
	}
	return nil
}

// Forget removes the folder of an ended process.
func (r *Runtime) Forget(ctx context.Context, p executor.Place, name string) error {
	st, err := r.Status(ctx, p, name)
	if err != nil {
		return err
	}
	if st.Phase == executor.Starting || st.Phase == executor.Running {
		return fmt.Errorf("forget %s/%s: it is %s", p.GUID, name, st.Phase)
	}
	r.mu.Lock()
	delete(r.procs, procDir(p, name))
	r.mu.Unlock()
	return os.RemoveAll(procDir(p, name))
}

// Delete kills every process of the place; when all have ended it removes their
// folders.
func (r *Runtime) Delete(ctx context.Context, p executor.Place) (bool, error) {
	entries, err := os.ReadDir(procsDir(p))
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete container %s: %w", p.GUID, err)
	}
	gone := true
	for _, e := range entries {
		st, err := r.Status(ctx, p, e.Name())
		if err != nil {
			return false, err
		}
		if st.Phase != executor.Starting && st.Phase != executor.Running {
			continue
		}
		gone = false
		if err := r.Kill(ctx, p, e.Name()); err != nil {
			return false, err
		}
	}
	if !gone {
		return false, nil
	}
	for _, e := range entries {
		if err := r.Forget(ctx, p, e.Name()); err != nil {
			return false, err
		}
	}
	return true, os.RemoveAll(procsDir(p))
}

// readExit is the process's record of its end, nil when there is none.
func readExit(dir string) (*executor.Exit, time.Time, error) {
	data, err := os.ReadFile(filepath.Join(dir, shim.ExitFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, time.Time{}, nil
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	e, err := shim.DecodeExit(data)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("%s: %w", filepath.Join(dir, shim.ExitFile), err)
	}
	var started time.Time
	if e.Started != 0 {
		started = time.Unix(0, e.Started)
	}
	return &executor.Exit{Code: e.Code, Signal: e.Signal, Error: e.Error, Ended: time.Unix(0, e.Ended)}, started, nil
}

// readProcess is an identity written by a shim, zero when the file is missing.
func readProcess(path string) (proc.ID, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return proc.ID{}, nil
	}
	if err != nil {
		return proc.ID{}, err
	}
	p, err := shim.DecodeProcess(data)
	if err != nil {
		return proc.ID{}, fmt.Errorf("%s: %w", path, err)
	}
	return proc.ID{PID: p.PID, Start: p.Start, Boot: p.Boot}, nil
}
