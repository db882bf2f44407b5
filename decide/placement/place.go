package placement

import (
	"cmp"
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
	for i := range items {
		if !items[i].IsTask() {
			a.guid(items[i].LRP.ProcessGUID).wanted++
		}
	}
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

// guid is the running totals of one LRP.
type guid struct {
	onCell []int32 // by cell; nil: nowhere
	inZone []int
	spread int // cells with an instance
	wanted int // items of the batch
	heaps  map[demand]*guidHeaps
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
			a.count(a.guid(h.GUID), i, h.Count)
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

func (a *auction) count(g *guid, cell, n int) {
	if g.onCell == nil {
		g.onCell = make([]int32, len(a.cells))
	}
	if g.onCell[cell] == 0 {
		g.spread++
	}
	g.onCell[cell] += int32(n)
	g.inZone[a.zone[cell]] += n
}

func (g *guid) on(cell int) int {
	if g.onCell == nil {
		return 0
	}
	return int(g.onCell[cell])
}

// place takes room for the item on the best cell; -1: there is none.
func (a *auction) place(it *Item) int {
	cl := a.class(it.Spec)
	if cl.hopeless(it.Resources) {
		return -1
	}
	best := -1
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
		a.count(a.guid(it.LRP.ProcessGUID), best, 1)
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
			t := cl.byUse[a.zone[cell]]
			t.Delete(ranked{before, cell})
			t.Set(ranked{a.use[cell], cell})
		}
	}
}

func (a *auction) bestForTask(cl *class, need work.Resources) int {
	best := -1
	for z := range a.zones {
		cl.byUse[z].Scan(func(r ranked) bool {
			if !fits(&a.cells[r.cell], need) {
				return true
			}
			if best < 0 || a.use[r.cell] < a.use[best] || a.use[r.cell] == a.use[best] && r.cell < best {
				best = r.cell
			}
			return false
		})
	}
	return best
}

func (a *auction) bestForLRP(cl *class, g *guid, need work.Resources) int {
	best, bestScore := -1, int64(0)
	for z := range a.zones {
		if best >= 0 && score(g.inZone[z], 0, 0) > bestScore {
			continue
		}
		c := a.bestInZone(cl, g, z, need)
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

// manyInstances is the number of a guid's instances from which its own order of
// cells is kept, rather than walking past the cells that have one.
const manyInstances = 16

func (a *auction) bestInZone(cl *class, g *guid, z int, need work.Resources) int {
	if g.wanted+g.spread > manyInstances {
		return a.heaps(cl, g, need).best(a, g, z, need)
	}
	best, fewest := -1, 0
	cl.byUse[z].Scan(func(r ranked) bool {
		if !fits(&a.cells[r.cell], need) {
			return true
		}
		if n := g.on(r.cell); best < 0 || n < fewest {
			best, fewest = r.cell, n
		}
		return fewest > 0 // none has fewer than none
	})
	return best
}
