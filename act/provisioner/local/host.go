package local

import (
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Capacity is what a host or machine has.
type Capacity struct {
	CPUs     int
	MemoryMB int64
	DiskMB   int64
}

// slots is into how many equal parts the host is divided at first.
const slots = 8

// share is what one of so many local machines gets: an equal part of memory and
// disk; the kernel shares the CPUs. The number of parts doubles when machines
// outgrow it; machines that were started before keep their part until they boot
// again.
func (c Capacity) share(machines int) Capacity {
	parts := int64(slots)
	for parts < int64(machines) {
		parts *= 2
	}
	return Capacity{CPUs: c.CPUs, MemoryMB: max(c.MemoryMB/parts, 1), DiskMB: max(c.DiskMB/parts, 1)}
}

// HostCapacity asks the host, within the bounds of the control group that the
// process is in.
func HostCapacity(dir string) (Capacity, error) {
	c := Capacity{CPUs: runtime.GOMAXPROCS(0)}
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return c, fmt.Errorf("/proc/meminfo: %w", err)
			}
			c.MemoryMB = kb >> 10
		}
	}
	if limit, ok := groupLimit(); ok {
		c.MemoryMB = min(c.MemoryMB, limit)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return c, fmt.Errorf("size of the disk of %s: %w", dir, err)
	}
	c.DiskMB = int64(st.Bavail) * st.Bsize >> 20
	return c, nil
}

// groupLimit is the memory limit of the process's control group, in MiB.
func groupLimit() (int64, bool) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	_, path, ok := strings.Cut(strings.TrimSpace(string(b)), "0::")
	if !ok {
		return 0, false
	}
	b, err = os.ReadFile("/sys/fs/cgroup" + path + "/memory.max")
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n >> 20, err == nil // "max": no limit
}

// The hosts of a cluster's network 127.x.0.0/16, with x of the cluster's id, so
// that several clusters live on one host.
const hostsPerByte = 254

// freeAddress is the address of a machine of that number, or the next that
// nobody uses.
func freeAddress(cluster string, number int, used map[string]bool) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(cluster)) // never fails
	x := 2 + h.Sum32()%249
	for n := number; ; n++ {
		a := fmt.Sprintf("127.%d.%d.%d", x, n/hostsPerByte%256, 1+n%hostsPerByte)
		if !used[a] || n-number > hostsPerByte*256 {
			return a
		}
	}
}
