package placement

import "drover/noun/work"

// guid is the running totals of one LRP in an auction.
type guid struct {
	inZone []int
	few    []onCell // while the cells with an instance are few
	onCell []int32  // by cell, after that
	floors map[demand][]int
}

type onCell struct{ cell, n int }

// fewCells is how many cells are kept as a list: most LRPs are on few.
const fewCells = 16

// demand is what makes two items of a guid alike.
type demand struct {
	class *class
	need  work.Resources
}

// on is how many instances the cell has.
func (g *guid) on(cell int) int {
	if g.onCell != nil {
		return int(g.onCell[cell])
	}
	for _, f := range g.few {
		if f.cell == cell {
			return f.n
		}
	}
	return 0
}

func (g *guid) count(cell, zone, n, cells int) {
	g.inZone[zone] += n
	if g.onCell != nil {
		g.onCell[cell] += int32(n)
		return
	}
	for i := range g.few {
		if g.few[i].cell == cell {
			g.few[i].n += n
			return
		}
	}
	if len(g.few) < fewCells {
		g.few = append(g.few, onCell{cell, n})
		return
	}
	g.onCell = make([]int32, cells)
	for _, f := range g.few {
		g.onCell[f.cell] = int32(f.n)
	}
	g.few = nil
	g.onCell[cell] += int32(n)
}

// floor is, by zone, a number of instances below which no cell with room is:
// what was found once stays true, since use and counts only grow in a batch.
func (g *guid) floor(d demand, zones int) []int {
	f, ok := g.floors[d]
	if !ok {
		if g.floors == nil {
			g.floors = map[demand][]int{}
		}
		f = make([]int, zones)
		g.floors[d] = f
	}
	return f
}
