package sim

import (
	"strconv"
	"strings"

	"drover/noun/charm"
	"drover/noun/entity"
)

// oracle holds the hooks that every unit ran against the seed's guarantees
// (invariants H1–H3). The charms here have every hook, so none is skipped unseen.
type oracle struct {
	sim     *Sim
	runs    map[string][]charm.Run // by unit; unit numbers are never used again
	skipped map[string]bool        // units whose failed hook somebody asked to mark as done
}

func newOracle(s *Sim) *oracle {
	return &oracle{sim: s, runs: map[string][]charm.Run{}, skipped: map[string]bool{}}
}

// maySkip notes that a person asked to mark the unit's failed hook as done.
func (o *oracle) maySkip(unit string) { o.skipped[unit] = true }

// ran notes a run, as its environment describes it, and checks the unit's hooks
// so far.
func (o *oracle) ran(env []string, outcome charm.Outcome) {
	vars := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	unit, hook := vars["JUJU_UNIT_NAME"], hookOf(vars)
	runs := o.runs[unit]
	if n := len(runs); n > 0 && runs[n-1].Outcome == charm.Failed && runs[n-1].Hook != hook && o.skipped[unit] {
		last := runs[n-1]
		last.Outcome = charm.Skipped
		runs = append(runs, last)
	}
	if outcome != charm.Failed {
		delete(o.skipped, unit)
	}
	runs = append(runs, charm.Run{Hook: hook, Outcome: outcome, BootID: "boot"})
	o.runs[unit] = runs
	if err := charm.CheckTrace(charm.SeedOrder, runs); err != nil {
		o.sim.fail("unit %s: %v", unit, err)
	}
}

var unitKinds = []charm.HookKind{charm.Install, charm.Start, charm.ConfigChanged, charm.Stop, charm.Remove}

var relationKinds = []charm.HookKind{charm.RelationJoined, charm.RelationChanged, charm.RelationDeparted, charm.RelationBroken}

// hookOf is the hook that an environment is for.
func hookOf(vars map[string]string) charm.Hook {
	name, endpoint := vars["JUJU_HOOK_NAME"], vars["JUJU_RELATION"]
	for _, k := range unitKinds {
		if name == k.String() {
			return charm.Hook{Kind: k}
		}
	}
	_, id, _ := strings.Cut(vars["JUJU_RELATION_ID"], ":")
	number, _ := strconv.ParseUint(id, 10, 64) // 0, which no relation has, would be found
	for _, k := range relationKinds {
		if name == endpoint+"-"+k.String() {
			return charm.Hook{
				Kind: k, Endpoint: endpoint, Relation: entity.RelationID(number),
				Remote: entity.UnitName(vars["JUJU_REMOTE_UNIT"]), RemoteApp: entity.AppName(vars["JUJU_REMOTE_APP"]),
			}
		}
	}
	return charm.Hook{}
}
