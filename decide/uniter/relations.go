package uniter

import (
	"cmp"
	"slices"

	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"
)

// view is one relation from both sides: local is nil before the unit entered,
// remote when the relation does not exist any more.
type view struct {
	id     entity.RelationID
	peer   bool
	local  *Relation
	remote *RemoteRelation
}

// views pairs the relations, peers last, each group by id.
func views(l *Local, r *Remote) []view {
	var vs []view
	for i := range r.Relations {
		rel := &r.Relations[i]
		vs = append(vs, view{id: rel.ID, peer: rel.Peer, local: l.Relation(rel.ID), remote: rel})
	}
	for i := range l.Relations {
		rel := &l.Relations[i]
		if r.Relation(rel.ID) == nil {
			vs = append(vs, view{id: rel.ID, peer: rel.Peer, local: rel})
		}
	}
	slices.SortFunc(vs, func(a, b view) int {
		if a.peer != b.peer {
			if b.peer {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.id, b.id)
	})
	return vs
}

// relations: the agent of an Alive unit enters the scopes of Alive relations,
// runs the hooks of those it is in, and leaves those that are not Alive.
func relations(l *Local, r *Remote) Step {
	if r.Life != entity.Alive {
		return idle
	}
	later := idle
	for _, v := range views(l, r) {
		switch s := v.next(r.Now); s.Kind {
		case Idle:
		case Wait:
			if later.Kind == Idle || s.Until.Before(later.Until) {
				later = s
			}
		default:
			return s
		}
	}
	return later
}

func (v view) next(now when.Instant) Step {
	switch {
	case v.local != nil && v.local.Left:
		return idle
	case v.remote == nil:
		return v.leave(true, "the relation is gone")
	case v.remote.Life != entity.Alive:
		return v.leave(true, "the relation is dying")
	case v.local == nil && now.Before(v.remote.NotBefore):
		return Step{Kind: Wait, Until: v.remote.NotBefore, Why: "its former subordinate is still going"}
	case v.local == nil:
		// Also when the server has the unit in scope already: entering is idempotent,
		// and what is there is kept.
		return scope(EnterScope, v.id, "the relation is alive")
	case v.local.Confirmed && !v.remote.InScope:
		return v.leave(true, "the unit was taken out of scope")
	case v.local.Implicit:
		return idle
	}
	return v.hook()
}

// hook is the next hook in a relation the unit stays in.
func (v view) hook() Step {
	if s := v.pendingChanged(); s.Kind != Idle {
		return s
	}
	for _, m := range v.local.Members {
		if rm := v.remote.member(m.Unit); rm == nil || rm.Incarnation != m.Incarnation {
			return run(v.about(charm.RelationDeparted, m.Unit), string(m.Unit)+" is no longer related")
		}
	}
	if av := v.remote.appVersion(); av != 0 && av != v.local.AppVersion {
		return run(v.about(charm.RelationChanged, ""), string(v.local.RemoteApp)+" changed its settings")
	}
	for _, rm := range v.remote.Members {
		if v.local.member(rm.Unit) == nil {
			return run(v.about(charm.RelationJoined, rm.Unit), string(rm.Unit)+" is seen for the first time")
		}
	}
	for _, rm := range v.remote.Members {
		if v.local.member(rm.Unit).Version != rm.Version {
			return run(v.about(charm.RelationChanged, rm.Unit), string(rm.Unit)+" changed its settings")
		}
	}
	return idle
}

// pendingChanged: "the next hook to be run in relation id foo:123 will be
// foo-relation-changed for bar/99."
func (v view) pendingChanged() Step {
	if v.local.Changed == "" {
		return idle
	}
	return run(v.about(charm.RelationChanged, v.local.Changed), "it follows joined")
}

// leave departs a relation: departed for every unit known, broken, then out of
// scope. Spec: 003 "Departing relations".
func (v view) leave(hooks bool, why string) Step {
	if v.local == nil {
		switch {
		case v.remote == nil || !v.remote.InScope:
			return idle
		case hooks && !v.remote.Implicit:
			return run(v.about(charm.RelationBroken, ""), why)
		}
		return scope(LeaveScope, v.id, why)
	}
	if v.local.Left {
		return idle
	}
	if hooks && !v.local.Implicit && !v.local.Broken {
		if s := v.pendingChanged(); s.Kind != Idle {
			return s
		}
		for _, m := range v.local.Members {
			return run(v.about(charm.RelationDeparted, m.Unit), why)
		}
		return run(v.about(charm.RelationBroken, ""), why)
	}
	if v.remote == nil || v.local.Confirmed && !v.remote.InScope {
		return scope(ForgetRelation, v.id, why)
	}
	return scope(LeaveScope, v.id, why)
}

// about makes a hook of the relation.
func (v view) about(kind charm.HookKind, unit entity.UnitName) charm.Hook {
	h := charm.Hook{Kind: kind, Relation: v.id, Remote: unit}
	if v.local != nil {
		h.Endpoint, h.RemoteApp = v.local.Endpoint, v.local.RemoteApp
	} else {
		h.Endpoint, h.RemoteApp = v.remote.Endpoint, v.remote.RemoteApp
	}
	return h
}
