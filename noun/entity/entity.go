// Package entity has the words of the modelled world: models, machines,
// applications, units, relations, their lives and what they say of themselves.
//
// It holds types and predicates only. It never reads a clock, decides nothing
// about what should happen, and does no I/O.
//
// Invariants: a row is a value, nothing reachable from a stored row is changed
// in place; every row of an entity carries a UID besides its name; there are no
// stored counts, counts are derived from indexes (R1–R5).
//
// Spec: 000 "Entity lifecycle", 001.
package entity

import "drover/noun/when"

// Model is a namespace for machines, applications, units and relations.
type Model struct {
	UID      ModelUID          `cbor:"1,keyasint"`
	Name     string            `cbor:"2,keyasint"`
	Life     Life              `cbor:"3,keyasint"`
	Settings map[string]string `cbor:"4,keyasint,omitempty"` // model settings such as "parallel-hooks"
	Created  when.Instant      `cbor:"5,keyasint"`
}

// Job is what a machine is for. Spec: 000 "Machines".
type Job uint8

// The two jobs.
const (
	_ Job = iota
	ManageModel
	HostUnits
	numJobs
)

// String is the job's name.
func (j Job) String() string {
	switch j {
	case ManageModel:
		return "manage-model"
	case HostUnits:
		return "host-units"
	default:
		return "unset"
	}
}

// Constraints are what a unit asks of a machine, and reserves on its cell.
// Zero means no demand. Memory and disk in MiB, CPU in thousandths of a core.
type Constraints struct {
	MemoryMB int64  `cbor:"1,keyasint,omitempty"`
	DiskMB   int64  `cbor:"2,keyasint,omitempty"`
	MilliCPU int64  `cbor:"3,keyasint,omitempty"`
	Arch     string `cbor:"4,keyasint,omitempty"`
}

// Hardware is what a machine's agent found on it.
type Hardware struct {
	CPUs     int    `cbor:"1,keyasint,omitempty"`
	MemoryMB int64  `cbor:"2,keyasint,omitempty"`
	DiskMB   int64  `cbor:"3,keyasint,omitempty"`
	Arch     string `cbor:"4,keyasint,omitempty"`
}

// InstanceState is how far the provider has come with a machine.
type InstanceState uint8

// The instance states. Starting is committed before the provider is called, so
// that a crash in between is found and cleaned up, not repeated.
const (
	InstanceNone InstanceState = iota
	InstanceStarting
	InstanceRunning
	InstanceFailed
	InstanceVanished
)

var instanceStateNames = [...]string{"none", "starting", "running", "failed", "vanished"}

// String is the state's name.
func (s InstanceState) String() string { return instanceStateNames[s] }

// Machine is a host for units and, with HostUnits, a cell.
type Machine struct {
	Model         ModelUID      `cbor:"1,keyasint"`
	ID            MachineID     `cbor:"2,keyasint"`
	UID           UID           `cbor:"3,keyasint"`
	Life          Life          `cbor:"4,keyasint"`
	Jobs          []Job         `cbor:"5,keyasint"`
	Provider      string        `cbor:"6,keyasint"`            // "local", "manual", …
	Instance      string        `cbor:"7,keyasint,omitempty"`  // the provider's id; empty: none
	InstanceState InstanceState `cbor:"8,keyasint,omitempty"`  //
	InstanceError string        `cbor:"9,keyasint,omitempty"`  // last failure of the provider
	CreatedFor    UnitName      `cbor:"10,keyasint,omitempty"` // goes with this unit (SEMANTICS 21)
	Constraints   Constraints   `cbor:"11,keyasint,omitempty"`
	Address       string        `cbor:"12,keyasint,omitempty"` // where its units are reached
	Hardware      Hardware      `cbor:"13,keyasint,omitempty"`
	BootID        string        `cbor:"14,keyasint,omitempty"`
	KeyHash       string        `cbor:"15,keyasint,omitempty"` // hex SHA-256 of the agent's public key
	Forced        bool          `cbor:"16,keyasint,omitempty"`
	Since         when.Instant  `cbor:"17,keyasint"` // of Life
	Created       when.Instant  `cbor:"18,keyasint"`
	AgentVersion  string        `cbor:"19,keyasint,omitempty"`
	LaunchTries   int           `cbor:"20,keyasint,omitempty"`
	NextLaunch    when.Instant  `cbor:"21,keyasint,omitempty"`
}

// HasJob reports whether the machine has the job.
func (m *Machine) HasJob(job Job) bool {
	for _, j := range m.Jobs {
		if j == job {
			return true
		}
	}
	return false
}

// Application is a deployed charm with a name.
type Application struct {
	Model       ModelUID     `cbor:"1,keyasint"`
	Name        AppName      `cbor:"2,keyasint"`
	UID         UID          `cbor:"3,keyasint"`
	Life        Life         `cbor:"4,keyasint"`
	Charm       CharmSHA     `cbor:"5,keyasint"`
	CharmName   string       `cbor:"6,keyasint"`
	CharmRev    int          `cbor:"7,keyasint"`
	Subordinate bool         `cbor:"8,keyasint,omitempty"`
	Endpoints   []Endpoint   `cbor:"9,keyasint,omitempty"` // of the charm, juju-info included; App set
	WantUnits   int          `cbor:"10,keyasint,omitempty"`
	Exposed     bool         `cbor:"11,keyasint,omitempty"`
	Constraints Constraints  `cbor:"12,keyasint,omitempty"`
	Forced      bool         `cbor:"13,keyasint,omitempty"`
	Since       when.Instant `cbor:"14,keyasint"`
	Created     when.Instant `cbor:"15,keyasint"`
	Leader      UnitName     `cbor:"16,keyasint,omitempty"` // an Alive, deployed unit of it; empty: none yet
}

// Endpoint finds one of the application's endpoints by its name.
func (a *Application) Endpoint(name string) (Endpoint, bool) {
	for _, e := range a.Endpoints {
		if e.Name == name {
			return e, true
		}
	}
	return Endpoint{}, false
}

// AppConfig is an application's settings document. Values are the operator's,
// in their textual form; defaults live in the charm. Removed with the
// application, in the same transaction.
type AppConfig struct {
	Model  ModelUID          `cbor:"1,keyasint"`
	App    AppName           `cbor:"2,keyasint"`
	Values map[string]string `cbor:"3,keyasint,omitempty"`
}

// StatusValue is what a unit or application says of its workload, or the agent
// of itself ("active", "blocked", "error", "idle", "executing", …).
type StatusValue string

// The values that the code itself sets or compares.
const (
	StatusUnknown     StatusValue = "unknown"
	StatusMaintenance StatusValue = "maintenance"
	StatusBlocked     StatusValue = "blocked"
	StatusWaiting     StatusValue = "waiting"
	StatusActive      StatusValue = "active"
	StatusError       StatusValue = "error"
	StatusTerminated  StatusValue = "terminated"

	AgentAllocating StatusValue = "allocating"
	AgentIdle       StatusValue = "idle"
	AgentExecuting  StatusValue = "executing"
	AgentFailed     StatusValue = "failed"
	AgentLost       StatusValue = "lost"
)

// Status is a value with its text and the time it was set.
type Status struct {
	Value   StatusValue  `cbor:"1,keyasint,omitempty"`
	Message string       `cbor:"2,keyasint,omitempty"`
	Since   when.Instant `cbor:"3,keyasint,omitempty"`
}

// Workflow is a unit agent's state of seed 004. Spec: 004 "Introduction".
type Workflow string

// The workflow's states.
const (
	WorkflowNew          Workflow = "new"
	WorkflowReady        Workflow = "ready"
	WorkflowRunning      Workflow = "running"
	WorkflowInstallError Workflow = "install-error"
	WorkflowStartError   Workflow = "start-error"
	WorkflowStopError    Workflow = "stop-error"
)

// HookFailure is the failed hook that a unit waits on.
type HookFailure struct {
	Hook       string       `cbor:"1,keyasint"` // as in the hooks folder: "db-relation-changed"
	Exit       int          `cbor:"2,keyasint"` // exit code; -1 when killed or never started
	Reason     string       `cbor:"3,keyasint"` // one line: "exit status 3", "killed: agent restarted"
	Tries      int          `cbor:"4,keyasint"`
	Since      when.Instant `cbor:"5,keyasint"`
	NextRetry  when.Instant `cbor:"6,keyasint,omitempty"` // zero: waits for resolve
	LastOutput string       `cbor:"7,keyasint,omitempty"` // last 10 lines, at most 4 KiB
	RelationID RelationID   `cbor:"8,keyasint,omitempty"`
	Remote     UnitName     `cbor:"9,keyasint,omitempty"`
}

// Resolve is what an operator asked for a failed hook.
type Resolve uint8

// The resolve modes. Spec: 003 "Errors in hooks", SEMANTICS 23.
const (
	ResolveNone Resolve = iota
	ResolveRetry
	ResolveSkip
)

// Port is a port or range that a unit opened. Protocol is "tcp", "udp" or
// "icmp" (then From and To are 0).
type Port struct {
	From     int    `cbor:"1,keyasint"`
	To       int    `cbor:"2,keyasint"`
	Protocol string `cbor:"3,keyasint"`
}

// Unit is one instance of an application, on a machine (principal) or beside a
// principal (subordinate).
type Unit struct {
	Model       ModelUID     `cbor:"1,keyasint"`
	Name        UnitName     `cbor:"2,keyasint"`
	UID         UID          `cbor:"3,keyasint"`
	App         AppName      `cbor:"4,keyasint"`
	Life        Life         `cbor:"5,keyasint"`
	Machine     MachineID    `cbor:"6,keyasint,omitempty"`  // of a principal; empty: unassigned
	Principal   UnitName     `cbor:"7,keyasint,omitempty"`  // of a subordinate
	Deployed    bool         `cbor:"8,keyasint,omitempty"`  // set before the agent starts (SEMANTICS 52)
	Incarnation int          `cbor:"9,keyasint,omitempty"`  // of the agent's disk (SEMANTICS 16)
	Commits     int64        `cbor:"10,keyasint,omitempty"` // number of the last hook commit of this incarnation
	Workload    Status       `cbor:"11,keyasint"`
	Agent       Status       `cbor:"12,keyasint"`
	Workflow    Workflow     `cbor:"13,keyasint,omitempty"`
	Failure     *HookFailure `cbor:"14,keyasint,omitempty"`
	Resolve     Resolve      `cbor:"15,keyasint,omitempty"`
	Ports       []Port       `cbor:"16,keyasint,omitempty"`
	Forced      bool         `cbor:"17,keyasint,omitempty"`
	KeepMachine bool         `cbor:"18,keyasint,omitempty"`
	Since       when.Instant `cbor:"19,keyasint"` // of Life
	Created     when.Instant `cbor:"20,keyasint"`
	Version     string       `cbor:"21,keyasint,omitempty"` // application-version-set
	Hook        string       `cbor:"22,keyasint,omitempty"` // the hook that runs now
	LastHook    string       `cbor:"23,keyasint,omitempty"` // the last one that ended well
	LastHookMS  int64        `cbor:"24,keyasint,omitempty"` // its duration
}

// IsSubordinate reports whether the unit lives beside a principal.
func (u *Unit) IsSubordinate() bool { return u.Principal != "" }

// Root is the principal that a unit belongs to: itself, or its principal.
func (u *Unit) Root() UnitName {
	if u.Principal != "" {
		return u.Principal
	}
	return u.Name
}
