package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// up measures the start of a new cluster, and from nothing to the first
// instance RUNNING.
func (b *bench) up() ([]row, error) {
	ready, err := b.median(func() (time.Duration, error) {
		c, err := b.cluster()
		if err != nil {
			return 0, err
		}
		took, err := c.drover("up", "--detach")
		return took, errors.Join(err, c.down())
	})
	if err != nil {
		return nil, err
	}
	rows := []row{{"up, new cluster, to ready", "≤ 1 s", fmt.Sprintf("%.2f s", ready.Seconds())}}
	first, err := b.median(func() (time.Duration, error) {
		c, err := b.cluster()
		if err != nil {
			return 0, err
		}
		start := time.Now()
		_, err = c.drover("up", "--detach")
		if err == nil {
			_, err = c.drover("lrp", "desire", "one", "--wait", "--", "sleep", "1000")
		}
		return time.Since(start), errors.Join(err, c.down())
	})
	if err != nil {
		return rows, err
	}
	return append(rows, row{"cold up to the first instance RUNNING, both commands", "≤ 1.5 s", fmt.Sprintf("%.2f s", first.Seconds())}), nil
}

// demo measures up --demo until it is complete, and what its processes hold.
func (b *bench) demo() ([]row, error) {
	var memory []row
	took, err := b.median(func() (time.Duration, error) {
		c, err := b.cluster()
		if err != nil {
			return 0, err
		}
		took, err := c.drover("up", "--demo", "--detach")
		if err == nil {
			memory, err = c.memory("3")
		}
		if err == nil {
			var more []row
			more, err = c.memory("12")
			memory = append(memory, more[:min(1, len(more))]...)
		}
		return took, errors.Join(err, c.down())
	})
	if err != nil {
		return nil, err
	}
	return append([]row{{"up --demo, to complete", "≤ 15 s", fmt.Sprintf("%.2f s", took.Seconds())}}, memory...), nil
}

// memory is what the cluster's own processes hold on average, by what they are,
// with so many instances running. Shims first: the text that they share counts
// for each in part.
func (c *cluster) memory(instances string) ([]row, error) {
	if _, err := c.drover("lrp", "scale", "web", instances, "--wait"); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	type sum struct{ n, pss, rss int }
	sums := map[string]*sum{}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !strings.Contains(string(cmdline), c.home) {
			continue // gone, or not ours to look at
		}
		args := strings.Split(string(cmdline), "\x00")
		kind := kindOf(args)
		if kind == "" {
			continue
		}
		pss, rss, err := rollup(e.Name())
		if err != nil {
			continue // it went meanwhile
		}
		if sums[kind] == nil {
			sums[kind] = &sum{}
		}
		s := sums[kind]
		s.n, s.pss, s.rss = s.n+1, s.pss+pss, s.rss+rss
	}
	var rows []row
	for _, kind := range []string{"shim", "agent", "machine", "server"} {
		target := ""
		if kind == "shim" {
			target = "≤ 1 MB PSS"
		}
		if s := sums[kind]; s != nil {
			rows = append(rows, row{kind + ", each of " + strconv.Itoa(s.n), target, fmt.Sprintf("%.1f MB PSS, %.1f MB RSS", float64(s.pss)/float64(s.n)/1000, float64(s.rss)/float64(s.n)/1000)})
		}
	}
	return rows, nil
}

// kindOf is what one of our processes is.
func kindOf(args []string) string {
	switch filepath.Base(args[0]) {
	case "drover-shim":
		return "shim"
	case "drover":
		for _, a := range args[1:] {
			if a == "agent" || a == "machine" || a == "server" {
				return a
			}
		}
	}
	return ""
}

// rollup is a process's proportional and resident memory in kB.
func rollup(pid string) (pss, rss int, err error) {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "smaps_rollup"))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		switch f[0] {
		case "Pss:":
			pss, err = strconv.Atoi(f[1])
		case "Rss:":
			rss, err = strconv.Atoi(f[1])
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return pss, rss, nil
}
