package process

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"drover/act/executor"
	"drover/act/executor/shim"
	"drover/internal/proc"
)

// Start writes the process's spec and starts a shim for it, detached: in its
// own session, with no descriptor of the agent's.
func (r *Runtime) Start(_ context.Context, p executor.Place, ps executor.Process) error {
	spec, err := r.spec(p, ps)
	if err != nil {
		return err
	}
	dir := procDir(p, ps.Name)
	if err := os.MkdirAll(procsDir(p), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("start %s/%s: %w", p.GUID, ps.Name, err)
	}
	t := &tracked{place: p, name: ps.Name, dir: dir, pidfd: -1}
	if err := r.launch(t, spec); err != nil {
		os.RemoveAll(dir)
		return fmt.Errorf("start %s/%s: %w", p.GUID, ps.Name, err)
	}
	return nil
}

func (r *Runtime) launch(t *tracked, spec []byte) error {
	if err := shim.WriteFile(filepath.Join(t.dir, shim.SpecFile), spec, false); err != nil {
		return err
	}
	r.watch.folder(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	fd := -1
	child, err := os.StartProcess(r.cfg.Shim[0], append(append([]string{}, r.cfg.Shim...), t.dir), &os.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1", "GOGC=off"}, // it only waits, and allocates a few pages once
		Files: []*os.File{null, null, null},
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &fd},
	})
	if err != nil {
		return fmt.Errorf("the shim %s: %w", r.cfg.Shim[0], err)
	}
	t.shim, t.child = proc.ID{PID: child.Pid}, true
	if fd < 0 {
		if fd, err = unix.PidfdOpen(child.Pid, 0); err != nil {
			_ = child.Kill()
			_, _ = child.Wait()
			return fmt.Errorf("pidfd: %w", err)
		}
	}
	_ = child.Release() // reaped when its pidfd says that it has ended
	unix.CloseOnExec(fd)
	t.pidfd = fd
	r.mu.Lock()
	r.procs[t.dir] = t
	r.mu.Unlock()
	r.watchEnd(t)
	return nil
}

func (r *Runtime) spec(p executor.Place, ps executor.Process) ([]byte, error) {
	s := shim.Spec{
		Path: ps.Path, Args: ps.Args, Dir: ps.Dir,
		LogMax: r.cfg.LogMax, StopMS: ps.Grace.Milliseconds(),
	}
	s.Env = append(append(s.Env, ps.Env...),
		containerVar+"="+string(p.GUID),
		processVar+"="+string(p.GUID)+"/"+ps.Name)
	if ps.User != "" {
		if err := setUser(&s, ps.User); err != nil {
			return nil, err
		}
	}
	b, err := s.Encode()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", ps.Path, err)
	}
	return b, nil
}

// setUser asks for another user's rights, which only root can give.
func setUser(s *shim.Spec, name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return fmt.Errorf("run as user %q: %w", name, err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	switch {
	case err1 != nil || err2 != nil:
		return fmt.Errorf("run as user %q: its ids are not numbers", name)
	case uid == os.Geteuid():
		return nil
	case os.Geteuid() != 0:
		return fmt.Errorf("run as user %q: the agent is not root", name)
	}
	s.UID, s.GID, s.SetUser = uid, gid, true
	return nil
}
