// Command figures measures what docs/benchmarks.md promises, on this machine,
// and prints it as a table of Markdown.
//
// It builds the programs, starts clusters with folders and ports of their own in
// a temporary folder, and ends them again. Every absolute stands beside this
// run's rate of fsync; where a ratio decides, both sides are measured here.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	cold := flag.Bool("cold", false, "also measure a build with empty caches of the compiler (takes minutes)")
	rounds := flag.Int("rounds", 3, "runs of each measurement; the median counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, *cold, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

type row struct{ what, target, got string }

func measure(ctx context.Context, cold bool, rounds int) error {
	dir, err := os.MkdirTemp("", "drover-figures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: ctx, dir: dir, bin: filepath.Join(dir, "bin"), rounds: rounds}
	var rows []row
	for _, part := range []func() ([]row, error){b.disk, func() ([]row, error) { return b.build(cold) }, b.hookTool, b.up, b.demo} {
		some, err := part()
		rows = append(rows, some...)
		if err != nil {
			fmt.Fprintln(os.Stderr, "figures:", err)
		}
	}
	fmt.Printf("%d cores, %s/%s, %s\n\n| what | target | measured |\n|---|---|---|\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	for _, r := range rows {
		fmt.Printf("| %s | %s | %s |\n", r.what, r.target, r.got)
	}
	return nil
}

type bench struct {
	ctx    context.Context
	dir    string
	bin    string
	rounds int
	n      int
}

// median runs fn so many times and returns the middle one.
func (b *bench) median(fn func() (time.Duration, error)) (time.Duration, error) {
	var all []time.Duration
	for range b.rounds {
		d, err := fn()
		if err != nil {
			return 0, err
		}
		all = append(all, d)
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// disk is the rate of fsync of the folder that everything else uses.
func (b *bench) disk() ([]row, error) {
	f, err := os.Create(filepath.Join(b.dir, "fsync"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	block, n, start := make([]byte, 4096), 0, time.Now()
	for ; time.Since(start) < time.Second; n++ {
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
	}
	return []row{{"fsync of 4 KiB appended", "", fmt.Sprintf("%d/s", int(float64(n)/time.Since(start).Seconds()))}}, nil
}

func (b *bench) goBuild(env []string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(b.ctx, "go", append([]string{"build", "-trimpath", "-ldflags=-s -w"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return time.Since(start), nil
}

func (b *bench) build(cold bool) ([]row, error) {
	var rows []row
	if cold {
		took, err := b.goBuild([]string{"GOCACHE=" + filepath.Join(b.dir, "cache")}, "-o", filepath.Join(b.dir, "cold"), "./cmd/drover")
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{"cold build (modules there, nothing compiled)", "≤ 90 s", fmt.Sprintf("%.0f s", took.Seconds())})
	}
	if _, err := b.goBuild([]string{"CGO_ENABLED=0"}, "-o", b.bin+"/", "./cmd/drover", "./cmd/drover-hook", "./cmd/drover-shim"); err != nil {
		return rows, err
	}
	for _, p := range []struct{ name, target string }{{"drover", "≤ 40 MB"}, {"drover-hook", ""}, {"drover-shim", ""}} {
		info, err := os.Stat(filepath.Join(b.bin, p.name))
		if err != nil {
			return rows, err
		}
		rows = append(rows, row{p.name + ", stripped", p.target, fmt.Sprintf("%.1f MB", float64(info.Size())/1e6)})
	}
	return rows, nil
}

// hookTool compares the start of a hook tool, refused for want of a socket, with
// that of a program that does nothing.
func (b *bench) hookTool() ([]row, error) {
	src := filepath.Join(b.dir, "minimal.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return nil, err
	}
	minimal := filepath.Join(b.dir, "minimal")
	if _, err := b.goBuild([]string{"CGO_ENABLED=0"}, "-o", minimal, src); err != nil {
		return nil, err
	}
	tool := filepath.Join(b.dir, "relation-get")
	if err := os.Symlink(filepath.Join(b.bin, "drover-hook"), tool); err != nil {
		return nil, err
	}
	const runs = 200
	start := func(program string) (time.Duration, error) {
		began := time.Now()
		for range runs {
			cmd := exec.CommandContext(b.ctx, program)
			cmd.Env = []string{}
			_ = cmd.Run() // it says that there is no hook
		}
		return time.Since(began) / runs, b.ctx.Err()
	}
	base, err := b.median(func() (time.Duration, error) { return start(minimal) })
	if err != nil {
		return nil, err
	}
	ours, err := b.median(func() (time.Duration, error) { return start(tool) })
	if err != nil {
		return nil, err
	}
	return []row{{"start of a hook tool, against a minimal static Go program", "≤ 2 ×", fmt.Sprintf("%.2f ms against %.2f ms: %.1f ×", ms(ours), ms(base), float64(ours)/float64(base))}}, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cluster is one that was started for a measurement.
type cluster struct {
	b    *bench
	home string
	env  []string
}

func (b *bench) cluster() (*cluster, error) {
	b.n++
	c := &cluster{b: b, home: filepath.Join(b.dir, fmt.Sprintf("home%d", b.n))}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	c.env = append(os.Environ(), "HOME="+c.home, "DROVER_DATA="+filepath.Join(c.home, "data"), "DROVER_CONFIG="+filepath.Join(c.home, "config"),
		"DROVER_LISTEN="+address, "NO_COLOR=1")
	return c, os.MkdirAll(c.home, 0o700)
}

func (c *cluster) drover(args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(c.b.ctx, filepath.Join(c.b.bin, "drover"), args...)
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env, &out, &out
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		err = fmt.Errorf("drover %s: %w\n%s", strings.Join(args, " "), err, &out)
	}
	return took, err
}

func (c *cluster) down() error {
	_, err := c.drover("down", "--purge", "--yes")
	return err
}
