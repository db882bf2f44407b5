package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"drover/act/executor"
	"drover/act/executor/shim"
	"drover/internal/proc"
)

// Status looks at the process's folder and shim, and adopts a shim that another
// runtime started.
func (r *Runtime) Status(ctx context.Context, p executor.Place, name string) (executor.Status, error) {
	dir := procDir(p, name)
	r.mu.Lock()
	t := r.procs[dir]
	r.mu.Unlock()
	if t == nil {
		var err error
		if t, err = r.adopt(p, name); err != nil || t == nil {
			return executor.Status{Phase: executor.Absent}, err
		}
	}
	// The shim is looked at first: its record is its last act.
	alive := r.alive(t)
	exit, started, err := readExit(dir)
	switch {
	case err != nil:
		return executor.Status{}, err
	case exit != nil && !alive:
		return executor.Status{Phase: executor.Ended, Started: started, Exit: *exit}, nil
	case !alive:
		return r.lost(ctx, t)
	}
	id, err := readProcess(filepath.Join(dir, shim.PIDFile))
	if err != nil {
		return executor.Status{}, err
	}
	if id.IsZero() {
		return executor.Status{Phase: executor.Starting}, nil
	}
	return executor.Status{Phase: executor.Running, PID: id.PID, Started: fileTime(filepath.Join(dir, shim.PIDFile))}, nil
}

func fileTime(path string) time.Time {
	fi, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

// adopt finds what another runtime left in the folder; nil when nothing was
// started, in which case nothing will be.
func (r *Runtime) adopt(p executor.Place, name string) (*tracked, error) {
	dir := procDir(p, name)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	t := &tracked{place: p, name: name, dir: dir, pidfd: -1}
	id, err := readProcess(filepath.Join(dir, shim.ShimFile))
	if err != nil {
		return nil, err
	}
	if exit, _, err := readExit(dir); exit != nil || err != nil {
		return r.track(t), err
	}
	if void(dir) || id.IsZero() && !exists(filepath.Join(dir, shim.ShimFile)) {
		return nil, os.RemoveAll(dir)
	}
	if id.IsZero() { // written between the two looks
		if id, err = readProcess(filepath.Join(dir, shim.ShimFile)); err != nil {
			return nil, err
		}
	}
	t.shim = id
	if fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK); err == nil {
		if id.Alive() { // checked after opening: the pid can not change hands any more
			t.pidfd = fd
		} else {
			unix.Close(fd)
		}
	}
	r.watch.folder(t)
	return r.track(t), nil
}

// void takes the spec back from a shim that has not taken it yet.
func void(dir string) bool {
	return os.Rename(filepath.Join(dir, shim.SpecFile), filepath.Join(dir, shim.VoidFile)) == nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// track remembers the process; when two looked at once, the first one's stays.
func (r *Runtime) track(t *tracked) *tracked {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.procs[t.dir]; first != nil {
		if t.pidfd >= 0 {
			unix.Close(t.pidfd)
		}
		return first
	}
	r.procs[t.dir] = t
	if t.pidfd >= 0 {
		r.watchEnd(t)
	}
	return t
}

func (r *Runtime) watchEnd(t *tracked) {
	if err := r.watch.process(t); err != nil {
		r.cfg.Log.Warn("the end of a process is only polled for", "container", t.place.GUID, "process", t.name, "err", err)
	}
}

// alive reports whether the shim runs; a child of ours that has ended is reaped.
func (r *Runtime) alive(t *tracked) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.pidfd < 0 {
		return false
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(t.pidfd), Events: unix.POLLIN}}, 0)
	if err != nil || n == 0 {
		return true
	}
	r.watch.forget(t)
	unix.Close(t.pidfd)
	t.pidfd = -1
	if t.child {
		_, _ = unix.Wait4(t.shim.PID, nil, unix.WNOHANG, nil)
	}
	return false
}

// lost ends what a shim left behind that was killed, and writes the record that
// the shim could not write.
func (r *Runtime) lost(ctx context.Context, t *tracked) (executor.Status, error) {
	reason := LostShim
	if void(t.dir) {
		reason = "the shim ended before it started the process"
	}
	if err := r.endStrays(ctx, t); err != nil {
		return executor.Status{}, fmt.Errorf("end what %s/%s left behind: %w", t.place.GUID, t.name, err)
	}
	now := r.cfg.Now()
	record := shim.Exit{Error: reason, Ended: now.UnixNano()}
	if at := fileTime(filepath.Join(t.dir, shim.PIDFile)); !at.IsZero() {
		record.Started = at.UnixNano()
	}
	if err := shim.WriteFile(filepath.Join(t.dir, shim.ExitFile), record.Encode(), true); err != nil {
		return executor.Status{}, err
	}
	r.cfg.Log.Warn("a container's shim was lost", "container", t.place.GUID, "process", t.name, "why", reason)
	exit, started, err := readExit(t.dir)
	if err != nil || exit == nil {
		return executor.Status{}, errors.Join(err, errors.New("the record of a lost shim is gone"))
	}
	return executor.Status{Phase: executor.Ended, Started: started, Exit: *exit}, nil
}

// endStrays kills the process, what descends from it, and what carries its mark.
func (r *Runtime) endStrays(ctx context.Context, t *tracked) error {
	var roots []proc.ID
	id, err := readProcess(filepath.Join(t.dir, shim.PIDFile))
	if err != nil {
		return err
	}
	if !id.IsZero() && id.Alive() {
		roots = append(roots, id)
	}
	mark := string(t.place.GUID) + "/" + t.name
	marked, err := proc.EnvMatch([]string{processVar}, func(v string) bool { return v == mark })
	if err != nil {
		return err
	}
	if roots = append(roots, marked...); len(roots) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endStraysFor)
	defer cancel()
	return proc.KillTree(ctx, roots...)
}

const endStraysFor = 10 * time.Second
