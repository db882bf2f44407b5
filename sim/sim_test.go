package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var (
	seed  = flag.Uint64("seed", 0, "simulate this seed only; 0: many")
	steps = flag.Int("steps", 350, "steps of each simulation")
	seeds = flag.Int("seeds", 100, "how many seeds")
	show  = flag.Bool("show", false, "print the trace of -seed")
)

// simulate runs one seed in a folder of its own, in memory where there is such a
// file system: thousands of journals are written.
func simulate(t *testing.T, seed uint64, opts Options) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "drover-sim-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	opts.Seed, opts.Steps, opts.Dir = seed, *steps, dir
	digest, err := Run(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestSeed simulates one seed, or a few if none is given.
func TestSeed(t *testing.T) {
	if *seed == 0 {
		t.Skip("no -seed is given; TestSeeds simulates many")
	}
	opts := Options{}
	if *show {
		opts.Trace = os.Stdout
	}
	t.Logf("seed %d: trace %s", *seed, simulate(t, *seed, opts))
}

// TestSeeds simulates many seeds, each twice: the same seed gives the same
// trace.
func TestSeeds(t *testing.T) {
	if *seed != 0 {
		t.Skip("one -seed is given")
	}
	for n := uint64(1); n <= uint64(*seeds); n++ {
		t.Run(fmt.Sprintf("seed=%d", n), func(t *testing.T) {
			t.Parallel()
			var one, two bytes.Buffer
			first, again := simulate(t, n, Options{Trace: &one}), simulate(t, n, Options{Trace: &two})
			if again != first {
				t.Errorf("seed %d gives trace %s, then %s; they part here:\n%s", n, first, again, parting(one.String(), two.String()))
			}
		})
	}
}

// parting is where two traces begin to differ, with what led there.
func parting(one, two string) string {
	a, b := strings.Split(one, "\n"), strings.Split(two, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return strings.Join(a[max(0, i-10):i], "\n") + "\nfirst:\n" + a[i] + "\nthen:\n" + b[i]
		}
	}
	return "one is longer"
}
