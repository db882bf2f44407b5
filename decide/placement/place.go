package placement

import (
	"cmp"
	"math"
	"slices"

	"drover/noun/work"
)

// Held is how many instances of a guid a cell holds, or was sent.
type Held struct {
	GUID  work.ProcessGUID
	Cell  work.CellID
	Count int
}

// Placed is an item with its cell, or with the reason why it has none.
type Placed struct {
	Item
	Cell  work.CellID
	Error string // set iff Cell is empty
}

// Place auctions the batch and answers for each item in the order in which it
// was placed. It keeps the cells' use current as it goes, on a copy of them.
func Place(cells []Cell, held []Held, batch []Item) []Placed {
	a := newAuction(cells, held)
	items := Order(batch)
	out := make([]Placed, len(items))
	for i, it := range items {
		out[i].Item = it
		c := a.place(&it)
		if c < 0 {
			out[i].Error = a.explain(&it)
			continue
		}
		out[i].Cell = a.cells[c].ID
	}
	return out
}

// auction is the state of one batch: cells are known by their place in cells,
// which is in the order of ids.
type auction struct {
	cells   []Cell
	use     []int64
	zone    []int // of a cell
	zones   int
	classes map[string]*class
	list    []*class // in the order of their making
	guids   map[work.ProcessGUID]*guid
}

func newAuction(cells []Cell, held []Held) *auction {
	a := &auction{
		cells: slices.Clone(cells), use: make([]int64, len(cells)), zone: make([]int, len(cells)),
		classes: map[string]*class{}, guids: map[work.ProcessGUID]*guid{},
	}
	slices.SortFunc(a.cells, func(x, y Cell) int { return cmp.Compare(x.ID, y.ID) })
	zones := map[string]int{}
	at := make(map[work.CellID]int, len(cells))
	for i := range a.cells {
		c := &a.cells[i]
		if _, ok := zones[c.Zone]; !ok {
			zones[c.Zone] = len(zones)
		}
		a.zone[i], a.use[i], at[c.ID] = zones[c.Zone], use(c), i
	}
	a.zones = len(zones)
	for _, h := range held {
		if i, ok := at[h.Cell]; ok {
			a.guid(h.GUID).count(i, a.zone[i], h.Count, len(a.cells))
		}
	}
	return a
}

func (a *auction) guid(name work.ProcessGUID) *guid {
	g, ok := a.guids[name]
	if !ok {
		g = &guid{inZone: make([]int, a.zones)}
		a.guids[name] = g
	}
	return g
}

// place takes room for the item on the best cell; -1: there is none.
func (a *auction) place(it *Item) int {
	cl := a.class(it.Spec)
	if cl.hopeless(it.Resources) {
		return -1
	}
	var best int
	if it.IsTask() {
		best = a.bestForTask(cl, it.Resources)
	} else {
		best = a.bestForLRP(cl, a.guid(it.LRP.ProcessGUID), it.Resources)
	}
	if best < 0 {
		cl.gaveUp(it.Resources)
		return -1
	}
	if !it.IsTask() {
		a.guid(it.LRP.ProcessGUID).count(best, a.zone[best], 1, len(a.cells))
	}
	a.take(best, it.Resources)
	return best
}

// take moves the cell in the order of every class that has it.
func (a *auction) take(cell int, r work.Resources) {
	before := a.use[cell]
	a.cells[cell].Used = a.cells[cell].Used.Add(r)
	a.use[cell] = use(&a.cells[cell])
	if a.use[cell] == before {
		return
	}
	for _, cl := range a.list {
		if cl.member[cell] {
			cl.byUse[a.zone[cell]].move(ranked{before, cell}, ranked{a.use[cell], cell})
		}
	}
}

func (a *auction) bestForTask(cl *class, need work.Resources) int {
	best := -1
	for _, cells := range cl.byUse {
		for _, r := range cells {
			if !fits(&a.cells[r.cell], need) {
				continue
			}
			if best < 0 || compareUse(r, ranked{a.use[best], best}) < 0 {
				best = r.cell
			}
			break
		}
	}
	return best
}

func (a *auction) bestForLRP(cl *class, g *guid, need work.Resources) int {
	best, bestScore := -1, int64(0)
	floor := g.floor(demand{cl, need}, a.zones)
	for z := range a.zones {
		if best >= 0 && score(g.inZone[z], floor[z], 0) > bestScore {
			continue
		}
		c := a.bestInZone(cl, g, z, need, &floor[z])
		if c < 0 {
			continue
		}
		s := score(g.inZone[z], g.on(c), a.use[c])
		if best < 0 || s < bestScore || s == bestScore && c < best {
			best, bestScore = c, s
		}
	}
	return best
}

// bestInZone is the zone's cell with room that has the fewest instances of the
// guid, of these the least used; -1: none has room. It walks the cells in the
// order of use and stops at the first that is as good as any can be.
func (a *auction) bestInZone(cl *class, g *guid, z int, need work.Resources, floor *int) int {
	best, fewest := -1, math.MaxInt
	for _, r := range cl.byUse[z] {
		if !fits(&a.cells[r.cell], need) {
			continue
		}
		if n := g.on(r.cell); n < fewest {
			best, fewest = r.cell, n
		}
		if fewest <= *floor {
			return best
		}
	}
	*floor = fewest
	return best
}
