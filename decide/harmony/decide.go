package harmony

import "drover/noun/work"

// LRP is what a rep sees of one index: at most one container of its own, and the
// board's records of the container's index. A rep with two containers of an
// index asks once for each; for records without a container, Container is nil
// and only records of this cell are asked about whose instance has no container.
type LRP struct {
	Self       work.CellID
	Draining   bool            // the cell evacuates
	Container  *work.Container // nil: none
	Instance   *work.ActualLRP // nil: none
	Evacuating *work.ActualLRP // nil: none
}

// DecideLRP is what the rep does next for the container. It is total: states
// that are no states get a decision that is Loud and does nothing.
// Spec: 002 "Harmonizing ActualLRPs with Container State: Rep".
func DecideLRP(v LRP) Decision {
	c := classifyContainer(v.Container)
	r := classifyRecord(v.Instance, v.Container, v.Self)
	e := classifyEvacuating(v.Evacuating, v.Container, v.Self)
	switch {
	case v.Draining && c == Running:
		if r == Unclaimed && v.Instance.PlacementError != "" {
			r = UnclaimedWithError
		}
		return Evacuation(r, e)
	case v.Draining, c == NoContainer:
		return NotRunning(c, r, e)
	}
	return Process(c, r)
}

// DecideTask is what the rep does next for a task's container, or with a nil
// container for a task that the board says is on this cell.
// Spec: 002 "Harmonizing Tasks with Container State: Rep".
func DecideTask(self work.CellID, c *work.Container, t *work.Task) Decision {
	return Task(classifyTaskContainer(c), classifyTask(t, c, self))
}

// TimedOutTask is the failure reason of tasks that outlive an evacuation.
const TimedOutTask = "timed out during cell evacuation"

// LRPAtTimeout is what an evacuating rep does for what is left when its time is
// over: records of α first, then the container.
func LRPAtTimeout(v LRP) Decision {
	d := Decision{Likelihood: Conceivable, Why: "the evacuation timed out"}
	if v.Container != nil {
		d = d.before(DeleteContainer)
	}
	if v.Instance != nil && v.Instance.Holder != (work.Holder{}) && here(v.Instance.Holder, v.Container, v.Self) {
		d = d.before(Unclaim)
	}
	if classifyEvacuating(v.Evacuating, v.Container, v.Self) == EvacHere {
		d = d.before(RemoveEvacuating)
	}
	return d
}

// TaskAtTimeout is what an evacuating rep does for a task when its time is over.
func TaskAtTimeout(self work.CellID, c *work.Container, t *work.Task) Decision {
	d := Decision{Likelihood: Conceivable, Why: TimedOutTask}
	if c != nil {
		d = d.before(DeleteContainer)
	}
	if classifyTask(t, c, self) == TaskRunningHere {
		d = d.before(FailTask)
	}
	return d
}
