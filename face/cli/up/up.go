// Package up makes one host into a cluster and takes it down again: it prepares
// the data folder and the programs in it, starts the server and keeps it
// running, adopts what an earlier run left, and ends everything by recorded
// identity.
//
// It knows processes, files and ports; it speaks to no server and knows nothing
// of the cluster's state.
//
// Invariants: nothing is signalled that is not recorded, marked or a descendant
// of such; a folder that is not Drover's, of a newer format, or of another
// cluster is left as it is.
package up

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"drover/internal/proc"
	"drover/noun/fault"

	"golang.org/x/sys/unix"
)

// Folders are where a cluster of one host lives.
type Folders struct {
	Data   string
	Config string
}

func (f Folders) bin(name string) string    { return filepath.Join(f.Data, "bin", name) }
func (f Folders) record(role string) string { return filepath.Join(f.Data, "run", role+".json") }
func (f Folders) machines() string          { return filepath.Join(f.Data, "machines") }

// Program is the installed drover, from which everything runs.
func (f Folders) Program() string { return f.bin("drover") }

// ServerLog is what the server writes.
func (f Folders) ServerLog() string { return filepath.Join(f.Data, "server", "log") }

// Options say what to start.
type Options struct {
	Folders
	Listen    string // host:port; empty: as the last time, else the default
	Advertise string // host or host:port for other machines; empty: none
	Cluster   string // name of a new cluster
	Default   string // host:port to listen on if nothing else is said
	Say       func(format string, args ...any)
}

// House is a prepared data folder. It belongs to one goroutine.
type House struct {
	o      Options
	lock   *os.File
	server *exec.Cmd // nil: not our child
	id     proc.ID
	built  *sync.WaitGroup
}

// Running is the identity of the up that keeps this folder; ErrGone when there
// is none.
func Running(f Folders) (proc.ID, error) {
	r, err := proc.ReadRecord(f.record("up"))
	if errors.Is(err, os.ErrNotExist) {
		return proc.ID{}, proc.ErrGone
	}
	if err != nil {
		return proc.ID{}, err
	}
	if !r.ID.Alive() {
		return proc.ID{}, proc.ErrGone
	}
	return r.ID, nil
}

// Prepare makes the folder ready and takes it for this process: Release, or
// Keep, gives it back.
func Prepare(o Options) (*House, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	// Before the first file is written: a refused start leaves no trace.
	if r, err := proc.ReadRecord(o.record("server")); err != nil || !r.ID.Alive() {
		if err := checkPort(o.Listen); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{"bin", "run", "server", "machines"} {
		if err := os.MkdirAll(filepath.Join(o.Data, dir), 0o700); err != nil {
			return nil, cannotWrite(o.Data, err)
		}
	}
	h := &House{o: o, built: new(sync.WaitGroup)}
	var err error
	if h.lock, err = takeLock(filepath.Join(o.Data, "run", "up.lock")); err != nil {
		return nil, err
	}
	if err := h.prepare(); err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

func (h *House) prepare() error {
	if err := writeVersion(h.o.Data); err != nil {
		return err
	}
	changed, err := h.install()
	if err != nil {
		return err
	}
	if err := h.adopt(changed); err != nil {
		return err
	}
	if h.id.IsZero() {
		if err := checkPort(h.o.Listen); err != nil {
			return err
		}
	}
	self, err := proc.Self()
	if err != nil {
		return err
	}
	if err := h.o.remember(); err != nil {
		return err
	}
	return proc.WriteRecord(h.o.record("up"), proc.Record{ID: self, Role: "up"})
}

// Adopted reports whether a server was found running.
func (h *House) Adopted() bool { return !h.id.IsZero() && h.server == nil }

// Listen is where the server listens.
func (h *House) Listen() string { return h.o.Listen }

// Program is the installed drover.
func (h *House) Program() string { return h.o.Program() }

// Release gives the folder back and leaves everything running, also the
// building of the small programs: see Built.
func (h *House) Release() {
	_ = os.Remove(h.o.record("up")) // a stale record names a process that is gone
	// Not by closing alone: a child between fork and exec holds the file too.
	_ = unix.Flock(int(h.lock.Fd()), unix.LOCK_UN)
	_ = h.lock.Close()
}

// adopt looks for a server that an earlier run left. One of another version is
// ended, so that the installed one takes its place.
func (h *House) adopt(changed bool) error {
	r, err := proc.ReadRecord(h.o.record("server"))
	if err != nil || !r.ID.Alive() {
		return nil //nolint:nilerr // none, or none that can be found
	}
	if changed || r.Fields["listen"] != h.o.Listen {
		h.o.Say("the running server is of another version or address: it is restarted")
		return proc.End(context.Background(), r.ID, serverGrace)
	}
	h.id = r.ID
	return nil
}

const (
	serverGrace  = 10 * time.Second
	firstRestart = 100 * time.Millisecond
	lastRestart  = 5 * time.Second
	steadyAfter  = 10 * time.Second
)

// StartServer starts the server unless one was adopted.
func (h *House) StartServer() error {
	if !h.id.IsZero() && h.id.Alive() {
		return nil
	}
	log, err := openLog(h.o.ServerLog())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(h.o.Program(), "--data", h.o.Data, "--config-dir", h.o.Config, "server", "--local", "--listen", h.o.Listen)
	if h.o.Advertise != "" {
		cmd.Args = append(cmd.Args, "--advertise", h.o.Advertise)
	}
	if h.o.Cluster != "" {
		cmd.Args = append(cmd.Args, "--cluster", h.o.Cluster)
	}
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, h.o.Data
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fault.New(fault.Internal, "cannot start the server").Why("%s", err).Wrap(err)
	}
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		_ = cmd.Wait() // gone already
		return h.died()
	}
	h.server, h.id = cmd, id
	return RecordSelf(h.o.Folders, "server", id, map[string]string{"listen": h.o.Listen})
}

// RecordSelf records a process of the cluster, so that down and the next up find
// it.
func RecordSelf(f Folders, role string, id proc.ID, fields map[string]string) error {
	return proc.WriteRecord(f.record(role), proc.Record{ID: id, Role: role, Fields: fields})
}

// CheckServer returns why the server ended, or nil while it runs.
func (h *House) CheckServer() error {
	if h.id.Alive() {
		return nil
	}
	return h.died()
}

func (h *House) died() error {
	return fault.New(fault.Internal, "the server has ended").
		Why("%s", lastLines(h.o.ServerLog(), 8)).Try("less " + h.o.ServerLog())
}

// Keep restarts the server whenever it ends, until the context does. Then it
// stops everything and gives the folder back.
func (h *House) Keep(ctx context.Context) error {
	wait := firstRestart
	for ctx.Err() == nil {
		started := time.Now()
		if err := h.awaitServer(ctx); err != nil {
			break // the context ended
		}
		if time.Since(started) > steadyAfter {
			wait = firstRestart
		}
		h.o.Say("the server has ended and is restarted in %s (%s)", wait, h.o.ServerLog())
		if !pause(ctx, wait) {
			break
		}
		wait = min(2*wait, lastRestart)
		if err := h.StartServer(); err != nil {
			h.o.Say("cannot start the server: %v", err)
		}
	}
	return h.Stop()
}

// awaitServer returns nil when the server has ended.
func (h *House) awaitServer(ctx context.Context) error {
	if err := h.id.Wait(ctx); err != nil {
		return err
	}
	if h.server != nil {
		_ = h.server.Wait() // how it ended is in its log
		h.server = nil
	}
	return nil
}

// Abandon gives the folder back after a start that failed: the server that this
// process started is ended, what was running before goes on.
func (h *House) Abandon() error {
	defer h.Release()
	cmd := h.server
	if cmd == nil {
		return nil
	}
	var reaping sync.WaitGroup
	defer reaping.Wait()
	reaping.Go(func() { _ = cmd.Wait() }) // it is being ended
	h.server = nil
	return proc.End(context.Background(), h.id, serverGrace)
}

// Stop ends everything and gives the folder back.
func (h *House) Stop() error {
	err := h.stop()
	h.Release()
	return err
}

// stop ends everything; our own child must be reaped beside.
func (h *House) stop() error {
	var reaping sync.WaitGroup
	if cmd := h.server; cmd != nil {
		reaping.Go(func() { _ = cmd.Wait() }) // it is being ended
	}
	_, err := stopAll(context.Background(), h.o.Folders)
	reaping.Wait()
	return err
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, cannotWrite(filepath.Dir(path), err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, fault.New(fault.Conflict, "another drover up is using this data folder").Coded(fault.CodeUpRunning).
			Why("%s is locked", path).Try("drover status", "drover down").Wrap(err)
	}
	return f, nil
}

func cannotWrite(dir string, err error) error {
	return fault.New(fault.Denied, "cannot write to the data folder %s", dir).
		Why("%s", plain(err)).Try("drover up --data DIR").Wrap(err)
}

// plain is the error of a file operation without its path.
func plain(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return fmt.Sprint(err)
}
