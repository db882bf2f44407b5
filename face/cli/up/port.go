package up

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"drover/noun/fault"
)

// checkPort refuses an address that somebody else listens on, and says who.
func checkPort(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l.Close()
	}
	host, port, _ := net.SplitHostPort(addr) // checked before
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fault.New(fault.Invalid, "cannot listen on %s", addr).Why("%s", reasonOf(err)).
			Try("drover up --listen HOST:PORT").Wrap(err)
	}
	f := fault.New(fault.Conflict, "port %s is in use", port).Coded(fault.CodePortInUse).Wrap(err)
	if who := holder(port); who != "" {
		f = f.Why("%s listens on it", who)
	}
	other := "7444"
	if n, err := strconv.Atoi(port); err == nil {
		other = strconv.Itoa(n + 1)
	}
	return f.Try("drover up --listen "+net.JoinHostPort(host, other), "drover down")
}

func reasonOf(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// holder names the process that listens on the port; empty when it cannot be
// found, for example because it belongs to another user.
func holder(port string) string {
	inodes := listeners(port)
	if len(inodes) == 0 {
		return ""
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*") // fails only for bad patterns
	for _, fd := range fds {
		link, err := os.Readlink(fd)
		if err != nil || !inodes[strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")] {
			continue
		}
		pid := strings.Split(fd, "/")[2]
		cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline")
		if err != nil {
			continue
		}
		words := strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
		return fmt.Sprintf("pid %s (%s)", pid, clip(strings.Join(words, " "), 120))
	}
	return ""
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// listeners are the inodes of the sockets that listen on the port.
func listeners(port string) map[string]bool {
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil
	}
	const localField, stateField, inodeField, listen = 1, 3, 9, "0A"
	suffix := fmt.Sprintf(":%04X", n)
	inodes := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > inodeField && f[stateField] == listen && strings.HasSuffix(f[localField], suffix) {
				inodes[f[inodeField]] = true
			}
		}
	}
	return inodes
}
