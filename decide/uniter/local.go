package uniter

import (
	"cmp"
	"fmt"
	"slices"

	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"
)

// OpStep says how far an operation in the journal has come.
type OpStep string

// The steps of a journalled operation. One found Pending by a restarted agent
// has failed. Spec: 003 "Errors in hooks".
const (
	Queued  OpStep = "queued"
	Pending OpStep = "pending"
)

// Local is the state of a unit on its own disk; it is authoritative while the
// server is away. Spec: 004 "Introduction".
type Local struct {
	Incarnation int             `json:"incarnation"` // 0: this disk is new
	Charm       entity.CharmSHA `json:"charm,omitempty"`
	Order       charm.Order     `json:"order,omitempty"`
	Workflow    entity.Workflow `json:"workflow"`
	Installed   bool            `json:"installed,omitempty"`
	Started     bool            `json:"started,omitempty"`
	Stopped     bool            `json:"stopped,omitempty"`
	Removed     bool            `json:"removed,omitempty"`
	Configured  bool            `json:"configured,omitempty"` // config-changed ran once
	ConfigHash  string          `json:"config_hash,omitempty"`
	BootID      string          `json:"boot_id,omitempty"`    // of the last start
	OweConfig   bool            `json:"owe_config,omitempty"` // a hook recovered from an error
	Op          *Operation      `json:"op,omitempty"`
	Failure     *Failure        `json:"failure,omitempty"` // of Op's hook
	Relations   []Relation      `json:"relations,omitempty"`
}

// Operation is the hook under way, with what the world was when it began: this,
// and not what came later, is what the hook has seen.
type Operation struct {
	Hook        charm.Hook `json:"hook"`
	Step        OpStep     `json:"step"`
	ConfigHash  string     `json:"config_hash,omitempty"`
	BootID      string     `json:"boot_id,omitempty"`
	Incarnation int        `json:"incarnation,omitempty"` // of the remote unit's membership
	Version     int64      `json:"version,omitempty"`     // of its settings
	AppVersion  int64      `json:"app_version,omitempty"` // of its application's settings
}

// Failure is why Op's hook has failed, how often, and when it runs again; zero
// NextRetry waits for resolve.
type Failure struct {
	Exit       int          `json:"exit"`
	Reason     string       `json:"reason"`
	Tries      int          `json:"tries"`
	Since      when.Instant `json:"since"`
	NextRetry  when.Instant `json:"next_retry,omitempty"`
	LastOutput string       `json:"last_output,omitempty"`
}

// Asked reports whether the hook runs again because an operator said so.
func (f *Failure) Asked() bool { return f.Since.IsZero() }

// Relation is a relation whose scope the unit has entered.
type Relation struct {
	ID         entity.RelationID `json:"id"`
	Endpoint   string            `json:"endpoint"`
	RemoteApp  entity.AppName    `json:"remote_app"`
	Peer       bool              `json:"peer,omitempty"`
	Implicit   bool              `json:"implicit,omitempty"`
	Confirmed  bool              `json:"confirmed,omitempty"` // the feed has shown the unit in scope
	Members    []Member          `json:"members,omitempty"`   // joined and not departed, sorted by unit
	Changed    entity.UnitName   `json:"changed,omitempty"`   // joined, its changed is the next hook
	AppVersion int64             `json:"app_version,omitempty"`
	Broken     bool              `json:"broken,omitempty"`
	Left       bool              `json:"left,omitempty"` // kept until the feed shows it
}

// Member is a remote unit for which joined has run, with the version of its
// settings that a changed hook has last seen.
type Member struct {
	Unit        entity.UnitName `json:"unit"`
	Incarnation int             `json:"incarnation,omitempty"`
	Version     int64           `json:"version"`
}

// New is the state of a unit that nothing has happened to.
func New() Local { return Local{Workflow: entity.WorkflowNew} }

// Validate reports whether the state could have been written by an agent.
func (l *Local) Validate() error {
	switch l.Workflow {
	case entity.WorkflowNew, entity.WorkflowReady, entity.WorkflowRunning,
		entity.WorkflowInstallError, entity.WorkflowStartError, entity.WorkflowStopError:
	default:
		return fmt.Errorf("workflow %q does not exist", l.Workflow)
	}
	switch {
	case l.Op != nil && l.Op.Step != Queued && l.Op.Step != Pending:
		return fmt.Errorf("operation step %q does not exist", l.Op.Step)
	case l.Failure != nil && l.Op == nil:
		return fmt.Errorf("a failure of no hook")
	case l.Started && !l.Installed, l.Stopped && !l.Started, l.Configured && !l.Installed:
		return fmt.Errorf("started, stopped or configured before installed")
	case l.Installed && l.Charm == "":
		return fmt.Errorf("installed without a charm")
	}
	for i, r := range l.Relations {
		if i > 0 && l.Relations[i-1].ID >= r.ID {
			return fmt.Errorf("relations are not sorted at %s", r.ID)
		}
		if r.Broken && len(r.Members) > 0 {
			return fmt.Errorf("relation %s is broken and has members", r.ID)
		}
		if !slices.IsSortedFunc(r.Members, func(a, b Member) int { return CompareUnits(a.Unit, b.Unit) }) {
			return fmt.Errorf("members of relation %s are not sorted", r.ID)
		}
	}
	return nil
}

// Clone is a copy that shares nothing.
func (l *Local) Clone() Local {
	c := *l
	if l.Op != nil {
		op := *l.Op
		c.Op = &op
	}
	if l.Failure != nil {
		f := *l.Failure
		c.Failure = &f
	}
	c.Relations = slices.Clone(l.Relations)
	for i := range c.Relations {
		c.Relations[i].Members = slices.Clone(c.Relations[i].Members)
	}
	return c
}

// Relation finds a relation by id; nil when the unit has not entered it.
func (l *Local) Relation(id entity.RelationID) *Relation {
	i, ok := slices.BinarySearchFunc(l.Relations, id, func(r Relation, id entity.RelationID) int { return cmp.Compare(r.ID, id) })
	if !ok {
		return nil
	}
	return &l.Relations[i]
}

func (l *Local) addRelation(r Relation) *Relation {
	i, ok := slices.BinarySearchFunc(l.Relations, r.ID, func(r Relation, id entity.RelationID) int { return cmp.Compare(r.ID, id) })
	if !ok {
		l.Relations = slices.Insert(l.Relations, i, r)
	}
	return &l.Relations[i]
}

func (r *Relation) member(unit entity.UnitName) *Member {
	for i := range r.Members {
		if r.Members[i].Unit == unit {
			return &r.Members[i]
		}
	}
	return nil
}

// CompareUnits orders units by application, then by number.
func CompareUnits(a, b entity.UnitName) int {
	return cmp.Or(cmp.Compare(a.App(), b.App()), cmp.Compare(a.Number(), b.Number()), cmp.Compare(a, b))
}
