// Package why answers "why is it not done yet": it turns a snapshot of the
// cluster into the tree of impediments that hold an entity, an instance or a
// task where it is.
//
// It never changes anything, asks no clock and knows no wire format; whoever
// shows an impediment converts it.
//
// Invariants: every Dying entity and everything UNCLAIMED, PENDING or CRASHED
// has an impediment (V5); every leaf names a next step; the tree is finite.
//
// Spec: 000 "Entity death and destruction"; 002 "ActualLRPs", "Task States".
package why

import (
	"fmt"
	"strings"

	"drover/noun/entity"
	"drover/noun/when"
)

// Blocks says what an impediment keeps from happening.
type Blocks string

// What can be blocked.
const (
	Removal    Blocks = "removal"
	Placement  Blocks = "placement"
	Start      Blocks = "start"
	Ready      Blocks = "ready"
	Leadership Blocks = "leadership"
)

// Kind is the reason of an impediment: a closed list.
type Kind string

// The kinds.
const (
	UnitInScope        Kind = "unit_in_scope"
	SubordinateExists  Kind = "subordinate_exists"
	HookFailed         Kind = "hook_failed"
	HookRunning        Kind = "hook_running"
	AgentSilent        Kind = "agent_silent"
	AgentWorking       Kind = "agent_working" // the agent is there and has the next step to do
	UnitAssigned       Kind = "unit_assigned"
	UnitExists         Kind = "unit_exists"
	RelationHeld       Kind = "relation_held"
	ContainerExists    Kind = "container_exists"
	ContainerStarting  Kind = "container_starting"
	ChildMachineExists Kind = "child_machine_exists"
	InstanceStarting   Kind = "instance_starting"
	InstanceFailed     Kind = "instance_failed"
	InstanceVanished   Kind = "instance_vanished"
	InstanceHeld       Kind = "instance_held" // the provider has not released it yet
	NoCompatibleCell   Kind = "no_compatible_cell"
	Insufficient       Kind = "insufficient"
	CellEvacuating     Kind = "cell_evacuating"
	CellSelfTestFailed Kind = "cell_selftest_failed"
	CellLost           Kind = "cell_lost"
	DomainNotFresh     Kind = "domain_not_fresh"
	BackoffUntil       Kind = "backoff_until"
	GaveUp             Kind = "gave_up"
	WaitingAuction     Kind = "waiting_auction"
	WaitingCleaner     Kind = "waiting_cleaner"
	WaitingLeader      Kind = "waiting_leader"
	StoreReadonly      Kind = "store_readonly"
	ImagePullFailed    Kind = "image_pull_failed"
	ManualHold         Kind = "manual_hold"
)

// Impediment is one reason, with the reasons behind it. Entity and UID name the
// thing that is blocked, Subject the thing that blocks it. Owner is who acts
// next ("agent of mysql/0", "provisioner"). Times are unset when unknown.
type Impediment struct {
	Entity     string
	UID        string
	Blocks     Blocks
	Kind       Kind
	Subject    string
	Detail     string
	Since      when.Instant
	LastChange when.Instant
	Owner      string
	NextSteps  []string // commands
	Children   []Impediment
}

// Leaves are the impediments at the ends of the tree, in its order.
func (i Impediment) Leaves() []Impediment {
	if len(i.Children) == 0 {
		return []Impediment{i}
	}
	var out []Impediment
	for _, c := range i.Children {
		out = append(out, c.Leaves()...)
	}
	return out
}

// Summary is one sentence about an entity ("mysql (application)") and what holds
// it. A life of 0 is that of work, which has none.
func (s Snapshot) Summary(what string, life entity.Life, since when.Instant, found []Impediment) string {
	switch {
	case len(found) == 0 && life == 0:
		return what + ": nothing holds it."
	case len(found) == 0:
		return fmt.Sprintf("%s is %s; nothing holds it.", what, life)
	case life == entity.Alive || life == 0:
		reason, _, _ := strings.Cut(found[0].Detail, "\n")
		return fmt.Sprintf("%s is not ready: %s.", what, reason)
	}
	return fmt.Sprintf("%s is %s%s and cannot be removed yet.", what, life, s.since(since))
}
