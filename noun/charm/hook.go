package charm

import (
	"strings"

	"drover/noun/entity"
)

// HookKind is a kind of hook. Spec: 003 "Hook kinds".
type HookKind uint8

// The kinds: the five unit hooks and four relation hooks of the seed, then what
// today's charms know besides.
const (
	_ HookKind = iota
	Install
	Start
	ConfigChanged
	UpgradeCharm
	Stop
	RelationJoined
	RelationChanged
	RelationDeparted
	RelationBroken
	Remove
	LeaderElected
	UpdateStatus
	RelationCreated
	StorageAttached
	StorageDetaching
	numHookKinds
)

var hookKindNames = [numHookKinds]string{
	Install:          "install",
	Start:            "start",
	ConfigChanged:    "config-changed",
	UpgradeCharm:     "upgrade-charm",
	Stop:             "stop",
	RelationJoined:   "relation-joined",
	RelationChanged:  "relation-changed",
	RelationDeparted: "relation-departed",
	RelationBroken:   "relation-broken",
	Remove:           "remove",
	LeaderElected:    "leader-elected",
	UpdateStatus:     "update-status",
	RelationCreated:  "relation-created",
	StorageAttached:  "storage-attached",
	StorageDetaching: "storage-detaching",
}

// String is the kind as it ends a hook's file name.
func (k HookKind) String() string {
	if k == 0 || k >= numHookKinds {
		return "unset"
	}
	return hookKindNames[k]
}

// IsRelation reports whether hooks of the kind belong to a relation.
func (k HookKind) IsRelation() bool {
	switch k {
	case RelationJoined, RelationChanged, RelationDeparted, RelationBroken, RelationCreated:
		return true
	default:
		return false
	}
}

// IsStorage reports whether hooks of the kind belong to a storage.
func (k HookKind) IsStorage() bool { return k == StorageAttached || k == StorageDetaching }

// AboutUnit reports whether the hook is always about one remote unit.
// Spec: 003 "Relation hooks".
func (k HookKind) AboutUnit() bool { return k == RelationJoined || k == RelationDeparted }

// Hook is one hook to run: a kind, and for relation hooks which relation and
// which remote unit. Remote is empty in broken, and in a changed that is about
// the remote application's settings.
type Hook struct {
	Kind      HookKind          `json:"kind"`
	Endpoint  string            `json:"endpoint,omitempty"` // or the storage's name
	Relation  entity.RelationID `json:"relation,omitempty"`
	Remote    entity.UnitName   `json:"remote,omitempty"`
	RemoteApp entity.AppName    `json:"remote_app,omitempty"`
}

// Name is the hook's file name: "install", "db-relation-joined".
func (h Hook) Name() string {
	if h.Kind.IsRelation() || h.Kind.IsStorage() {
		return h.Endpoint + "-" + h.Kind.String()
	}
	return h.Kind.String()
}

// RelationName is JUJU_RELATION_ID: "db:7"; empty for unit hooks.
func (h Hook) RelationName() string {
	if !h.Kind.IsRelation() {
		return ""
	}
	return h.Endpoint + ":" + h.Relation.String()
}

// String is the hook with what it is about, for people.
func (h Hook) String() string {
	s := h.Name()
	if h.Kind.IsRelation() {
		s += " (" + h.RelationName()
		if h.Remote != "" {
			s += " " + string(h.Remote)
		}
		s += ")"
	}
	return s
}

// ParseHookName says which hook a file of the hooks folder is, if its name is
// one that the charm's endpoints allow.
func ParseHookName(m *Meta, file string) (Hook, bool) {
	for k := Install; k < numHookKinds; k++ {
		if !k.IsRelation() && !k.IsStorage() && file == k.String() {
			return Hook{Kind: k}, true
		}
		endpoint, ok := strings.CutSuffix(file, "-"+k.String())
		if !ok || !k.IsRelation() {
			continue
		}
		for _, e := range m.Endpoints {
			if e.Name == endpoint {
				return Hook{Kind: k, Endpoint: endpoint}, true
			}
		}
	}
	return Hook{}, false
}

// Order is the order of a unit's first hooks.
type Order uint8

// The orders (SEMANTICS 33): the seed's install, start, config-changed; and
// today's install, config-changed, start.
const (
	_ Order = iota
	SeedOrder
	TodayOrder
	numOrders
)

var orderNames = [numOrders]string{"unset", "seed", "today"}

// String is the order's name.
func (o Order) String() string {
	if o >= numOrders {
		return "invalid"
	}
	return orderNames[o]
}

// HookOrder is today's order for charms with dispatch or manifest.yaml, and the
// seed's for others.
func (m *Meta) HookOrder() Order {
	if m.HasDispatch || m.HasManifest {
		return TodayOrder
	}
	return SeedOrder
}
