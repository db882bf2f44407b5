package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"drover/noun/work"
)

func cell(id, zone string, memory int64) Cell {
	return Cell{
		ID: work.CellID(id), Zone: zone, Stack: "linux", Runtimes: []string{"process"},
		Capacity: work.Resources{MemoryMB: memory, DiskMB: 100_000, Containers: 250},
	}
}

func index(guid string, i int, memory int64) Item {
	return Item{
		LRP: work.LRPKey{ProcessGUID: work.ProcessGUID(guid), Index: i}, Spec: &work.Spec{MemoryMB: memory},
		Resources: work.Resources{MemoryMB: memory, Containers: 1},
	}
}

func task(guid string, memory int64) Item {
	return Item{Task: work.TaskGUID(guid), Spec: &work.Spec{MemoryMB: memory}, Resources: work.Resources{MemoryMB: memory, Containers: 1}}
}

func (i Item) String() string {
	if i.IsTask() {
		return string(i.Task)
	}
	return fmt.Sprintf("%s/%d", i.LRP.ProcessGUID, i.LRP.Index)
}

func (p Placed) String() string {
	if p.Error != "" {
		return p.Item.String() + ": " + p.Error
	}
	return p.Item.String() + " -> " + string(p.Cell)
}

func lines[T fmt.Stringer](items []T) string {
	var b strings.Builder
	for _, i := range items {
		b.WriteString(i.String() + "\n")
	}
	return b.String()
}

// Rule: D-077 D-087 D-088
func TestABatchIsOrderedByGroupThenMemoryThenKeyAndHoldsWorkOnce(t *testing.T) {
	got := lines(Order([]Item{
		index("b", 1, 10), task("t", 5), index("a", 0, 10), index("a", 2, 99), task("u", 50),
		index("c", 0, 20), index("a", 1, 10), index("a", 0, 10), task("t", 5), index("a", 10, 1),
	}))
	want := "c/0\na/0\nu\nt\na/1\nb/1\na/2\na/10\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestPlacement(t *testing.T) {
	evacuating := cell("c1", "z", 1000)
	evacuating.Closed = "evacuating"
	windows := cell("w1", "z", 1000)
	windows.Stack = "windows"
	ssd := cell("s1", "z", 1000)
	ssd.Tags, ssd.Volumes = []string{"ssd"}, []string{"nfs"}
	busy := cell("b1", "z", 1000)
	busy.Used = work.Resources{MemoryMB: 500, Containers: 5}
	with := func(i Item, change func(*work.Spec)) Item {
		s := *i.Spec
		change(&s)
		i.Spec = &s
		return i
	}
	for _, tt := range []struct {
		name  string
		cells []Cell
		held  []Held
		batch []Item
		want  string
	}{
		{
			// Rule: D-078 D-172
			name: "only cells of the stack", cells: []Cell{cell("c1", "z", 1000), windows},
			batch: []Item{
				with(index("a", 0, 1), func(s *work.Spec) { s.Stack = "windows" }),
				with(task("t", 1), func(s *work.Spec) { s.Stack = "windows" }),
			},
			want: "a/0 -> w1\nt -> w1\n",
		}, {
			// Rule: D-093
			name: "no cell of the stack", cells: []Cell{cell("c1", "z", 1000), cell("c2", "z", 1000)},
			batch: []Item{with(index("a", 0, 1), func(s *work.Spec) { s.Stack = "windows" })},
			want:  "a/0: found no compatible cells: of 2 cells 2 with stack linux, not windows\n",
		}, {
			name: "no cells at all", batch: []Item{index("a", 0, 1)},
			want: "a/0: found no compatible cells: there are no cells\n",
		}, {
			// Rule: D-079 D-094
			name: "only cells with room", cells: []Cell{cell("c1", "z", 100), cell("c2", "z", 1000)},
			batch: []Item{index("a", 0, 600), index("b", 0, 600)},
			want:  "a/0 -> c2\nb/0: insufficient resources: of 2 cells 2 lack memory\n",
		}, {
			// Rule: D-134 D-147
			name: "no cell that is closed", cells: []Cell{evacuating},
			batch: []Item{index("a", 0, 1)},
			want:  "a/0: found no compatible cells: of 1 cells 1 with evacuating\n",
		}, {
			name: "tags, volumes and runtimes", cells: []Cell{cell("c1", "z", 1000), ssd},
			batch: []Item{
				with(index("a", 0, 1), func(s *work.Spec) { s.PlacementTags = []string{"ssd"} }),
				with(index("b", 0, 1), func(s *work.Spec) { s.VolumeDrivers = []string{"nfs"} }),
				with(index("c", 0, 1), func(s *work.Spec) { s.RootFS = "oci:///x" }),
			},
			want: "a/0 -> s1\nb/0 -> s1\nc/0: found no compatible cells: of 2 cells 2 with no runtime runc\n",
		}, {
			// Rule: D-080
			name: "the emptier cell", cells: []Cell{busy, cell("c1", "z", 1000)},
			batch: []Item{index("a", 0, 10)}, want: "a/0 -> c1\n",
		}, {
			// Rule: D-081
			name: "fewer instances on the cell before even use", cells: []Cell{busy, cell("c1", "z", 1000)},
			held:  []Held{{"a", "c1", 1}},
			batch: []Item{index("a", 1, 10)}, want: "a/1 -> b1\n",
		}, {
			// Rule: D-082
			name:  "fewer instances in the zone before both",
			cells: []Cell{cell("c1", "y", 1000), cell("c2", "y", 1000), busy, cell("c3", "z", 1000)},
			held:  []Held{{"a", "c1", 1}, {"a", "b1", 1}, {"a", "c2", 1}},
			batch: []Item{index("a", 3, 10), index("a", 4, 10)},
			want:  "a/3 -> c3\na/4 -> c1\n",
		}, {
			name:  "the fuller zone when the other has no room",
			cells: []Cell{cell("c1", "y", 10), cell("c2", "z", 1000)}, held: []Held{{"a", "c2", 3}},
			batch: []Item{index("a", 3, 100)}, want: "a/3 -> c2\n",
		}, {
			// Rule: D-173
			name: "tasks are spread without colocation rules", cells: []Cell{busy, cell("c1", "z", 1000)},
			batch: []Item{task("t", 10), task("u", 10), task("v", 10)},
			want:  "t -> c1\nu -> c1\nv -> c1\n",
		}, {
			name: "ties by id", cells: []Cell{cell("c2", "z", 1000), cell("c1", "z", 1000)},
			batch: []Item{index("a", 0, 10), index("a", 1, 10), index("b", 0, 10)},
			want:  "a/0 -> c1\nb/0 -> c2\na/1 -> c2\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := lines(Place(tt.cells, tt.held, tt.batch)); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestObjectionNamesTheFirstReason(t *testing.T) {
	c, i := cell("c1", "z", 100), index("a", 0, 200)
	if got := Objection(&c, &i); got != "memory: 100 free, 200 needed" {
		t.Errorf("got %q", got)
	}
	c.Closed = "lost"
	if got := Objection(&c, &i); got != "lost" {
		t.Errorf("got %q", got)
	}
	c, i = cell("c1", "z", 100), index("a", 0, 20)
	if got := Objection(&c, &i); got != "" {
		t.Errorf("got %q", got)
	}
}

// dumb is the placement of one item written down as the seed says it: every cell
// is looked at, the best of the fitting ones wins.
func dumb(cells []Cell, on map[work.CellID]int, it *Item) int {
	zones := map[string]int{}
	for _, c := range cells {
		zones[c.Zone] += on[c.ID]
	}
	best, bestScore := -1, int64(0)
	for i := range cells {
		c := &cells[i]
		if Objection(c, it) != "" {
			continue
		}
		s := use(c)
		if !it.IsTask() {
			s = score(zones[c.Zone], on[c.ID], use(c))
		}
		if best < 0 || s < bestScore {
			best, bestScore = i, s
		}
	}
	return best
}

// The ordered structures choose what a look at every cell would, never overfill
// a cell, and do not depend on the order of the arguments. Rule: D-080 D-081 D-082
func TestPlaceEqualsALookAtEveryCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := make([]Cell, rapid.IntRange(0, 12).Draw(t, "cells"))
		for i := range cells {
			cells[i] = cell(fmt.Sprintf("c%02d", i), fmt.Sprint("z", rapid.IntRange(0, 2).Draw(t, "zone")), int64(rapid.IntRange(1, 20).Draw(t, "memory"))*50)
			cells[i].Capacity.Containers = int64(rapid.IntRange(1, 12).Draw(t, "containers"))
			if rapid.IntRange(0, 9).Draw(t, "closed") == 0 {
				cells[i].Closed = "lost"
			}
		}
		var batch []Item
		for g := range rapid.IntRange(0, 4).Draw(t, "guids") {
			memory := int64(rapid.IntRange(1, 6).Draw(t, "need")) * 30
			for i := range rapid.IntRange(1, 30).Draw(t, "instances") {
				batch = append(batch, index(fmt.Sprint("g", g), i, memory))
			}
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "tasks") {
			batch = append(batch, task(fmt.Sprint("t", i), int64(rapid.IntRange(1, 9).Draw(t, "need"))*20))
		}
		got := Place(cells, nil, rapid.Permutation(batch).Draw(t, "batch"))
		if len(got) != len(batch) {
			t.Fatalf("%d items, %d answers", len(batch), len(got))
		}
		now := slices.Clone(cells)
		on := map[work.ProcessGUID]map[work.CellID]int{}
		for _, p := range got {
			guid := p.LRP.ProcessGUID
			if on[guid] == nil {
				on[guid] = map[work.CellID]int{}
			}
			best := dumb(now, on[guid], &p.Item)
			want := work.CellID("")
			if best >= 0 {
				want = now[best].ID
				now[best].Used = now[best].Used.Add(p.Resources)
				if !p.IsTask() {
					on[guid][want]++
				}
			}
			if p.Cell != want || (p.Cell == "") != (p.Error != "") {
				t.Fatalf("%s, want %s", p, want)
			}
		}
	})
}

func TestCriteriaNeverOutweighTheOnesBefore(t *testing.T) {
	const full = 3 * millionth
	if full >= useLimit {
		t.Fatal("use is not below its limit")
	}
	if !(score(0, 0, full) < score(0, 1, 0) && score(0, cellLimit, full) < score(1, 0, 0)) {
		t.Error("a lower criterion outweighs a higher one")
	}
	if score(cellLimit+5, cellLimit+5, full) < 0 {
		t.Error("the score overflows")
	}
}

func benchmark(b *testing.B, guids, instances, cellCount, zones int) {
	var cells []Cell
	for i := range cellCount {
		cells = append(cells, cell(fmt.Sprintf("c%04d", i), fmt.Sprint("z", i%zones), 64_000))
	}
	var batch []Item
	for g := range guids {
		spec := &work.Spec{MemoryMB: int64(64 + g%7*64)}
		for i := range instances {
			batch = append(batch, Item{
				LRP:  work.LRPKey{ProcessGUID: work.ProcessGUID(fmt.Sprintf("g%05d", g)), Index: i},
				Spec: spec, Resources: work.Resources{MemoryMB: spec.MemoryMB, DiskMB: 100, Containers: 1},
			})
		}
	}
	for b.Loop() {
		Place(cells, nil, batch)
	}
	b.ReportMetric(float64(len(batch)*b.N)/b.Elapsed().Seconds(), "placements/s")
}

func BenchmarkPlace(b *testing.B) {
	b.Run("guids=10000/instances=10/cells=1000", func(b *testing.B) { benchmark(b, 10_000, 10, 1000, 3) })
	b.Run("guids=100/instances=1000/cells=1000", func(b *testing.B) { benchmark(b, 100, 1000, 1000, 3) })
	b.Run("guids=1/instances=100000/cells=1000", func(b *testing.B) { benchmark(b, 1, 100_000, 1000, 3) })
}
