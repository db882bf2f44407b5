// Package convert turns the nouns into messages of the wire and back, and errors
// into their form on the wire and back.
//
// It decides nothing: what a message lacks stays unset, and whoever reads a
// request validates it.
//
// Invariants: a noun that is converted to a message and back is equal; an error
// that people see crosses the wire with its kind, code, reason and next commands.
package convert
