package convergence

import "drover/noun/work"

// Delta compares indexes: those below instances without a record, and the
// records beyond. States play no part in it. Records are instances of one guid
// in the order of their indexes. Spec: 002 "Computing deltas".
func Delta(instances int, records []work.ActualLRP) (missing []int, extra []work.ActualLRP) {
	next := 0
	for _, r := range records {
		for ; next < r.Index && next < instances; next++ {
			missing = append(missing, next)
		}
		if r.Index >= instances {
			extra = append(extra, r)
			continue
		}
		next = r.Index + 1
	}
	for ; next < instances; next++ {
		missing = append(missing, next)
	}
	return missing, extra
}
