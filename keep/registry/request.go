package registry

import (
	"time"

	"drover/noun/entity"
	"drover/noun/when"
)

// DefaultModel is the name of the model that bootstrap makes; an empty model
// name means it.
const DefaultModel = "default"

// MaxUnitsAtOnce is how many units one request creates in its transaction; the
// cleaner creates the rest (SEMANTICS 41).
const MaxUnitsAtOnce = 250

// MaxUnitsWanted bounds the units of one request.
const MaxUnitsWanted = 100_000

// MaxSettings bounds the relation settings of one owner, keys and values in
// bytes (SEMANTICS 2).
const MaxSettings = 1 << 20

// DeployRequest asks for an application.
type DeployRequest struct {
	App         entity.AppName // empty: the charm's name
	Charm       entity.CharmSHA
	NumUnits    *int // nil: 1, or 0 for a subordinate
	Config      map[string]string
	Constraints entity.Constraints
	To          []string // placement directives, one a unit: a machine's id, or "new"
}

// AddUnitsRequest asks for more units of an application.
type AddUnitsRequest struct {
	App   entity.AppName
	Count int // 0: 1
	To    []string
}

// Created is what a request created. Later is how many units the cleaner will
// still create.
type Created struct {
	App       entity.Application
	Units     []entity.UnitName
	Machines  []entity.MachineID
	Relations []entity.RelationID
	Later     int
}

// RemoveOptions say how a remove-* request is meant.
type RemoveOptions struct {
	Force       bool
	MaxWait     time.Duration // between forced steps; 0: one minute
	KeepMachine bool          // remove-unit only (SEMANTICS 21)
	DryRun      bool          // decide and describe, change nothing
}

// Removed is what a remove-* request did.
type Removed struct {
	Changed bool     // false: it was not Alive, nothing to do
	Gone    bool     // it went in the same transaction
	Plan    []string // what changes at once, and what will follow, in words
}

// UnitRef names a unit as its agent knows it. An agent whose UID is not the
// row's is told NotFound. An empty UID is not compared.
type UnitRef struct {
	Name entity.UnitName
	UID  entity.UID
}

// MachineSpec describes a machine to be added.
type MachineSpec struct {
	Jobs        []entity.Job
	Provider    string // empty: the model's
	Constraints entity.Constraints
	Instance    string // set for machines that exist already ("manual")
	Address     string
}

// MachineReport is what a machine's agent found.
type MachineReport struct {
	Address  string
	Hardware entity.Hardware
	BootID   string
	Version  string
}

// UnitReport is what a unit's agent says of itself.
type UnitReport struct {
	Incarnation int
	Agent       entity.Status
	Workflow    entity.Workflow
	Failure     *entity.HookFailure
	Hook        string // running now
	LastHook    string
	LastHookMS  int64
}

// Entered is the outcome of entering a scope.
type Entered struct {
	Subordinate entity.UnitName // created, or found; empty: none belongs there
	Incarnation int             // of the membership
}

// SettingsWrite changes settings in one relation: of the unit, or with
// Application of its application. An empty value in Set deletes the key.
type SettingsWrite struct {
	Relation    entity.RelationID
	Application bool
	Set         map[string]string
	Delete      []string
}

// HookCommit is what a hook that exited 0 wrote. (unit uid, Incarnation,
// Number) names it for ever.
type HookCommit struct {
	Incarnation int
	Number      int64
	Hook        string
	Settings    []SettingsWrite
	Open, Close []entity.Port
	Version     string          // application-version-set; empty: unchanged
	Workflow    entity.Workflow // empty: unchanged
	HookMS      int64
}

// HookCommitted is the outcome of a commit.
type HookCommitted struct {
	Repeated bool     // it was committed before; nothing changed
	Dropped  []string // writes that had no place to go, in words (SEMANTICS 40)
}

// ConfigValue is one option of an application with its effective value.
type ConfigValue struct {
	Name        string
	Type        string
	Description string
	Value       string
	IsSet       bool // it has any value
	IsDefault   bool // the value is the charm's
}

// UnitRelation is a relation as one of its units sees it.
type UnitRelation struct {
	Relation entity.Relation
	Own      entity.Endpoint
	Remote   entity.Endpoint // equals Own in a peer relation
	Member   entity.Member   // zero unless InScope
	InScope  bool
}

// SeenMember is a unit that another one sees in a relation.
type SeenMember struct {
	Member             entity.Member
	SettingsVersion    int64
	AppSettingsVersion int64
}

// CleanResult is what one step of a cleanup did.
type CleanResult struct {
	Done  bool         // the record is gone
	Rows  int          // rows changed
	Until when.Instant // not before; zero: at once
}
