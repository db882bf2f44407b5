package charm

import (
	"fmt"

	"drover/noun/entity"
)

// Outcome is how a run of a hook ended.
type Outcome uint8

// The outcomes. Skipped is a failed hook that an operator marked as done.
const (
	_ Outcome = iota
	Succeeded
	Failed
	Skipped
	numOutcomes
)

var outcomeNames = [numOutcomes]string{"unset", "succeeded", "failed", "skipped"}

// String is the outcome's name.
func (o Outcome) String() string {
	if o >= numOutcomes {
		return "invalid"
	}
	return outcomeNames[o]
}

// Run is one hook that a unit ran, or that was marked as done. BootID is the
// machine's boot in which it ran.
type Run struct {
	Hook    Hook
	Outcome Outcome
	BootID  string
}

// CheckTrace says whether the hooks that one incarnation of a unit ran, in the
// order in which they ended, keep the seed's guarantees (invariants H1–H3); the
// error names the run and the guarantee. Order says which order of the first
// hooks holds. A trace may end at any point.
//
// Spec: 003 "Unit hooks", "Relation hooks", "Departing relations".
func CheckTrace(order Order, runs []Run) error {
	t := trace{order: order, relations: map[entity.RelationID]*relationTrace{}}
	for i, r := range runs {
		if err := t.add(r); err != nil {
			return fmt.Errorf("run %d, %s %s: %w", i, r.Hook, r.Outcome, err)
		}
	}
	return nil
}

type trace struct {
	order     Order
	done      [numHookKinds]int // runs that ended well or were marked done
	last      HookKind          // unit hook that ended well before, relation hooks apart
	failed    *Hook
	boot      string // of the last start
	relations map[entity.RelationID]*relationTrace
}

type relationTrace struct {
	members map[entity.UnitName]bool
	pending entity.UnitName // joined, and not yet changed
	broken  bool
}

func (t *trace) add(r Run) error {
	h := r.Hook
	if t.failed != nil && *t.failed != h {
		return fmt.Errorf("%s failed before and is not resolved", *t.failed)
	}
	if t.failed == nil && r.Outcome == Skipped {
		return fmt.Errorf("it had not failed")
	}
	if err := t.allowed(h, r.BootID); err != nil {
		return err
	}
	if r.Outcome == Failed {
		t.failed = &h
		return nil
	}
	t.failed = nil
	t.record(h, r.BootID)
	return nil
}

func (t *trace) allowed(h Hook, boot string) error {
	switch {
	case h.Kind == 0 || h.Kind >= numHookKinds:
		return fmt.Errorf("there is no such hook")
	case t.done[Remove] > 0:
		return fmt.Errorf("nothing runs after remove")
	case t.done[Stop] > 0 && h.Kind != Remove:
		return fmt.Errorf("stop is the last hook but remove")
	case t.done[Install] == 0 && h.Kind != Install && h.Kind != StorageAttached:
		return fmt.Errorf("install runs before any other hook")
	case h.Kind.IsRelation():
		return t.relationAllowed(h)
	}
	return t.unitAllowed(h, boot)
}

func (t *trace) unitAllowed(h Hook, boot string) error {
	// "The config-changed hook always runs once immediately after the upgrade-charm hook."
	if t.last == UpgradeCharm && h.Kind != ConfigChanged && h.Kind != Stop {
		return fmt.Errorf("config-changed runs immediately after upgrade-charm")
	}
	switch h.Kind {
	case Install:
		if t.done[Install] > 0 {
			return fmt.Errorf("install runs once and only once")
		}
	case Start:
		if t.done[Start] > 0 && t.boot == boot {
			return fmt.Errorf("start runs once for each boot")
		}
		if t.order == TodayOrder && t.done[ConfigChanged] == 0 {
			return fmt.Errorf("today's charms run config-changed before start")
		}
		if t.order == SeedOrder && t.done[Start] == 0 && t.last != Install {
			return fmt.Errorf("start runs immediately after install")
		}
	case ConfigChanged:
		if t.order == SeedOrder && t.done[Start] == 0 {
			return fmt.Errorf("config-changed runs after start")
		}
	case Stop:
		return t.stopAllowed()
	case Remove:
		if t.done[Start] > 0 && t.done[Stop] == 0 {
			return fmt.Errorf("stop runs before remove")
		}
	}
	if t.order == SeedOrder && t.last == Start && t.done[ConfigChanged] == 0 && h.Kind != ConfigChanged && h.Kind != Stop && h.Kind != Remove {
		return fmt.Errorf("config-changed runs immediately after start")
	}
	return nil
}

// stopAllowed: "The stop hook will not run while relations remain to be broken."
func (t *trace) stopAllowed() error {
	if t.done[Start] == 0 {
		return fmt.Errorf("stop runs only after start")
	}
	for id, rt := range t.relations { // order-free: any finding is an error
		if !rt.broken {
			return fmt.Errorf("relation %s is not broken yet", id)
		}
	}
	return nil
}

func (t *trace) relationAllowed(h Hook) error {
	if h.Kind == RelationCreated {
		return nil
	}
	// "install and start run before the unit takes part in any relation"
	if t.done[Start] == 0 || t.done[ConfigChanged] == 0 {
		return fmt.Errorf("the unit takes part in relations only after install, start and config-changed")
	}
	rt := t.relation(h.Relation)
	switch {
	case rt.broken:
		return fmt.Errorf("broken is the last hook in its relation")
	case rt.pending != "" && (h.Kind != RelationChanged || h.Remote != rt.pending):
		return fmt.Errorf("the next hook in the relation is changed for %s, which has joined", rt.pending)
	case h.Kind == RelationJoined && rt.members[h.Remote]:
		return fmt.Errorf("joined runs once for a unit")
	case h.Kind == RelationChanged && h.Remote == "" && h.RemoteApp == "":
		return fmt.Errorf("it is about no unit and no application")
	case h.Kind == RelationChanged && h.Remote != "" && !rt.members[h.Remote]:
		return fmt.Errorf("%s has not joined, or has departed", h.Remote)
	case h.Kind == RelationDeparted && !rt.members[h.Remote]:
		return fmt.Errorf("%s has not joined, or has departed before", h.Remote)
	case h.Kind == RelationBroken && len(rt.members) > 0:
		return fmt.Errorf("broken runs after departed for every unit: %d are left", len(rt.members))
	case h.Kind.AboutUnit() && h.Remote == "":
		return fmt.Errorf("it is about no unit")
	}
	return nil
}

func (t *trace) relation(id entity.RelationID) *relationTrace {
	rt, ok := t.relations[id]
	if !ok {
		rt = &relationTrace{members: map[entity.UnitName]bool{}}
		t.relations[id] = rt
	}
	return rt
}

func (t *trace) record(h Hook, boot string) {
	t.done[h.Kind]++
	if !h.Kind.IsRelation() {
		t.last = h.Kind
		if h.Kind == Start {
			t.boot = boot
		}
		return
	}
	rt := t.relation(h.Relation)
	switch h.Kind {
	case RelationJoined:
		rt.members[h.Remote] = true
		rt.pending = h.Remote
	case RelationChanged:
		if h.Remote == rt.pending {
			rt.pending = ""
		}
	case RelationDeparted:
		delete(rt.members, h.Remote)
	case RelationBroken:
		rt.broken = true
	}
}
