package unitagent

import (
	"cmp"
	"slices"

	"drover/decide/uniter"
	"drover/noun/entity"
	"drover/noun/when"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// World is what the cluster holds of a unit, as last heard: complete as of one
// revision. Its messages are not changed by anybody.
type World struct {
	Version      uint64 // grows with every change of what is below
	Synced       bool
	Connected    bool
	Machine      *droverv1.MachineState
	Unit         *droverv1.UnitState            // nil: it does not exist
	Relations    []Relation                     // in any order
	Subordinates map[string]*droverv1.UnitState // by name; those that are known
}

// Relation is a relation of the unit with the members that it sees, in any
// order.
type Relation struct {
	State   *droverv1.RelationState
	Members []*droverv1.MemberState
}

// remote translates the world for decide/uniter.
func (a *Agent) remote(w *World) uniter.Remote {
	r := uniter.Remote{Synced: w.Synced, Connected: w.Connected, Present: w.Unit != nil, Now: a.now(), BootID: a.cfg.BootID}
	u := w.Unit
	if u == nil {
		return r
	}
	// A unit of the same name with another uid is another unit.
	if u.Uid != string(a.cfg.UID) {
		r.Present = false
		return r
	}
	r.Life, r.AppLife = entity.ParseLife(u.Life), entity.ParseLife(u.ApplicationLife)
	r.Principal, r.PrincipalLife = entity.UnitName(u.Principal), entity.ParseLife(u.PrincipalLife)
	r.SubordinateWanted = u.SubordinateWanted
	r.Charm, r.ConfigHash = entity.CharmSHA(u.CharmSha), u.ConfigHash
	r.Incarnation, r.MaxRetries = int(u.Incarnation), int(u.MaxHookRetries)
	r.Resolve = convert.ResolveFromWire(u.Resolve)
	if u.Failure != nil {
		r.Failure = when.Instant(u.Failure.Since)
	}
	r.Subordinates = remoteSubordinates(w)
	for _, rel := range w.Relations {
		r.Relations = append(r.Relations, a.remoteRelation(rel))
	}
	slices.SortFunc(r.Relations, func(a, b uniter.RemoteRelation) int { return cmp.Compare(a.ID, b.ID) })
	return r
}

func remoteSubordinates(w *World) []uniter.Subordinate {
	var subs []uniter.Subordinate
	for _, s := range w.Unit.Subordinates {
		sub := uniter.Subordinate{Unit: entity.UnitName(s.Name), Life: entity.ParseLife(s.Life)}
		if u, ok := w.Subordinates[s.Name]; ok {
			sub.Deployed, sub.Life = u.Deployed, entity.ParseLife(u.Life)
		} else {
			// Not heard of yet: it counts, and nothing is done to it.
			sub.Deployed, sub.Life = true, min(sub.Life, entity.Dying)
		}
		subs = append(subs, sub)
	}
	slices.SortFunc(subs, func(a, b uniter.Subordinate) int { return uniter.CompareUnits(a.Unit, b.Unit) })
	return subs
}

func (a *Agent) remoteRelation(rel Relation) uniter.RemoteRelation {
	s := rel.State
	r := uniter.RemoteRelation{
		ID: entity.RelationID(s.Id), Life: entity.ParseLife(s.Life), Endpoint: s.Endpoint,
		Peer: s.Role == entity.Peer.String(), RemoteApp: entity.AppName(s.RemoteApplication),
		InScope: s.InScope, Implicit: s.Implicit, NotBefore: a.notYet[entity.RelationID(s.Id)],
	}
	for _, m := range rel.Members {
		r.Members = append(r.Members, uniter.RemoteMember{
			Unit: entity.UnitName(m.Unit), Incarnation: int(m.Incarnation),
			Version: m.SettingsVersion, AppVersion: m.AppSettingsVersion,
		})
	}
	slices.SortFunc(r.Members, func(a, b uniter.RemoteMember) int { return uniter.CompareUnits(a.Unit, b.Unit) })
	return r
}
