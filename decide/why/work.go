package why

import (
	"fmt"
	"slices"
	"strings"

	"drover/noun/when"
	"drover/noun/work"
)

// LRP is why an index of a process is not RUNNING: no cell can take it, it
// crashed, its cell is lost; or why one that is no longer wanted still exists.
func (s Snapshot) LRP(key work.LRPKey) []Impediment {
	d, desired := s.Board.Desired(key.ProcessGUID)
	a, exists := s.Board.Actual(key)
	i := Impediment{
		Entity: fmt.Sprintf("%s/%d", key.ProcessGUID, key.Index), UID: string(a.Holder.Instance), Blocks: Start,
		Since: a.Since, LastChange: a.Since,
	}
	wanted := desired && key.Index < d.Instances
	switch {
	case !wanted && !exists:
		return nil
	case !wanted:
		return s.unwanted(i, a)
	case !exists:
		i.Kind, i.Subject, i.Owner, i.Since = WaitingAuction, i.Entity, "converger", d.Created
		i.Detail, i.NextSteps = "it is about to be created", []string{"drover lrp list"}
		return []Impediment{i}
	}
	switch a.State {
	case work.Unclaimed:
		return s.unplaced(i, &d.Spec, a.PlacementError)
	case work.Crashed:
		return s.crashed(i, a)
	case work.Claimed, work.Running:
		if lost := s.cellLost(i, a.Holder.Cell); lost != nil {
			return lost
		}
		if a.State == work.Claimed {
			i.Kind, i.Subject, i.Owner = ContainerStarting, string(a.Holder.Cell), "cell "+string(a.Holder.Cell)
			i.Detail = fmt.Sprintf("cell %s is starting it", a.Holder.Cell)
			i.NextSteps = []string{"drover logs " + i.Entity + " --follow"}
			return []Impediment{i}
		}
	}
	return nil
}

// unwanted is a record beyond what is desired: stopped at once, or by
// convergence when its domain is fresh.
func (s Snapshot) unwanted(i Impediment, a work.ActualLRP) []Impediment {
	i.Blocks, i.Subject = Removal, string(a.Holder.Cell)
	if lost := s.cellLost(i, a.Holder.Cell); lost != nil {
		return lost
	}
	i.Kind, i.Owner = ContainerExists, "cell "+string(a.Holder.Cell)
	i.Detail, i.NextSteps = "it is being stopped", []string{"drover logs " + i.Entity}
	if !a.Stopping && !s.Board.Fresh(a.Domain) {
		i.Kind, i.Subject, i.Owner = DomainNotFresh, string(a.Domain), "client of domain "+string(a.Domain)
		i.Detail = fmt.Sprintf("it is not desired, but domain %q is not fresh", a.Domain)
		i.NextSteps = []string{"drover lrp remove " + string(a.ProcessGUID)}
	}
	return []Impediment{i}
}

func (s Snapshot) crashed(i Impediment, a work.ActualLRP) []Impediment {
	i.Subject, i.Owner = i.Entity, "converger"
	i.NextSteps = []string{"drover logs " + i.Entity, "drover lrp show " + string(a.ProcessGUID)}
	at, again := s.Board.RestartAt(&a)
	if !again {
		i.Kind, i.Owner = GaveUp, "operator"
		i.Detail = fmt.Sprintf("it crashed %d times and is not started again: %s", a.CrashCount, a.CrashReason)
		return []Impediment{i}
	}
	i.Kind = BackoffUntil
	i.Detail = fmt.Sprintf("it crashed %d times (%s)%s", a.CrashCount, a.CrashReason, s.in(", starts again", at))
	return []Impediment{i}
}

// Task is why a task is not done: no cell can take it, or its cell is lost.
func (s Snapshot) Task(guid work.TaskGUID) []Impediment {
	t, ok := s.Board.Task(guid)
	if !ok {
		return nil
	}
	i := Impediment{Entity: "task:" + string(guid), UID: string(t.Incarnation), Blocks: Start, Since: t.Updated, LastChange: t.Updated}
	switch t.State {
	case work.TaskPending:
		return s.unplaced(i, &t.Spec, t.PlacementError)
	case work.TaskRunning:
		return s.cellLost(i, t.Cell)
	}
	return nil
}

// cellLost is one impediment if the cell is not there.
func (s Snapshot) cellLost(i Impediment, id work.CellID) []Impediment {
	for _, c := range s.Board.Cells() {
		if c.ID != id || c.Presence == work.Present {
			continue
		}
		i.Kind, i.Subject, i.Owner, i.Since = CellLost, string(id), "agent of machine "+c.Machine, c.Since
		i.Detail = fmt.Sprintf("cell %s is %s%s", id, c.Presence, s.since(c.Since))
		i.NextSteps = []string{"drover cells", "drover logs machine:" + machineID(c.Machine)}
		return []Impediment{i}
	}
	return nil
}

func machineID(key string) string {
	_, id, _ := strings.Cut(key, "/")
	return id
}

func (s Snapshot) since(t when.Instant) string {
	if ago := s.ago(t); ago != "" {
		return " since" + strings.TrimSuffix(ago, " ago")
	}
	return ""
}

// unplaced says what the last auction said, and cell by cell what stands against
// the work now.
func (s Snapshot) unplaced(i Impediment, spec *work.Spec, placementError string) []Impediment {
	i.Blocks, i.Owner = Placement, "auctioneer"
	var against []Impediment
	for _, c := range s.Board.Cells() {
		if r, detail := refusal(spec, c); r != "" {
			against = append(against, Impediment{
				Entity: i.Entity, UID: i.UID, Blocks: Placement, Kind: r, Subject: string(c.ID), Detail: detail,
				Since: i.Since, Owner: "auctioneer", NextSteps: nextFor(r),
			})
		}
	}
	i.Subject, i.Detail = i.Entity, placementError
	switch {
	case len(against) < len(s.Board.Cells()):
		// Some cell could take it now: the next auction will tell.
		i.Kind, i.NextSteps = WaitingAuction, []string{"drover cells"}
		if i.Detail == "" {
			i.Detail = "it waits for an auction"
		}
		return []Impediment{i}
	case len(against) == 0:
		i.Kind, i.NextSteps = NoCompatibleCell, []string{"drover join-token", "drover status"}
		if i.Detail == "" {
			i.Detail = "there is no cell"
		}
		return []Impediment{i}
	}
	i.Kind = NoCompatibleCell
	if slices.ContainsFunc(against, func(c Impediment) bool { return c.Kind == Insufficient }) {
		i.Kind = Insufficient
	}
	if i.Detail == "" {
		i.Detail = "no cell can take it"
	}
	if !s.AllCells {
		against = against[:min(len(against), mostChildren)]
	}
	i.Children = against
	return []Impediment{i}
}

// nextFor is what to do about what stands against work on a cell.
func nextFor(k Kind) []string {
	if k == Insufficient || k == NoCompatibleCell {
		return []string{"drover cells", "drover join-token"}
	}
	return []string{"drover cells"}
}

// refusal is what stands against the work on the cell; an empty kind means
// nothing.
func refusal(spec *work.Spec, c Cell) (Kind, string) {
	switch {
	case c.Presence != work.Present:
		return CellLost, fmt.Sprintf("cell %s is %s", c.ID, c.Presence)
	case c.Evacuating:
		return CellEvacuating, fmt.Sprintf("cell %s is evacuating", c.ID)
	case c.Unfit != "":
		return CellSelfTestFailed, fmt.Sprintf("cell %s fails its self-test: %s", c.ID, c.Unfit)
	case spec.Stack != "" && spec.Stack != c.Stack:
		return NoCompatibleCell, fmt.Sprintf("cell %s has stack %s, not %s", c.ID, c.Stack, spec.Stack)
	}
	for _, d := range spec.VolumeDrivers {
		if !slices.Contains(c.Volumes, d) {
			return NoCompatibleCell, fmt.Sprintf("cell %s has no volume driver %s", c.ID, d)
		}
	}
	for _, tag := range spec.PlacementTags {
		if !slices.Contains(c.Tags, tag) {
			return NoCompatibleCell, fmt.Sprintf("cell %s has not the tag %s", c.ID, tag)
		}
	}
	if !c.Known {
		return WaitingLeader, fmt.Sprintf("cell %s has not reported to this leader yet", c.ID)
	}
	return shortage(spec.Resources(), c)
}

func shortage(need work.Resources, c Cell) (Kind, string) {
	var short []string
	for _, r := range []struct {
		name       string
		need, free int64
		all        int64
		unit       string
	}{
		{"memory", need.MemoryMB, c.Free.MemoryMB, c.Capacity.MemoryMB, " MiB"},
		{"disk", need.DiskMB, c.Free.DiskMB, c.Capacity.DiskMB, " MiB"},
		{"containers", need.Containers, c.Free.Containers, c.Capacity.Containers, ""},
	} {
		if r.need > r.free {
			short = append(short, fmt.Sprintf("%s: free %d%s of %d%s (short %d%s)", r.name, r.free, r.unit, r.all, r.unit, r.need-r.free, r.unit))
		}
	}
	if len(short) == 0 {
		return "", ""
	}
	return Insufficient, fmt.Sprintf("cell %s: %s", c.ID, strings.Join(short, ", "))
}
