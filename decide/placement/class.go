package placement

import (
	"cmp"
	"slices"
	"strings"

	"drover/noun/work"
)

// ranked is a cell in the order of use, then id.
type ranked struct {
	use  int64
	cell int
}

func compareUse(a, b ranked) int {
	if a.use != b.use {
		return cmp.Compare(a.use, b.use)
	}
	return cmp.Compare(a.cell, b.cell)
}

// ranking is cells in the order of use. A cell moves by shifting those between:
// for the thousands of cells of a zone that is cheaper than a tree.
type ranking []ranked

func (r ranking) move(from, to ranked) {
	i, _ := slices.BinarySearchFunc(r, from, compareUse)
	j, _ := slices.BinarySearchFunc(r, to, compareUse)
	if j > i {
		copy(r[i:], r[i+1:j])
		r[j-1] = to
		return
	}
	copy(r[j+1:i+1], r[j:i])
	r[j] = to
}

// class is the cells that pass the filters for all items with the same demands,
// in each zone in the order of use.
type class struct {
	member []bool
	byUse  []ranking        // by zone
	failed []work.Resources // found no room in this batch
	errors map[work.Resources]string
}

func (a *auction) class(s *work.Spec) *class {
	name := strings.Join([]string{
		s.Stack, Runtime(s.RootFS), strings.Join(s.PlacementTags, "\x01"), strings.Join(s.VolumeDrivers, "\x01"),
	}, "\x00")
	if cl, ok := a.classes[name]; ok {
		return cl
	}
	cl := &class{member: make([]bool, len(a.cells)), byUse: make([]ranking, a.zones), errors: map[work.Resources]string{}}
	for i := range a.cells {
		if f, _ := objection(&a.cells[i], s); f < 0 {
			cl.member[i] = true
			r := &cl.byUse[a.zone[i]]
			*r = append(*r, ranked{a.use[i], i})
		}
	}
	for _, r := range cl.byUse {
		slices.SortFunc(r, compareUse)
	}
	a.classes[name] = cl
	a.list = append(a.list, cl)
	return cl
}

// hopeless reports whether something as small found no room already: use only
// grows within a batch.
func (cl *class) hopeless(need work.Resources) bool {
	for _, f := range cl.failed {
		if need.MemoryMB >= f.MemoryMB && need.DiskMB >= f.DiskMB && need.Containers >= f.Containers {
			return true
		}
	}
	return false
}

const maxFailed = 16

func (cl *class) gaveUp(need work.Resources) {
	if len(cl.failed) == maxFailed {
		copy(cl.failed, cl.failed[1:])
		cl.failed = cl.failed[:maxFailed-1]
	}
	cl.failed = append(cl.failed, need)
}

func (a *auction) explain(it *Item) string {
	cl := a.class(it.Spec)
	text, ok := cl.errors[it.Resources]
	if !ok {
		text = explain(a.cells, it)
		cl.errors[it.Resources] = text
	}
	return text
}
