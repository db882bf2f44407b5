package placement

import "drover/noun/work"

// The criteria in the order of SEMANTICS 7: instances of the guid in the zone,
// then on the cell, then even use of memory, disk and containers. The weights are
// so far apart that a lower criterion never outweighs a higher one.
const (
	useWeight  = 1
	useLimit   = 1 << 22 // use is below this: three goods in millionths
	cellWeight = useLimit
	cellLimit  = 1 << 20 // instances of one guid on a cell are below this
	zoneWeight = cellWeight * cellLimit
)

const millionth = 1_000_000

// nominal is added to what a cell uses before it is compared, so that of two
// empty cells the larger one is the emptier.
var nominal = work.Resources{MemoryMB: 64, DiskMB: 64, Containers: 1}

// use is how full the cell is: the sum of its goods in millionths, each at most
// one.
func use(c *Cell) int64 {
	total := int64(0)
	for _, g := range goods {
		capacity := max(g.of(c.Capacity), 1)
		used := min(max(g.of(c.Used)+g.of(nominal), 0), capacity)
		total += int64(float64(used) / float64(capacity) * millionth)
	}
	return total
}

// score of a cell for an index of an LRP; the lowest wins, ties go to the cell
// with the lower id. Tasks have no criteria but use.
func score(inZone, onCell int, use int64) int64 {
	return int64(min(inZone, cellLimit-1))*zoneWeight + int64(min(onCell, cellLimit-1))*cellWeight + use*useWeight
}
