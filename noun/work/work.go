// Package work has the words of the process world: desired LRPs, actual LRPs,
// tasks, cells, containers, their states and the transitions between them.
//
// It holds types, predicates and the transition tables. It never reads a clock,
// decides nothing about placement or convergence, and does no I/O.
//
// Invariants: a row is a value, nothing reachable from a stored row is changed
// in place; a state changes only along the listed transitions (P4, T2); cell
// and instance guid are set iff CLAIMED or RUNNING (P5).
//
// Spec: 002 "Diego Dev Notes".
package work

import (
	"drover/noun/when"
)

// Every identifier has its own type. ProcessGUID, TaskGUID and Domain are
// chosen by clients (see ValidateGUID); the others are ours.
type (
	ProcessGUID  string
	InstanceGUID string
	TaskGUID     string
	CellID       string
	Domain       string
	Incarnation  string // of a desired LRP or task: unique for ever (SEMANTICS 12, 64)
)

// Resources are amounts of a cell's goods. Memory and disk in MiB.
type Resources struct {
	MemoryMB   int64 `cbor:"1,keyasint,omitempty"`
	DiskMB     int64 `cbor:"2,keyasint,omitempty"`
	Containers int64 `cbor:"3,keyasint,omitempty"`
}

// Add is the sum.
func (r Resources) Add(o Resources) Resources {
	return Resources{r.MemoryMB + o.MemoryMB, r.DiskMB + o.DiskMB, r.Containers + o.Containers}
}

// Sub is the difference.
func (r Resources) Sub(o Resources) Resources {
	return Resources{r.MemoryMB - o.MemoryMB, r.DiskMB - o.DiskMB, r.Containers - o.Containers}
}

// EnvVar is one variable of a process's environment.
type EnvVar struct {
	Name  string `cbor:"1,keyasint" json:"name"`
	Value string `cbor:"2,keyasint,omitempty" json:"value"`
}

// Action is what a container does: exactly one field is set. Issue A runs Run;
// the composite ones nest.
type Action struct {
	Run          *RunAction       `cbor:"1,keyasint,omitempty" json:"run,omitempty"`
	Download     *DownloadAction  `cbor:"2,keyasint,omitempty" json:"download,omitempty"`
	Upload       *UploadAction    `cbor:"3,keyasint,omitempty" json:"upload,omitempty"`
	Serial       *ListAction      `cbor:"4,keyasint,omitempty" json:"serial,omitempty"`
	Parallel     *ListAction      `cbor:"5,keyasint,omitempty" json:"parallel,omitempty"`
	Codependent  *ListAction      `cbor:"6,keyasint,omitempty" json:"codependent,omitempty"`
	Try          *Action          `cbor:"7,keyasint,omitempty" json:"try,omitempty"`
	Timeout      *TimeoutAction   `cbor:"8,keyasint,omitempty" json:"timeout,omitempty"`
	EmitProgress *ProgressAction  `cbor:"9,keyasint,omitempty" json:"emit_progress,omitempty"`
	TCPCheck     *TCPCheckAction  `cbor:"10,keyasint,omitempty" json:"tcp_check,omitempty"`
	HTTPCheck    *HTTPCheckAction `cbor:"11,keyasint,omitempty" json:"http_check,omitempty"`
}

// RunAction starts a program and succeeds when it exits 0. Path is looked up in
// PATH when it has no slash.
type RunAction struct {
	Path string   `cbor:"1,keyasint" json:"path"`
	Args []string `cbor:"2,keyasint,omitempty" json:"args,omitempty"`
	Dir  string   `cbor:"3,keyasint,omitempty" json:"dir,omitempty"`
	Env  []EnvVar `cbor:"4,keyasint,omitempty" json:"env,omitempty"`
	User string   `cbor:"5,keyasint,omitempty" json:"user,omitempty"`
}

// DownloadAction fetches From into To; Checksum is "sha256:<hex>".
type DownloadAction struct {
	From     string `cbor:"1,keyasint" json:"from"`
	To       string `cbor:"2,keyasint" json:"to"`
	CacheKey string `cbor:"3,keyasint,omitempty" json:"cache_key,omitempty"`
	Checksum string `cbor:"4,keyasint,omitempty" json:"checksum,omitempty"`
}

// UploadAction sends the file From to the URL To.
type UploadAction struct {
	From string `cbor:"1,keyasint" json:"from"`
	To   string `cbor:"2,keyasint" json:"to"`
}

// ListAction is a list of actions, run as the field that holds it says.
type ListAction struct {
	Actions []Action `cbor:"1,keyasint" json:"actions"`
}

// TimeoutAction fails Action when it takes longer.
type TimeoutAction struct {
	Action Action `cbor:"1,keyasint" json:"action"`
	MS     int64  `cbor:"2,keyasint" json:"ms"`
}

// ProgressAction logs messages around Action.
type ProgressAction struct {
	Action  Action `cbor:"1,keyasint" json:"action"`
	Start   string `cbor:"2,keyasint,omitempty" json:"start,omitempty"`
	Success string `cbor:"3,keyasint,omitempty" json:"success,omitempty"`
	Failure string `cbor:"4,keyasint,omitempty" json:"failure,omitempty"`
}

// TCPCheckAction succeeds when the container's port accepts a connection.
type TCPCheckAction struct {
	Port int `cbor:"1,keyasint" json:"port"`
}

// HTTPCheckAction succeeds when GET Path on the container's port answers 2xx or
// 3xx.
type HTTPCheckAction struct {
	Port int    `cbor:"1,keyasint" json:"port"`
	Path string `cbor:"2,keyasint,omitempty" json:"path,omitempty"`
}

// Spec is what LRPs and tasks have in common: what to run, and what it needs of
// a cell.
type Spec struct {
	RootFS         string    `cbor:"1,keyasint,omitempty"` // "" or "process:": the host's own files
	Stack          string    `cbor:"2,keyasint,omitempty"` // "" matches every cell
	MemoryMB       int64     `cbor:"3,keyasint,omitempty"`
	DiskMB         int64     `cbor:"4,keyasint,omitempty"`
	MaxPids        int64     `cbor:"5,keyasint,omitempty"`
	CPUWeight      int64     `cbor:"6,keyasint,omitempty"`
	Action         Action    `cbor:"7,keyasint"`
	Env            []EnvVar  `cbor:"8,keyasint,omitempty"`
	PlacementTags  []string  `cbor:"9,keyasint,omitempty"`
	VolumeDrivers  []string  `cbor:"10,keyasint,omitempty"`
	LogSource      string    `cbor:"11,keyasint,omitempty"`
	MetricTags     []EnvVar  `cbor:"12,keyasint,omitempty"`
	StartTimeoutMS int64     `cbor:"13,keyasint,omitempty"`
	Setup          *Action   `cbor:"14,keyasint,omitempty"`
	Monitor        *Action   `cbor:"15,keyasint,omitempty"`
	Ports          []int     `cbor:"16,keyasint,omitempty"` // container ports to be mapped
	Sidecars       []Sidecar `cbor:"17,keyasint,omitempty"`
}

// Sidecar runs beside the main action in the same container.
type Sidecar struct {
	Action   Action `cbor:"1,keyasint"`
	MemoryMB int64  `cbor:"2,keyasint,omitempty"`
	DiskMB   int64  `cbor:"3,keyasint,omitempty"`
}

// Resources are what one container of the spec takes of a cell.
func (s *Spec) Resources() Resources {
	r := Resources{MemoryMB: s.MemoryMB, DiskMB: s.DiskMB, Containers: 1}
	for _, c := range s.Sidecars {
		r.MemoryMB += c.MemoryMB
		r.DiskMB += c.DiskMB
	}
	return r
}

// ModTag orders the versions of a record: Index grows with every change, Epoch
// differs between incarnations of the record.
type ModTag struct {
	Epoch string `cbor:"1,keyasint"`
	Index uint32 `cbor:"2,keyasint"`
}

// Route is opaque routing data of one router.
type Route struct {
	Router string `cbor:"1,keyasint"`
	Data   []byte `cbor:"2,keyasint"`
}

// DesiredLRP asks for Instances running instances of Spec, indexes 0..N-1.
type DesiredLRP struct {
	ProcessGUID ProcessGUID  `cbor:"1,keyasint"`
	Incarnation Incarnation  `cbor:"2,keyasint"`
	Domain      Domain       `cbor:"3,keyasint"`
	Instances   int          `cbor:"4,keyasint"`
	Spec        Spec         `cbor:"5,keyasint"`
	Routes      []Route      `cbor:"6,keyasint,omitempty"`
	Annotation  string       `cbor:"7,keyasint,omitempty"`
	ModTag      ModTag       `cbor:"8,keyasint"`
	Created     when.Instant `cbor:"9,keyasint"`
	Opaque      []byte       `cbor:"10,keyasint,omitempty"` // what a face keeps; ≤ 256 KiB
}

// PortMapping maps a container's port to the host's.
type PortMapping struct {
	Container int `cbor:"1,keyasint" json:"container"`
	Host      int `cbor:"2,keyasint" json:"host"`
}

// NetInfo is where a running instance is reached.
type NetInfo struct {
	Address         string        `cbor:"1,keyasint,omitempty"`
	Ports           []PortMapping `cbor:"2,keyasint,omitempty"`
	InstanceAddress string        `cbor:"3,keyasint,omitempty"`
}

// LRPKey names one index of a desired LRP.
type LRPKey struct {
	ProcessGUID ProcessGUID `cbor:"1,keyasint"`
	Index       int         `cbor:"2,keyasint"`
}

// Holder is the pair α of the seed: an instance on a cell. Any other pair is ω.
// The zero Holder is nobody.
type Holder struct {
	Instance InstanceGUID `cbor:"1,keyasint,omitempty"`
	Cell     CellID       `cbor:"2,keyasint,omitempty"`
}

// ActualLRP is one record of an index: the instance, or during an evacuation
// the evacuating one beside it (P1).
type ActualLRP struct {
	LRPKey
	Evacuating     bool         `cbor:"3,keyasint,omitempty"`
	Domain         Domain       `cbor:"4,keyasint"`
	State          LRPState     `cbor:"5,keyasint"`
	Holder         Holder       `cbor:"6,keyasint,omitempty"`
	Incarnation    Incarnation  `cbor:"7,keyasint"` // of the desired LRP it was made for
	CrashCount     int          `cbor:"8,keyasint,omitempty"`
	CrashReason    string       `cbor:"9,keyasint,omitempty"`
	Since          when.Instant `cbor:"10,keyasint"`
	PlacementError string       `cbor:"11,keyasint,omitempty"`
	Net            NetInfo      `cbor:"12,keyasint,omitempty"`
	ModTag         ModTag       `cbor:"13,keyasint"`
	Expires        when.Instant `cbor:"14,keyasint,omitempty"` // TTL of an evacuating record
	Routable       bool         `cbor:"15,keyasint,omitempty"`
	Stopping       bool         `cbor:"16,keyasint,omitempty"` // its cell was told to stop it
}

// Task is work that runs at most once.
type Task struct {
	GUID           TaskGUID     `cbor:"1,keyasint"`
	Incarnation    Incarnation  `cbor:"2,keyasint"`
	Domain         Domain       `cbor:"3,keyasint"`
	State          TaskState    `cbor:"4,keyasint"`
	Cell           CellID       `cbor:"5,keyasint,omitempty"` // kept after completion (T4)
	Spec           Spec         `cbor:"6,keyasint"`
	ResultFile     string       `cbor:"7,keyasint,omitempty"`
	Failed         bool         `cbor:"8,keyasint,omitempty"`
	FailureReason  string       `cbor:"9,keyasint,omitempty"`
	Result         string       `cbor:"10,keyasint,omitempty"`
	Callback       string       `cbor:"11,keyasint,omitempty"`
	Annotation     string       `cbor:"12,keyasint,omitempty"`
	Created        when.Instant `cbor:"13,keyasint"`
	Updated        when.Instant `cbor:"14,keyasint"` // of State
	FirstCompleted when.Instant `cbor:"15,keyasint,omitempty"`
	PlacementError string       `cbor:"16,keyasint,omitempty"`
	Opaque         []byte       `cbor:"17,keyasint,omitempty"`
}

// DomainRow records that a domain is fresh until Expires; zero: for ever.
type DomainRow struct {
	Name    Domain       `cbor:"1,keyasint"`
	Expires when.Instant `cbor:"2,keyasint,omitempty"`
}

// Presence is what the leader holds of a cell's being there.
type Presence uint8

// The presences of a cell. Away has said goodbye until a time; Lost cells keep
// their row until their machine goes or they come back.
const (
	_ Presence = iota
	Present
	Away
	Lost
)

var presenceNames = [...]string{"unset", "present", "away", "lost"}

// String is the presence's name.
func (p Presence) String() string { return presenceNames[p] }

// Cell is a machine that runs containers. The row changes only when these facts
// change; usage is pushed to the leader and not stored.
type Cell struct {
	ID         CellID       `cbor:"1,keyasint"`
	Machine    string       `cbor:"2,keyasint"` // key of the machine's row: "model/id"
	MachineUID string       `cbor:"3,keyasint"`
	Zone       string       `cbor:"4,keyasint,omitempty"`
	Stack      string       `cbor:"5,keyasint"`
	Runtimes   []string     `cbor:"6,keyasint,omitempty"` // "process", "runc"
	Tags       []string     `cbor:"7,keyasint,omitempty"`
	Volumes    []string     `cbor:"8,keyasint,omitempty"` // volume drivers
	Capacity   Resources    `cbor:"9,keyasint"`
	Evacuating bool         `cbor:"10,keyasint,omitempty"`
	Unfit      string       `cbor:"11,keyasint,omitempty"` // why the self-test fails; empty: fit
	Presence   Presence     `cbor:"12,keyasint"`
	AwayUntil  when.Instant `cbor:"13,keyasint,omitempty"`
	Since      when.Instant `cbor:"14,keyasint"` // of Presence
	Address    string       `cbor:"15,keyasint,omitempty"`
}
