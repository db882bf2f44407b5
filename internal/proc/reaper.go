package proc

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// Reaper collects the orphans of a child subreaper. Children that the program
// started itself are left to whoever started them: they are announced with Own.
type Reaper struct {
	mu  sync.Mutex // guards own
	own map[int]bool
}

// NewReaper makes the calling process the subreaper of its descendants: what
// they leave behind becomes its child instead of init's.
func NewReaper() (*Reaper, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	return &Reaper{own: map[int]bool{}}, nil
}

// Start runs start, which starts a process and returns its pid, and marks that
// as the program's own before an orphan could be taken for it.
func (r *Reaper) Start(start func() (pid int, err error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := start()
	if err == nil {
		r.own[pid] = true
	}
	return err
}

// Ended says that the program has waited for a process of its own.
func (r *Reaper) Ended(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.own, pid)
}

// Reap collects the orphans that have ended by now.
func (r *Reaper) Reap() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	zombies, err := zombieChildren(os.Getpid())
	if err != nil {
		return err
	}
	for _, pid := range zombies {
		if r.own[pid] {
			continue
		}
		_, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if err != nil && !errors.Is(err, unix.ECHILD) && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return nil
}

// Run reaps whenever a child ends, until the context does.
func (r *Reaper) Run(ctx context.Context) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	for {
		if err := r.Reap(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return r.Reap()
		case <-ended:
		}
	}
}

func zombieChildren(parent int) ([]int, error) {
	pids, err := pids()
	if err != nil {
		return nil, err
	}
	var zs []int
	for _, pid := range pids {
		if st, err := readStat(pid); err == nil && st.ppid == parent && st.state == 'Z' {
			zs = append(zs, pid)
		}
	}
	return zs, nil
}
