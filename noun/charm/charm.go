// Package charm has the words of charms: what metadata.yaml, config.yaml and
// bundles say, and the kinds of hooks.
//
// It parses and validates bytes it is given, within bounds of size and depth;
// it never opens a file and runs nothing.
//
// Invariant: a Meta that Parse returned has valid names, and each endpoint has a
// role, an interface and a scope.
//
// Spec: 003 "Hooks"; design of the charm contract of today.
package charm

import "drover/noun/entity"

// Meta is what a charm says of itself in metadata.yaml.
type Meta struct {
	Name        string            `cbor:"1,keyasint"`
	Summary     string            `cbor:"2,keyasint,omitempty"`
	Description string            `cbor:"3,keyasint,omitempty"`
	Subordinate bool              `cbor:"4,keyasint,omitempty"`
	Endpoints   []entity.Endpoint `cbor:"5,keyasint,omitempty"` // sorted by name; juju-info not included; App empty
	HasManifest bool              `cbor:"6,keyasint,omitempty"` // manifest.yaml present: today's hook order
	HasDispatch bool              `cbor:"7,keyasint,omitempty"`
}

// OptionType is the type of a config option: "string", "int", "float",
// "boolean" or "secret".
type OptionType string

// Option is one entry of config.yaml. Default is its textual form; HasDefault
// tells an empty string from none.
type Option struct {
	Type        OptionType `cbor:"1,keyasint"`
	Description string     `cbor:"2,keyasint,omitempty"`
	Default     string     `cbor:"3,keyasint,omitempty"`
	HasDefault  bool       `cbor:"4,keyasint,omitempty"`
}

// Charm is a charm as the cluster knows it: one row per archive.
type Charm struct {
	SHA      entity.CharmSHA   `cbor:"1,keyasint"`
	Meta     Meta              `cbor:"2,keyasint"`
	Options  map[string]Option `cbor:"3,keyasint,omitempty"`
	Revision int               `cbor:"4,keyasint"`
	Size     int64             `cbor:"5,keyasint"`
	Version  string            `cbor:"6,keyasint,omitempty"`
}
