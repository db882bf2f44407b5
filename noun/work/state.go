package work

// LRPState is the state of an actual LRP. Spec: 002 "ActualLRPs".
type LRPState uint8

// The states of an actual LRP. The zero value is unset and never stored.
const (
	_ LRPState = iota
	Unclaimed
	Claimed
	Running
	Crashed
	numLRPStates
)

var lrpStateNames = [numLRPStates]string{"UNSET", "UNCLAIMED", "CLAIMED", "RUNNING", "CRASHED"}

// String is the state in the seed's spelling.
func (s LRPState) String() string {
	if s >= numLRPStates {
		return "INVALID"
	}
	return lrpStateNames[s]
}

// ParseLRPState is the inverse of String; anything else is the zero state.
func ParseLRPState(name string) LRPState {
	for s := Unclaimed; s < numLRPStates; s++ {
		if lrpStateNames[s] == name {
			return s
		}
	}
	return 0
}

// TaskState is the state of a task. Spec: 002 "Task States".
type TaskState uint8

// The states of a task. The zero value is unset and never stored.
const (
	_ TaskState = iota
	TaskPending
	TaskRunning
	TaskCompleted
	TaskResolving
	numTaskStates
)

var taskStateNames = [numTaskStates]string{"UNSET", "PENDING", "RUNNING", "COMPLETED", "RESOLVING"}

// String is the state in the seed's spelling.
func (s TaskState) String() string {
	if s >= numTaskStates {
		return "INVALID"
	}
	return taskStateNames[s]
}

// ParseTaskState is the inverse of String; anything else is the zero state.
func ParseTaskState(name string) TaskState {
	for s := TaskPending; s < numTaskStates; s++ {
		if taskStateNames[s] == name {
			return s
		}
	}
	return 0
}

// ContainerState is the executor's state of a container.
// Spec: 002 "Container State".
type ContainerState uint8

// The states of a container. The zero value is unset.
const (
	_ ContainerState = iota
	Reserved
	Initializing
	Created
	ContainerRunning
	Completed
	numContainerStates
)

var containerStateNames = [numContainerStates]string{"UNSET", "RESERVED", "INITIALIZING", "CREATED", "RUNNING", "COMPLETED"}

// String is the state in the seed's spelling.
func (s ContainerState) String() string {
	if s >= numContainerStates {
		return "INVALID"
	}
	return containerStateNames[s]
}

// ParseContainerState is the inverse of String; anything else is the zero state.
func ParseContainerState(name string) ContainerState {
	for s := Reserved; s < numContainerStates; s++ {
		if containerStateNames[s] == name {
			return s
		}
	}
	return 0
}

// containerMoves are the allowed transitions, a line for each state.
var containerMoves = [numContainerStates][]ContainerState{
	Reserved:         {Initializing},
	Initializing:     {Created, Completed},
	Created:          {ContainerRunning, Completed},
	ContainerRunning: {Completed},
	Completed:        {},
}

// CanBecome reports whether the transition is allowed.
func (s ContainerState) CanBecome(next ContainerState) bool {
	if s >= numContainerStates {
		return false
	}
	for _, t := range containerMoves[s] {
		if t == next {
			return true
		}
	}
	return false
}
