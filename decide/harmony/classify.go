package harmony

import "drover/noun/work"

// Container is what the tables distinguish of an LRP's container. The zero value
// is no class.
type Container uint8

// The classes of an LRP's container. "No Container" includes "no reservation".
const (
	_            Container = iota
	Reserved               // RESERVED
	Initializing           // INITIALIZING or CREATED
	Running                // RUNNING
	Crashed                // COMPLETED (crashed)
	Shutdown               // COMPLETED (shutdown)
	NoContainer
	numContainers
)

var containerNames = [numContainers]string{
	"unset", "RESERVED", "INITIALIZING/CREATED", "RUNNING", "COMPLETED (crashed)", "COMPLETED (shutdown)", "No container",
}

// String is the class in the document's spelling.
func (c Container) String() string { return name(containerNames[:], int(c)) }

// Record is what the tables distinguish of an instance record. Here is α, this
// container's instance guid on this cell; Elsewhere is ω, any other pair. The
// last one, UNCLAIMED with a placement error, matters to evacuation only.
type Record uint8

// The classes of an instance record. The zero value is no class.
const (
	_ Record = iota
	Missing
	Unclaimed
	ClaimedHere
	ClaimedElsewhere
	RunningHere
	RunningElsewhere
	RecordCrashed
	numRecords
	UnclaimedWithError = numRecords
	numEvacRecords     = numRecords + 1
)

var recordNames = [numEvacRecords]string{
	"unset", "no ActualLRP", "UNCLAIMED", "CLAIMED α", "CLAIMED ω", "RUNNING α", "RUNNING ω", "CRASHED", "UNCLAIMED+ε",
}

// String is the class in the document's spelling.
func (r Record) String() string { return name(recordNames[:], int(r)) }

// Evacuating is what the tables distinguish of an evacuating record, which is
// always RUNNING.
type Evacuating uint8

// The classes of an evacuating record. The zero value is no class.
const (
	_             Evacuating = iota
	NoEvacuating             // none
	EvacHere                 // RUNNING-α
	EvacElsewhere            // RUNNING-β
	numEvacuating
)

var evacuatingNames = [numEvacuating]string{"unset", "none", "RUNNING-α", "RUNNING-β"}

// String is the class in the document's spelling.
func (e Evacuating) String() string { return name(evacuatingNames[:], int(e)) }

// TaskContainer is what the task table distinguishes of a container.
type TaskContainer uint8

// The classes of a task's container. The zero value is no class.
const (
	_ TaskContainer = iota
	TaskReserved
	TaskActive // INITIALIZING, CREATED or RUNNING
	TaskDone   // COMPLETED
	TaskNoContainer
	numTaskContainers
)

var taskContainerNames = [numTaskContainers]string{"unset", "RESERVED", "INITIALIZING/CREATED/RUNNING", "COMPLETED", "No container"}

// String is the class in the document's spelling.
func (c TaskContainer) String() string { return name(taskContainerNames[:], int(c)) }

// TaskRecord is what the task table distinguishes of a task. Here is this cell,
// Elsewhere a different one or none.
type TaskRecord uint8

// The classes of a task. The zero value is no class.
const (
	_ TaskRecord = iota
	NoTask
	TaskPending
	TaskRunningHere
	TaskRunningElsewhere
	TaskCompletedHere
	TaskCompletedElsewhere
	TaskResolvingHere
	TaskResolvingElsewhere
	numTaskRecords
)

var taskRecordNames = [numTaskRecords]string{
	"unset", "no Task", "PENDING", "RUNNING on α", "RUNNING on ω", "COMPLETED on α", "COMPLETED on ω", "RESOLVING on α", "RESOLVING on ω",
}

// String is the class in the document's spelling.
func (r TaskRecord) String() string { return name(taskRecordNames[:], int(r)) }

func classifyContainer(c *work.Container) Container {
	if c == nil {
		return NoContainer
	}
	switch c.State {
	case work.Reserved:
		return Reserved
	case work.Initializing, work.Created:
		return Initializing
	case work.ContainerRunning:
		return Running
	case work.Completed:
		if c.Result.Stopped {
			return Shutdown
		}
		return Crashed
	}
	return 0
}

// here reports whether the holder is α: the container's instance on this cell,
// or without a container any instance on this cell.
func here(h work.Holder, c *work.Container, self work.CellID) bool {
	return h.Cell == self && (c == nil || h.Instance == work.InstanceGUID(c.GUID))
}

func classifyRecord(r *work.ActualLRP, c *work.Container, self work.CellID) Record {
	if r == nil {
		return Missing
	}
	pick := func(ours, theirs Record) Record {
		if here(r.Holder, c, self) {
			return ours
		}
		return theirs
	}
	switch r.State {
	case work.Unclaimed:
		if c != nil && c.Incarnation != r.Incarnation && startsWork(c.State) {
			return Missing // the record is for the LRP's next incarnation: ours is no longer desired
		}
		return Unclaimed
	case work.Claimed:
		return pick(ClaimedHere, ClaimedElsewhere)
	case work.Running:
		return pick(RunningHere, RunningElsewhere)
	case work.Crashed:
		return RecordCrashed
	}
	return 0
}

// startsWork reports whether the container has not begun its work yet.
func startsWork(s work.ContainerState) bool {
	return s == work.Reserved || s == work.Initializing || s == work.Created
}

func classifyEvacuating(e *work.ActualLRP, c *work.Container, self work.CellID) Evacuating {
	switch {
	case e == nil:
		return NoEvacuating
	case here(e.Holder, c, self):
		return EvacHere
	}
	return EvacElsewhere
}

func classifyTaskContainer(c *work.Container) TaskContainer {
	if c == nil {
		return TaskNoContainer
	}
	switch c.State {
	case work.Reserved:
		return TaskReserved
	case work.Initializing, work.Created, work.ContainerRunning:
		return TaskActive
	case work.Completed:
		return TaskDone
	}
	return 0
}

func classifyTask(t *work.Task, c *work.Container, self work.CellID) TaskRecord {
	if t == nil || c != nil && c.Incarnation != t.Incarnation {
		return NoTask // another incarnation of the guid is another task
	}
	pick := func(ours, theirs TaskRecord) TaskRecord {
		if t.Cell == self {
			return ours
		}
		return theirs
	}
	switch t.State {
	case work.TaskPending:
		return TaskPending
	case work.TaskRunning:
		return pick(TaskRunningHere, TaskRunningElsewhere)
	case work.TaskCompleted:
		return pick(TaskCompletedHere, TaskCompletedElsewhere)
	case work.TaskResolving:
		return pick(TaskResolvingHere, TaskResolvingElsewhere)
	}
	return 0
}
