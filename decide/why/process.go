package why

import (
	"fmt"

	"drover/noun/work"
)

// Process is why a process that is not desired any more is not gone: the
// instances that are left of it, given by their keys.
func (s Snapshot) Process(guid work.ProcessGUID, left []work.LRPKey) []Impediment {
	if _, desired := s.Board.Desired(guid); desired {
		return nil
	}
	var out []Impediment
	for _, key := range left[:min(len(left), mostChildren)] {
		name := fmt.Sprintf("%s/%d", key.ProcessGUID, key.Index)
		i := Impediment{
			Entity: string(guid), Blocks: Removal, Kind: ContainerExists, Subject: name,
			Detail: fmt.Sprintf("instance %s still exists", name), Owner: "its cell", Children: s.LRP(key),
		}
		if a, ok := s.Board.Actual(key); ok {
			i.Since, i.LastChange = a.Since, a.Since
		}
		if len(i.Children) == 0 {
			i.NextSteps = []string{"drover lrp show " + string(guid)}
		}
		out = append(out, i)
	}
	return out
}

// Cell is why a cell takes no work: it is not there, gives its work away, or
// fails its self-test.
func (s Snapshot) Cell(id work.CellID) []Impediment {
	for _, c := range s.Board.Cells() {
		if c.ID != id {
			continue
		}
		kind, detail := refusal(&work.Spec{}, c)
		if kind == "" || kind == Insufficient {
			return nil
		}
		return []Impediment{{
			Entity: string(id), UID: c.MachineUID, Blocks: Placement, Kind: kind, Subject: string(id), Detail: detail, Since: c.Since,
			Owner: "agent of machine " + machineID(c.Machine), NextSteps: []string{"drover cells", "drover logs machine:" + machineID(c.Machine)},
		}}
	}
	return nil
}
