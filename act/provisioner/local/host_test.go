package local

import "testing"

func TestMachinesDivideTheHost(t *testing.T) {
	host := Capacity{CPUs: 4, MemoryMB: 16000, DiskMB: 1600}
	for _, c := range []struct {
		machines int
		memory   int64
	}{{1, 2000}, {8, 2000}, {9, 1000}, {16, 1000}, {17, 500}} {
		if got := host.share(c.machines); got.MemoryMB != c.memory || got.CPUs != 4 {
			t.Errorf("with %d machines one gets %+v, want %d MiB and 4 cpus", c.machines, got, c.memory)
		}
	}
}

func TestAddressesDoNotRepeat(t *testing.T) {
	used := map[string]bool{}
	for n := range 600 {
		a := freeAddress("some-cluster", n/2, used)
		if used[a] {
			t.Fatalf("%s is given twice", a)
		}
		used[a] = true
	}
}

func TestTheHostIsFound(t *testing.T) {
	c, err := HostCapacity(t.TempDir())
	if err != nil || c.CPUs < 1 || c.MemoryMB < 1 || c.DiskMB < 1 {
		t.Errorf("got %+v, %v", c, err)
	}
}
