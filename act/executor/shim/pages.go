package shim

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// shedPages gives the pages of the program's own file back to the kernel: the
// start needed many of them, the wait that follows needs few, and those come
// back from the page cache by themselves. With hundreds of shims the pages are
// shared anyway; a lone shim would be counted all of them.
//
// Measured: a lone shim weighs 1.75 MB in place of 2.43. A collection of the heap
// at the same time makes it worse, for the collector touches more than it frees.
//
// Only mappings that nobody can write are given back: what is in them is in the
// file. Failing costs memory and nothing else.
func shedPages() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.SplitSeq(string(maps), "\n") {
		f := strings.Fields(line) // from-to rwxp offset device inode path
		if len(f) != 6 || f[5] != program || strings.Contains(f[1], "w") {
			continue
		}
		low, high, _ := strings.Cut(f[0], "-")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err1 != nil || err2 != nil || to <= from {
			continue
		}
		_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, uintptr(from), uintptr(to-from), uintptr(syscall.MADV_DONTNEED))
	}
}
