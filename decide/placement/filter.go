package placement

import (
	"fmt"
	"slices"
	"strings"

	"drover/noun/work"
)

// Cell is a cell as an auction sees it.
type Cell struct {
	ID       work.CellID
	Zone     string
	Stack    string
	Runtimes []string
	Tags     []string
	Volumes  []string
	Capacity work.Resources
	Used     work.Resources
	Closed   string // why it takes no work at all: lost, away, evacuating, …
}

// The exact beginnings of a placement error. Spec: 002 "Communicating Fullness".
const (
	NoCompatibleCells     = "found no compatible cells"
	InsufficientResources = "insufficient resources"
)

// filter is one reason for which a cell may not take an item whatever its room.
type filter struct {
	name    string
	check   func(*Cell, *work.Spec) bool
	explain func(*Cell, *work.Spec) string
}

// filters in the order in which a cell's first objection is told.
var filters = []filter{
	{
		"closed",
		func(c *Cell, _ *work.Spec) bool { return c.Closed == "" },
		func(c *Cell, _ *work.Spec) string { return c.Closed },
	}, {
		"stack",
		func(c *Cell, s *work.Spec) bool { return s.Stack == "" || s.Stack == c.Stack },
		func(c *Cell, s *work.Spec) string { return fmt.Sprintf("stack %s, not %s", c.Stack, s.Stack) },
	}, {
		"runtime",
		func(c *Cell, s *work.Spec) bool { return slices.Contains(c.Runtimes, Runtime(s.RootFS)) },
		func(_ *Cell, s *work.Spec) string { return "no runtime " + Runtime(s.RootFS) },
	}, {
		"tags",
		func(c *Cell, s *work.Spec) bool { return lacks(c.Tags, s.PlacementTags) == "" },
		func(c *Cell, s *work.Spec) string { return "no tag " + lacks(c.Tags, s.PlacementTags) },
	}, {
		"volumes",
		func(c *Cell, s *work.Spec) bool { return lacks(c.Volumes, s.VolumeDrivers) == "" },
		func(c *Cell, s *work.Spec) string { return "no volume driver " + lacks(c.Volumes, s.VolumeDrivers) },
	},
}

// Runtime is the runtime that a root file system needs: plain processes use the
// host's own, anything else is an image.
func Runtime(rootFS string) string {
	scheme, _, _ := strings.Cut(rootFS, ":")
	if scheme == "" || scheme == "process" {
		return "process"
	}
	return "runc"
}

func lacks(have, want []string) string {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return w
		}
	}
	return ""
}

// objection is the first filter that refuses the cell, with its reason; -1: none.
func objection(c *Cell, s *work.Spec) (int, string) {
	for i, f := range filters {
		if !f.check(c, s) {
			return i, f.explain(c, s)
		}
	}
	return -1, ""
}

// The goods of a cell, in the order in which shortness is told.
var goods = []struct {
	name string
	of   func(work.Resources) int64
}{
	{"memory", func(r work.Resources) int64 { return r.MemoryMB }},
	{"disk", func(r work.Resources) int64 { return r.DiskMB }},
	{"containers", func(r work.Resources) int64 { return r.Containers }},
}

func fits(c *Cell, need work.Resources) bool {
	return c.Used.MemoryMB+need.MemoryMB <= c.Capacity.MemoryMB &&
		c.Used.DiskMB+need.DiskMB <= c.Capacity.DiskMB &&
		c.Used.Containers+need.Containers <= c.Capacity.Containers
}

// Objection is why the cell cannot take the item now; empty: it can. It is what
// `why` shows for each cell.
func Objection(c *Cell, i *Item) string {
	if _, why := objection(c, i.Spec); why != "" {
		return why
	}
	for _, g := range goods {
		free := g.of(c.Capacity) - g.of(c.Used)
		if need := g.of(i.Resources); need > free {
			return fmt.Sprintf("%s: %d free, %d needed", g.name, max(0, free), need)
		}
	}
	return ""
}

// explain is the placement error of an item that no cell can take: the seed's
// text first, then how many cells object for what.
func explain(cells []Cell, i *Item) string {
	var refused, short []tally
	eligible := 0
	for c := range cells {
		if f, why := objection(&cells[c], i.Spec); f >= 0 {
			refused = count(refused, why)
			continue
		}
		eligible++
		for _, g := range goods {
			if g.of(cells[c].Used)+g.of(i.Resources) > g.of(cells[c].Capacity) {
				short = count(short, g.name)
			}
		}
	}
	if eligible > 0 {
		return InsufficientResources + ": " + sum("lack", short, eligible)
	}
	if len(cells) == 0 {
		return NoCompatibleCells + ": there are no cells"
	}
	return NoCompatibleCells + ": " + sum("with", refused, len(cells))
}

type tally struct {
	why string
	n   int
}

func count(ts []tally, why string) []tally {
	for i := range ts {
		if ts[i].why == why {
			ts[i].n++
			return ts
		}
	}
	return append(ts, tally{why, 1})
}

// sum is "of 5 cells 3 lack memory, 2 lack disk", at most five reasons.
func sum(verb string, ts []tally, cells int) string {
	slices.SortStableFunc(ts, func(a, b tally) int { return b.n - a.n })
	more := ""
	if len(ts) > 5 {
		ts, more = ts[:5], ", …"
	}
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = fmt.Sprintf("%d %s %s", t.n, verb, t.why)
	}
	return fmt.Sprintf("of %d cells %s%s", cells, strings.Join(parts, ", "), more)
}
