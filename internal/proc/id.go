// Package proc knows processes by identity: a pid together with the moment the
// process started, so that a reused pid is never taken for its predecessor.
//
// It reads /proc, signals through pidfds, keeps records of processes on disk,
// finds the descendants of a process and ends them. It never signals a process
// whose identity it has not just checked, and never one found by name alone.
//
// Invariant: Signal reaches the process of the ID or nobody.
//
// Linux only. All functions may be called concurrently.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGone means that the process of an ID does not exist any more.
var ErrGone = errors.New("process is gone")

// ID is a process's identity. Start is in clock ticks since the host's boot,
// Boot the boot's id; together they never repeat. The zero ID is nobody.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// IsZero reports whether the ID names no process.
func (id ID) IsZero() bool { return id.PID == 0 }

// String is the pid with its start time, for logs.
func (id ID) String() string { return fmt.Sprintf("pid %d (started at tick %d)", id.PID, id.Start) }

// Self is the identity of the calling process.
func Self() (ID, error) { return Of(os.Getpid()) }

// Of is the identity of the process that has the pid now. ErrGone when there is
// none, or only a zombie.
func Of(pid int) (ID, error) {
	st, err := readStat(pid)
	if err != nil {
		return ID{}, err
	}
	if st.dead() {
		return ID{}, ErrGone
	}
	return ID{PID: pid, Start: st.start, Boot: HostBoot()}, nil
}

// Alive reports whether the process still exists; a zombie does not count.
func (id ID) Alive() bool {
	if id.PID <= 0 || id.Boot != HostBoot() {
		return false
	}
	st, err := readStat(id.PID)
	return err == nil && !st.dead() && st.start == id.Start
}

// Signal sends a signal to the process. ErrGone when it does not exist any more.
func (id ID) Signal(sig unix.Signal) error {
	fd, err := id.open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrGone
		}
		return fmt.Errorf("signal %s: %w", id, err)
	}
	return nil
}

// Wait returns nil when the process has ended, or the context's error. It works
// for processes that are not children; the caller of a child must still reap it.
func (id ID) Wait(ctx context.Context) error {
	fd, err := id.open()
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const slice = 50 * time.Millisecond // bounds how late an ended context is seen
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(slice/time.Millisecond))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for %s: %w", id, err)
		}
		if n > 0 {
			return nil
		}
	}
}

// open gives a pidfd that is sure to be of this identity: the start time is
// checked after opening, when the pid cannot change hands any more.
func (id ID) open() (int, error) {
	if id.PID <= 0 || id.Boot != HostBoot() {
		return 0, ErrGone
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
			return 0, ErrGone
		}
		return 0, fmt.Errorf("open %s: %w", id, err)
	}
	if !id.Alive() {
		unix.Close(fd)
		return 0, ErrGone
	}
	return fd, nil
}

// HostBoot is the id of the host's present boot.
var HostBoot = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
})

// stat is what this package needs of /proc/PID/stat.
type stat struct {
	state   byte
	ppid    int
	pgid    int
	session int
	start   uint64
}

func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			return stat{}, ErrGone
		}
		return stat{}, err
	}
	return parseStat(b)
}

// parseStat reads the fields after the command's name, which stands in
// parentheses and may itself contain anything.
func parseStat(b []byte) (stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return stat{}, errors.New("malformed stat: no command name")
	}
	f := strings.Fields(string(b[i+1:]))
	const startField = 19 // field 22 of the whole line
	if len(f) <= startField || len(f[0]) != 1 {
		return stat{}, errors.New("malformed stat: too few fields")
	}
	s := stat{state: f[0][0]}
	var errs [4]error
	s.ppid, errs[0] = strconv.Atoi(f[1])
	s.pgid, errs[1] = strconv.Atoi(f[2])
	s.session, errs[2] = strconv.Atoi(f[3])
	s.start, errs[3] = strconv.ParseUint(f[startField], 10, 64)
	return s, errors.Join(errs[:]...)
}
