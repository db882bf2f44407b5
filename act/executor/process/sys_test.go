package process_test

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
)

func syscallGetsid(pid int) (int, uintptr, syscall.Errno) {
	sid, x, errno := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	return int(sid), x, errno
}

// descriptors says what a process's descriptors are.
func descriptors(t *testing.T, pid int) map[int]string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	fds := map[int]string{}
	for _, e := range entries {
		n, _ := strconv.Atoi(e.Name())
		fds[n], _ = os.Readlink(dir + "/" + e.Name())
	}
	return fds
}
