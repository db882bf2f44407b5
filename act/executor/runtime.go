package executor

import (
	"context"
	"time"

	"drover/noun/work"
)

// Runtime makes places for containers and runs processes in them. What it
// starts outlives it: another Runtime over the same folders finds everything
// again (Status adopts). Implementations: process, and the fake of tests and
// simulations; runtimetest holds both to one contract.
//
// All methods may be called concurrently, except that nobody calls two at once
// for one place. None blocks for as long as a process runs.
type Runtime interface {
	// Name is the runtime's name in a cell's report.
	Name() string
	// Create makes the place; repeating it is harmless.
	Create(ctx context.Context, p Place) error
	// Start starts a process under a name that is Absent. It returns when the
	// start can not be lost any more, which may be before the process runs;
	// a program that can not be started becomes Ended with Exit.Error.
	Start(ctx context.Context, p Place, proc Process) error
	// Status looks at a process.
	Status(ctx context.Context, p Place, name string) (Status, error)
	// Stop asks a process to go (SIGTERM to its group; SIGKILL after its Grace).
	Stop(ctx context.Context, p Place, name string) error
	// Kill ends a process and all it started at once.
	Kill(ctx context.Context, p Place, name string) error
	// Forget removes an Ended process, which becomes Absent.
	Forget(ctx context.Context, p Place, name string) error
	// Delete ends everything in the place, however it was detached, and removes
	// what the runtime made. It reports false while something is still ending:
	// call again when notified, or later.
	Delete(ctx context.Context, p Place) (gone bool, err error)
	// Run tells when a process of a place may have changed its Status, until the
	// context ends. Other methods work without it, but nobody is told.
	Run(ctx context.Context, changed func(work.ContainerGUID)) error
}

// Place is where a container lives. Dir exists and is the container's own.
type Place struct {
	GUID work.ContainerGUID
	Dir  string
}

// Process is one program to run. Name is unique in the place and a file name.
type Process struct {
	Name  string
	Path  string
	Args  []string
	Env   []string // complete
	Dir   string
	User  string
	Grace time.Duration // between SIGTERM and SIGKILL
}

// Phase is how far a process is.
type Phase uint8

// The phases of a process.
const (
	_        Phase = iota
	Absent         // never started
	Starting       // its start can not be lost, it does not run yet
	Running
	Ended
)

// String is the phase's name.
func (p Phase) String() string {
	return [...]string{"unset", "absent", "starting", "running", "ended"}[p]
}

// Status is what is known of a process. Exit is set when it is Ended.
type Status struct {
	Phase   Phase
	PID     int
	Started time.Time
	Exit    Exit
}

// Exit is how a process ended: with Error when it could not be started or its
// shim was lost, else by Signal, else with Code.
type Exit struct {
	Code   int
	Signal int
	Error  string
	Ended  time.Time
}

// OK reports whether the process ended well.
func (x Exit) OK() bool { return x.Code == 0 && x.Signal == 0 && x.Error == "" }
