package work

// Actor is who moves a record of the board.
type Actor uint8

// The actors. ByClient is whoever asked through the API.
const (
	_ Actor = iota
	ByClient
	ByAuctioneer
	ByConverger
	ByRep
	numActors
)

var actorNames = [numActors]string{"nobody", "client", "auctioneer", "converger", "rep"}

// String is the actor's name.
func (a Actor) String() string {
	if a >= numActors {
		return "invalid"
	}
	return actorNames[a]
}

// LRPMove is a change of an instance record that is allowed to an actor. The
// zero state stands for no record.
type LRPMove struct {
	Actor    Actor
	From, To LRPState
}

// NoLRP stands for the absence of an actual LRP in transitions.
const NoLRP LRPState = 0

// NoTask stands for the absence of a task in transitions.
const NoTask TaskState = 0

// LRPMoves are all the changes of instance records (P4). A move from a state to
// itself changes something beside the state.
var LRPMoves = []LRPMove{
	{ByClient, NoLRP, Unclaimed},      // desired: index < N without a record
	{ByConverger, NoLRP, Unclaimed},   // the same, found by convergence
	{ByClient, Unclaimed, NoLRP},      // no longer desired
	{ByConverger, Unclaimed, NoLRP},   // the same
	{ByClient, Crashed, NoLRP},        // no longer desired
	{ByConverger, Crashed, NoLRP},     // the same
	{ByClient, Crashed, Unclaimed},    // restarted on request
	{ByConverger, Crashed, Unclaimed}, // its wait is over
	{ByClient, Claimed, Claimed},      // told to stop
	{ByConverger, Claimed, Claimed},   // the same
	{ByClient, Running, Running},      // told to stop
	{ByConverger, Running, Running},   // the same
	{ByClient, Claimed, NoLRP},        // no longer desired, and its cell is lost
	{ByClient, Running, NoLRP},        // the same
	{ByConverger, Claimed, NoLRP},     // the same
	{ByConverger, Running, NoLRP},     // the same
	{ByConverger, Claimed, Unclaimed}, // its cell is lost
	{ByConverger, Running, Unclaimed}, // the same

	{ByAuctioneer, Unclaimed, Unclaimed}, // a placement error

	{ByRep, Unclaimed, Claimed},   // reserved
	{ByRep, Running, Claimed},     // corrected: it is only starting
	{ByRep, NoLRP, Running},       // a blank board never stops containers
	{ByRep, Unclaimed, Running},   // it runs
	{ByRep, Claimed, Running},     // it runs
	{ByRep, Running, Running},     // its address, or no longer routable
	{ByRep, Crashed, Running},     // it runs after all
	{ByRep, NoLRP, Unclaimed},     // crash dance on a blank board
	{ByRep, Claimed, Unclaimed},   // crashed and restarted at once, or evacuated
	{ByRep, Running, Unclaimed},   // the same
	{ByRep, Unclaimed, Unclaimed}, // an evacuating cell gives its reservation back
	{ByRep, Claimed, Crashed},     // crashed too often
	{ByRep, Running, Crashed},     // the same
	{ByRep, Claimed, NoLRP},       // stopped, or without a container
	{ByRep, Running, NoLRP},       // the same
}

// TaskMove is a change of a task that is allowed to an actor. The zero state
// stands for no task.
type TaskMove struct {
	Actor    Actor
	From, To TaskState
}

// TaskMoves are all the changes of tasks (T2).
var TaskMoves = []TaskMove{
	{ByClient, NoTask, TaskPending},
	{ByAuctioneer, TaskPending, TaskCompleted}, // no cell can take it
	{ByClient, TaskPending, TaskCompleted},     // cancelled
	{ByClient, TaskRunning, TaskCompleted},     // cancelled
	{ByRep, TaskPending, TaskRunning},
	{ByRep, TaskPending, TaskCompleted}, // it ran, and the board had not heard
	{ByRep, TaskRunning, TaskCompleted},
	{ByConverger, TaskRunning, TaskCompleted}, // its cell is lost
	{ByClient, TaskCompleted, TaskResolving},
	{ByConverger, TaskCompleted, TaskResolving},
	{ByConverger, TaskResolving, TaskCompleted}, // resolving took too long
	{ByClient, TaskResolving, NoTask},
	{ByConverger, TaskResolving, NoTask},
	{ByConverger, TaskCompleted, NoTask}, // nobody resolved it in time
}

// CanMove reports whether the actor may take the instance record from this state
// to the other. NoLRP stands for no record.
func (s LRPState) CanMove(by Actor, to LRPState) bool {
	for _, m := range LRPMoves {
		if m == (LRPMove{by, s, to}) {
			return true
		}
	}
	return false
}

// CanMove reports whether the actor may take the task from this state to the
// other. NoTask stands for no task.
func (s TaskState) CanMove(by Actor, to TaskState) bool {
	for _, m := range TaskMoves {
		if m == (TaskMove{by, s, to}) {
			return true
		}
	}
	return false
}
