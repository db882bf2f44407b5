// Package uniter decides a unit agent's next operation: from what the unit has
// on its disk, what the cluster holds of it, and the time, to one Step.
//
// It runs nothing and writes nothing: the agent performs the operation, changes
// the local state by Begin, Succeed, Fail and their like, and asks again. There
// are no errors and no sentinels: having nothing to do is a Step.
//
// Invariants: Next is a function of its arguments; Resolvers are asked in one
// order and the first that wants something decides; a hook that Next asks for
// keeps the guarantees of charm.CheckTrace (H1–H3).
//
// Spec: 003 "Charms in action"; 004 "Unit Agent startup"; 000 "Agents".
package uniter

import (
	"fmt"

	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"
)

// StepKind says what the agent shall do.
type StepKind uint8

// The kinds of steps. Done ends the agent: its unit is Dead or gone.
const (
	_ StepKind = iota
	Act
	Wait
	Idle
	Done
	numStepKinds
)

var stepKindNames = [numStepKinds]string{"unset", "act", "wait", "idle", "done"}

// String is the kind's name.
func (k StepKind) String() string {
	if k >= numStepKinds {
		return "invalid"
	}
	return stepKindNames[k]
}

// Step is Next's answer. Op is set with Act. Until is the time at which a Wait
// ends by itself; zero: only a change ends it. By names the resolver.
type Step struct {
	Kind  StepKind
	Op    Op
	Until when.Instant
	Why   string
	By    string
}

// String is the step as transcripts show it.
func (s Step) String() string {
	switch s.Kind {
	case Act:
		return fmt.Sprintf("%s (%s: %s)", s.Op, s.By, s.Why)
	case Wait:
		if s.Until.IsZero() {
			return fmt.Sprintf("wait (%s: %s)", s.By, s.Why)
		}
		return fmt.Sprintf("wait until %s (%s: %s)", s.Until, s.By, s.Why)
	case Done:
		return fmt.Sprintf("done (%s)", s.Why)
	default:
		return s.Kind.String()
	}
}

// OpKind is a kind of operation.
type OpKind uint8

// The operations. Those on subordinates are the duties of a deployer.
// Spec: 000 "Agents".
const (
	_ OpKind = iota
	NewIncarnation
	DestroySubordinate
	DeploySubordinate
	RemoveSubordinate
	RecallSubordinate
	DestroySelf
	AcceptResolve
	ClearResolve
	InstallCharm
	RunHook
	EnterScope
	LeaveScope
	ForgetRelation
	SetDead
	numOpKinds
)

var opKindNames = [numOpKinds]string{
	"unset", "new incarnation", "destroy subordinate", "deploy subordinate", "remove subordinate",
	"recall subordinate", "destroy self", "accept resolve", "clear resolve", "install charm", "run hook", "enter scope",
	"leave scope", "forget relation", "set dead",
}

// String is the operation's name.
func (k OpKind) String() string {
	if k >= numOpKinds {
		return "invalid"
	}
	return opKindNames[k]
}

// Op is one operation: its kind and what it is about.
type Op struct {
	Kind     OpKind
	Hook     charm.Hook        // RunHook
	Relation entity.RelationID // EnterScope, LeaveScope, ForgetRelation
	Unit     entity.UnitName   // subordinates
	Resolve  entity.Resolve    // AcceptResolve
}

// String is the operation with what it is about.
func (o Op) String() string {
	switch o.Kind {
	case RunHook:
		return "run " + o.Hook.String()
	case EnterScope, LeaveScope, ForgetRelation:
		return o.Kind.String() + " " + o.Relation.String()
	case DestroySubordinate, DeploySubordinate, RemoveSubordinate, RecallSubordinate:
		return o.Kind.String() + " " + string(o.Unit)
	case AcceptResolve:
		if o.Resolve == entity.ResolveSkip {
			return "accept resolve: skip"
		}
		return "accept resolve: retry"
	default:
		return o.Kind.String()
	}
}

// NeedsServer reports whether the operation is a call to the server.
func (o Op) NeedsServer() bool {
	return o.Kind != RunHook && o.Kind != ForgetRelation
}

// Resolver looks for one kind of thing to do; an Idle step means none.
type Resolver struct {
	Name string
	Next func(l *Local, r *Remote) Step
}

// order is the priority of what a unit does, read from the top down.
var order = []Resolver{
	{"gone", gone},
	{"incarnation", incarnation},
	{"dying subordinates", dyingSubordinates},
	{"subordinates", subordinates},
	{"destroy self", destroySelf},
	{"failed hook", failedHook},
	{"stale resolve", staleResolve},
	{"tear down", tearDown},
	{"install", install},
	{"first hooks", firstHooks},
	{"reboot", reboot},
	{"recovered", recovered},
	{"config", config},
	{"relations", relations},
}

// Next is the operation that the unit does now. Slices of local and remote must
// be sorted as their fields say.
func Next(l *Local, r *Remote) Step {
	for _, res := range order {
		if s := res.Next(l, r); s.Kind != Idle {
			s.By = res.Name
			if s.Kind == Act && s.Op.NeedsServer() && !r.Connected {
				return Step{Kind: Wait, Why: "no server: cannot " + s.Op.String(), By: s.By}
			}
			return s
		}
	}
	return idle
}

var idle = Step{Kind: Idle}

func act(kind OpKind, why string) Step {
	return Step{Kind: Act, Op: Op{Kind: kind}, Why: why}
}

func actOn(kind OpKind, unit entity.UnitName, why string) Step {
	return Step{Kind: Act, Op: Op{Kind: kind, Unit: unit}, Why: why}
}

func scope(kind OpKind, relation entity.RelationID, why string) Step {
	return Step{Kind: Act, Op: Op{Kind: kind, Relation: relation}, Why: why}
}

func run(h charm.Hook, why string) Step {
	return Step{Kind: Act, Op: Op{Kind: RunHook, Hook: h}, Why: why}
}

func unitHook(kind charm.HookKind, why string) Step { return run(charm.Hook{Kind: kind}, why) }

func wait(why string) Step { return Step{Kind: Wait, Why: why} }
