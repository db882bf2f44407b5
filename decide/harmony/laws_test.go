package harmony

import (
	"testing"

	"drover/noun/work"
)

type cellOf struct {
	where  string
	record Record
	evac   Evacuating
	Decision
}

func lrpCells() (cells []cellOf) {
	for c := Reserved; c < numContainers; c++ {
		for r := Missing; r < numRecords; r++ {
			cells = append(cells, cellOf{c.String() + " × " + r.String(), r, 0, Process(c, r)})
			for e := NoEvacuating; e < numEvacuating; e++ {
				if c != Running {
					cells = append(cells, cellOf{"evacuating " + c.String() + " × " + r.String() + " × " + e.String(), r, e, NotRunning(c, r, e)})
				}
			}
		}
	}
	for r := Missing; r < numEvacRecords; r++ {
		for e := NoEvacuating; e < numEvacuating; e++ {
			cells = append(cells, cellOf{"evacuating RUNNING × " + r.String() + " × " + e.String(), r, e, Evacuation(r, e)})
		}
	}
	return cells
}

// Rule: D-129
func TestEveryCellIsDecided(t *testing.T) {
	process, evacuation, tasks := 0, 0, 0
	for _, c := range lrpCells() {
		if c.Likelihood == Undecided || c.Why == "" {
			t.Errorf("%s is undecided", c.where)
		}
	}
	for c := Reserved; c < numContainers; c++ {
		process += len(processTable[c]) - 1
	}
	for r := Missing; r < numEvacRecords; r++ {
		evacuation += len(evacuationTable[r]) - 1
	}
	for c := TaskReserved; c < numTaskContainers; c++ {
		for r := NoTask; r < numTaskRecords; r++ {
			tasks++
			if d := Task(c, r); d.Likelihood == Undecided || d.Why == "" {
				t.Errorf("%s × %s is undecided", c, r)
			}
		}
	}
	if process != 42 || evacuation != 24 || tasks != 32 {
		t.Errorf("%d, %d and %d cells", process, evacuation, tasks)
	}
}

// states are a record's states in a class of records.
func states(r Record) work.LRPState {
	return map[Record]work.LRPState{
		Missing: work.NoLRP, Unclaimed: work.Unclaimed, UnclaimedWithError: work.Unclaimed, ClaimedHere: work.Claimed,
		ClaimedElsewhere: work.Claimed, RunningHere: work.Running, RunningElsewhere: work.Running, RecordCrashed: work.Crashed,
	}[r]
}

// The board allows every step that the tables ask for. Rule: D-003
func TestTheBoardAllowsEveryRecordStep(t *testing.T) {
	targets := map[Step][]work.LRPState{
		Claim: {work.Claimed}, Start: {work.Running}, RemoveRecord: {work.NoLRP}, Unclaim: {work.Unclaimed},
		Crash: {work.Unclaimed, work.Crashed},
	}
	for _, c := range lrpCells() {
		from := states(c.record)
		for _, s := range c.Plan.Steps() {
			for _, to := range targets[s] {
				if s == Crash && from == work.NoLRP && to == work.Crashed {
					continue // the first crash is restarted at once
				}
				if !from.CanMove(work.ByRep, to) {
					t.Errorf("%s: %s takes %s to %s", c.where, s, from, to)
				}
			}
		}
	}
	taskTargets := map[Step]work.TaskState{StartTask: work.TaskRunning, CompleteTask: work.TaskCompleted, FailTask: work.TaskCompleted}
	for c := TaskReserved; c < numTaskContainers; c++ {
		for r, from := range map[TaskRecord]work.TaskState{TaskPending: work.TaskPending, TaskRunningHere: work.TaskRunning, TaskCompletedHere: work.TaskCompleted} { // order-free: each on its own
			for _, s := range Task(c, r).Plan.Steps() {
				if to, ok := taskTargets[s]; ok && !from.CanMove(work.ByRep, to) {
					t.Errorf("%s × %s: %s takes %s to %s", c, r, s, from, to)
				}
			}
		}
	}
}

func TestAPlanChangesTheBoardBeforeItDeletesTheContainer(t *testing.T) {
	for _, c := range lrpCells() {
		deleted := false
		for _, s := range c.Plan.Steps() {
			if deleted {
				t.Errorf("%s: %s", c.where, c.Plan)
			}
			deleted = deleted || s == DeleteContainer
		}
	}
}

// Only records of α are touched by what changes a held record.
func TestNoStepTouchesARecordOfAnother(t *testing.T) {
	for _, c := range lrpCells() {
		for _, s := range c.Plan.Steps() {
			elsewhere := c.record == ClaimedElsewhere || c.record == RunningElsewhere
			if elsewhere && (s == RemoveRecord || s == Unclaim || s == Crash || s == Claim) ||
				c.record == RunningElsewhere && s == Start || s == RemoveEvacuating && c.evac != EvacHere {
				t.Errorf("%s: %s", c.where, c.Plan)
			}
		}
	}
}

func TestNamesDiffer(t *testing.T) {
	for _, names := range [][]string{likelihoodNames[:], stepNames[:], containerNames[:], recordNames[:], evacuatingNames[:], taskContainerNames[:], taskRecordNames[:]} {
		seen := map[string]bool{}
		for _, n := range names {
			if n == "" || seen[n] {
				t.Errorf("%q twice or empty in %q", n, names)
			}
			seen[n] = true
		}
	}
}
