package placement

import (
	"container/heap"

	"drover/noun/work"
)

// guidHeaps keeps, for a guid with many instances, the cells of each zone in the
// order of the guid's instances on them, then use. Keys are lower bounds, since
// both only grow within a batch: the top is right once its key is current.
type guidHeaps struct{ zones []guidHeap }

type guidRank struct {
	count int32
	ranked
}

type guidHeap []guidRank

func (h guidHeap) Len() int { return len(h) }
func (h guidHeap) Less(i, j int) bool {
	if h[i].count != h[j].count {
		return h[i].count < h[j].count
	}
	return lessUsed(h[i].ranked, h[j].ranked)
}
func (h guidHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push and Pop are heap.Interface's.
func (h *guidHeap) Push(x any) { *h = append(*h, x.(guidRank)) }

// Pop removes the last element.
func (h *guidHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// demand is what makes two items of a guid alike to its heaps.
type demand struct {
	class *class
	need  work.Resources
}

func (a *auction) heaps(cl *class, g *guid, need work.Resources) *guidHeaps {
	d := demand{cl, need}
	if hs, ok := g.heaps[d]; ok {
		return hs
	}
	hs := &guidHeaps{zones: make([]guidHeap, a.zones)}
	for i, in := range cl.member {
		if in {
			z := &hs.zones[a.zone[i]]
			*z = append(*z, guidRank{int32(g.on(i)), ranked{a.use[i], i}})
		}
	}
	for z := range hs.zones {
		heap.Init(&hs.zones[z])
	}
	if g.heaps == nil {
		g.heaps = map[demand]*guidHeaps{}
	}
	g.heaps[d] = hs
	return hs
}

// best is the zone's first cell with room; -1: none. A cell without room is
// dropped: it will have none again for the same need.
func (hs *guidHeaps) best(a *auction, g *guid, z int, need work.Resources) int {
	h := &hs.zones[z]
	for len(*h) > 0 {
		top := (*h)[0]
		now := guidRank{int32(g.on(top.cell)), ranked{a.use[top.cell], top.cell}}
		switch {
		case now != top:
			(*h)[0] = now
			heap.Fix(h, 0)
		case fits(&a.cells[top.cell], need):
			return top.cell
		default:
			heap.Pop(h)
		}
	}
	return -1
}
