package work

import "testing"

// Rule: D-011 D-012 D-013 D-014
func TestContainersMoveOnlyForward(t *testing.T) {
	allowed := map[[2]ContainerState]bool{
		{Reserved, Initializing}: true, {Initializing, Created}: true, {Initializing, Completed}: true,
		{Created, ContainerRunning}: true, {Created, Completed}: true, {ContainerRunning, Completed}: true,
	}
	for from := ContainerState(0); from <= numContainerStates; from++ {
		for to := ContainerState(0); to <= numContainerStates; to++ {
			if got := from.CanBecome(to); got != allowed[[2]ContainerState{from, to}] {
				t.Errorf("%s to %s: %v", from, to, got)
			}
		}
	}
}

func TestMovesAreListedOnceAndName(t *testing.T) {
	lrps := map[LRPMove]bool{}
	for _, m := range LRPMoves {
		if lrps[m] || m.Actor == 0 || m.Actor >= numActors || m.From >= numLRPStates || m.To >= numLRPStates {
			t.Errorf("%v", m)
		}
		lrps[m] = true
	}
	tasks := map[TaskMove]bool{}
	for _, m := range TaskMoves {
		if tasks[m] || m.Actor == 0 || m.Actor >= numActors || m.From >= numTaskStates || m.To >= numTaskStates {
			t.Errorf("%v", m)
		}
		tasks[m] = true
	}
}

// Tasks never go back, but from RESOLVING to COMPLETED. Rule: D-153
func TestTasksGoOnlyForward(t *testing.T) {
	order := map[TaskState]int{NoTask: 0, TaskPending: 1, TaskRunning: 2, TaskCompleted: 3, TaskResolving: 4}
	for _, m := range TaskMoves {
		back := m.To != NoTask && order[m.To] <= order[m.From]
		if back && m != (TaskMove{ByConverger, TaskResolving, TaskCompleted}) {
			t.Errorf("%s moves a task from %s back to %s", m.Actor, m.From, m.To)
		}
	}
}

// Only cells make records CLAIMED, RUNNING or CRASHED: one writer of each fact.
func TestOnlyRepsPutRecordsOnCells(t *testing.T) {
	for _, m := range LRPMoves {
		if m.From != m.To && (m.To == Claimed || m.To == Running || m.To == Crashed) && m.Actor != ByRep {
			t.Errorf("%s moves a record from %s to %s", m.Actor, m.From, m.To)
		}
		if m.Actor == ByAuctioneer && (m.From != Unclaimed || m.To != Unclaimed) {
			t.Errorf("the auctioneer moves a record from %s to %s", m.From, m.To)
		}
	}
	for _, m := range TaskMoves {
		if m.To == TaskRunning && m.Actor != ByRep {
			t.Errorf("%s moves a task to RUNNING", m.Actor)
		}
	}
}
