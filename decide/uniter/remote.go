package uniter

import (
	"cmp"
	"slices"

	"drover/noun/entity"
	"drover/noun/when"
)

// Remote is what the cluster holds of a unit, as last heard.
type Remote struct {
	Synced    bool // the feed was complete at least once
	Connected bool // the server is there now
	Present   bool // the unit exists
	Now       when.Instant
	BootID    string

	Life              entity.Life
	AppLife           entity.Life // 0: gone
	Principal         entity.UnitName
	PrincipalLife     entity.Life // 0: gone
	SubordinateWanted bool        // an Alive container-scoped relation with the principal exists
	Charm             entity.CharmSHA
	ConfigHash        string
	Incarnation       int
	Resolve           entity.Resolve
	Failure           when.Instant // since when the failure is that the server knows of; zero: none
	MaxRetries        int
	Subordinates      []Subordinate    // sorted by unit
	Relations         []RemoteRelation // sorted by id
}

// Subordinate is a unit that this principal is responsible for.
type Subordinate struct {
	Unit     entity.UnitName
	Life     entity.Life
	Deployed bool
}

// RemoteRelation is a relation of the unit's application.
type RemoteRelation struct {
	ID        entity.RelationID
	Life      entity.Life
	Endpoint  string
	Peer      bool
	RemoteApp entity.AppName
	InScope   bool
	Implicit  bool           // no hooks run on this side
	NotBefore when.Instant   // entering was answered "not yet" (SEMANTICS 47)
	Members   []RemoteMember // whom the unit sees, sorted by unit
}

// RemoteMember is a unit in scope that this one sees.
type RemoteMember struct {
	Unit        entity.UnitName
	Incarnation int
	Version     int64
	AppVersion  int64
}

// Relation finds a relation by id; nil when it does not exist.
func (r *Remote) Relation(id entity.RelationID) *RemoteRelation {
	i, ok := slices.BinarySearchFunc(r.Relations, id, func(r RemoteRelation, id entity.RelationID) int { return cmp.Compare(r.ID, id) })
	if !ok {
		return nil
	}
	return &r.Relations[i]
}

func (r *RemoteRelation) member(unit entity.UnitName) *RemoteMember {
	if r == nil {
		return nil
	}
	for i := range r.Members {
		if r.Members[i].Unit == unit {
			return &r.Members[i]
		}
	}
	return nil
}

// appVersion is the version of the remote application's own settings.
func (r *RemoteRelation) appVersion() int64 {
	var v int64
	if r != nil {
		for _, m := range r.Members {
			v = max(v, m.AppVersion)
		}
	}
	return v
}

// Observe notes in the local state what only the feed can tell: that the unit
// was seen in a scope, and that one it has left is no longer shown. It reports
// whether anything changed.
func Observe(l *Local, r *Remote) bool {
	if !r.Synced || !r.Present {
		return false
	}
	changed := false
	for i := range l.Relations {
		rel, there := &l.Relations[i], r.Relation(l.Relations[i].ID)
		if there != nil && there.InScope && !rel.Confirmed {
			rel.Confirmed, changed = true, true
		}
	}
	before := len(l.Relations)
	l.Relations = slices.DeleteFunc(l.Relations, func(rel Relation) bool {
		there := r.Relation(rel.ID)
		// Not shown in scope may also mean not shown yet, if it never was.
		return rel.Left && (there == nil || rel.Confirmed && !there.InScope)
	})
	return changed || len(l.Relations) != before
}
