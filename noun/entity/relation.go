package entity

import (
	"cmp"
	"slices"
	"strings"

	"drover/noun/when"
)

// Role is the part an endpoint plays in a relation.
type Role uint8

// The roles, in the order in which a canonical relation name lists them.
const (
	_ Role = iota
	Requirer
	Provider
	Peer
	numRoles
)

var roleNames = [numRoles]string{"unset", "requirer", "provider", "peer"}

// String is the role's name.
func (r Role) String() string { return roleNames[r] }

// Counterpart is the role whose units a unit of this role watches: providers
// see requirers and the reverse, peers see peers (invariant G3).
func (r Role) Counterpart() Role {
	switch r {
	case Requirer:
		return Provider
	case Provider:
		return Requirer
	default:
		return r
	}
}

// Scope says which units of a relation see each other.
type Scope uint8

// The scopes. Spec: 003 "Relations in depth".
const (
	_ Scope = iota
	ScopeGlobal
	ScopeContainer
)

// String is the scope's name.
func (s Scope) String() string {
	switch s {
	case ScopeGlobal:
		return "global"
	case ScopeContainer:
		return "container"
	default:
		return "unset"
	}
}

// JujuInfo is the name and interface of the endpoint that every application
// provides implicitly (SEMANTICS 22).
const JujuInfo = "juju-info"

// Endpoint is one end of a relation, or one that a charm offers. App is set on
// endpoints of applications and relations.
type Endpoint struct {
	App       AppName `cbor:"1,keyasint,omitempty"`
	Name      string  `cbor:"2,keyasint"`
	Role      Role    `cbor:"3,keyasint"`
	Interface string  `cbor:"4,keyasint"`
	Scope     Scope   `cbor:"5,keyasint"`
	Limit     int     `cbor:"6,keyasint,omitempty"` // 0: no limit
	Implicit  bool    `cbor:"7,keyasint,omitempty"` // juju-info: no hooks run on this side
}

// String is "app:name".
func (e Endpoint) String() string { return string(e.App) + ":" + e.Name }

// Relation joins the endpoints of two applications, or of one with itself
// (peer: a single endpoint). Endpoints are sorted by role, requirer first.
type Relation struct {
	Model     ModelUID     `cbor:"1,keyasint"`
	ID        RelationID   `cbor:"2,keyasint"`
	UID       UID          `cbor:"3,keyasint"`
	Life      Life         `cbor:"4,keyasint"`
	Endpoints []Endpoint   `cbor:"5,keyasint"`
	Forced    bool         `cbor:"6,keyasint,omitempty"`
	Since     when.Instant `cbor:"7,keyasint"`
	Created   when.Instant `cbor:"8,keyasint"`
}

// CanonicalName is "<requirer-endpoint> <provider-endpoint>", or the single
// endpoint of a peer relation. Two relations with equal names never coexist.
// Spec: 000 "Relations".
func (r *Relation) CanonicalName() string { return CanonicalName(r.Endpoints) }

// CanonicalName is the name of a relation between these endpoints.
func CanonicalName(eps []Endpoint) string {
	sorted := SortEndpoints(eps)
	parts := make([]string, len(sorted))
	for i, e := range sorted {
		parts[i] = e.String()
	}
	return strings.Join(parts, " ")
}

// SortEndpoints returns the endpoints in canonical order, in a new slice.
func SortEndpoints(eps []Endpoint) []Endpoint {
	sorted := slices.Clone(eps)
	slices.SortFunc(sorted, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.App, b.App), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

// IsPeer reports whether the relation joins an application with itself.
func (r *Relation) IsPeer() bool { return len(r.Endpoints) == 1 }

// Scope is container if any endpoint's is. Spec: 000 "juju integrate".
func (r *Relation) Scope() Scope {
	for _, e := range r.Endpoints {
		if e.Scope == ScopeContainer {
			return ScopeContainer
		}
	}
	return ScopeGlobal
}

// Endpoint is the application's end of the relation.
func (r *Relation) Endpoint(app AppName) (Endpoint, bool) {
	for _, e := range r.Endpoints {
		if e.App == app {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Counterpart is the other application; the same one for a peer relation.
func (r *Relation) Counterpart(app AppName) AppName {
	for _, e := range r.Endpoints {
		if e.App != app {
			return e.App
		}
	}
	return app
}

// Member is a unit's presence in the scope of a relation.
type Member struct {
	Model       ModelUID     `cbor:"1,keyasint"`
	Relation    RelationID   `cbor:"2,keyasint"`
	Unit        UnitName     `cbor:"3,keyasint"`
	UnitUID     UID          `cbor:"4,keyasint"`
	Role        Role         `cbor:"5,keyasint"`
	Root        UnitName     `cbor:"6,keyasint,omitempty"` // the shared principal, container scope only
	Incarnation int          `cbor:"7,keyasint"`           // counts entries: a re-entry is another
	Since       when.Instant `cbor:"8,keyasint"`
}

// Settings are what a unit (or, with Unit "app", its application) published in
// a relation. They outlive membership and go with the relation (G4, R9).
type Settings struct {
	Model    ModelUID          `cbor:"1,keyasint"`
	Relation RelationID        `cbor:"2,keyasint"`
	Owner    string            `cbor:"3,keyasint"` // unit name, or application name for its bag
	Values   map[string]string `cbor:"4,keyasint,omitempty"`
	Version  int64             `cbor:"5,keyasint"` // grows with every change of values
}

// CleanupKind says what bulk work a Cleanup records.
type CleanupKind uint8

// The kinds of cleanup.
const (
	_                  CleanupKind = iota
	CleanSettings                  // delete the settings of a removed relation
	CleanDyingUnits                // delete never-deployed units of a Dying application
	CleanAddUnits                  // create units until the application has WantUnits
	CleanForceUnit                 // SEMANTICS 14: the next forced step of a unit
	CleanForceRelation             // make the units left in a relation leave it
	CleanForceApp                  // force the units of an application
	CleanForceMachine              // force what is on a machine
	numCleanupKinds
)

var cleanupKindNames = [numCleanupKinds]string{"unset", "settings", "dying-units", "add-units", "force-unit", "force-relation", "force-application", "force-machine"}

// String is the kind's name.
func (k CleanupKind) String() string { return cleanupKindNames[k] }

// Cleanup is recorded bulk work: the cleaner does it in steps and deletes the
// record with the last one. It names its target by UID, so that a recreated
// thing is never cleaned in place of its predecessor.
type Cleanup struct {
	ID       string       `cbor:"1,keyasint"`
	Kind     CleanupKind  `cbor:"2,keyasint"`
	Model    ModelUID     `cbor:"3,keyasint"`
	Target   string       `cbor:"4,keyasint"`
	UID      UID          `cbor:"5,keyasint,omitempty"`
	NotUntil when.Instant `cbor:"6,keyasint,omitempty"`
	MaxWait  int64        `cbor:"7,keyasint,omitempty"` // nanoseconds between forced steps
	Step     int          `cbor:"8,keyasint,omitempty"`
	Created  when.Instant `cbor:"9,keyasint"`
}

// Sequence is a counter that only grows ("machine", "unit:blog", "relation").
type Sequence struct {
	Model ModelUID `cbor:"1,keyasint"`
	Name  string   `cbor:"2,keyasint"`
	Next  uint64   `cbor:"3,keyasint"`
}
