// Package api serves the API of a server: the Connect handlers of all services
// on one port, who may call what, and the feeds of the agents.
//
// Each call passes, in this order: recovery from panics, limits, the leader's
// door (others send on to the leader), authentication by certificate, the
// authorization table, own-entity checks; then its handler reads a View or
// changes the state in one transaction of keep/registry, keep/board or
// keep/identity. It decides nothing about entities or work by itself, and
// dials nobody.
//
// Invariants: X1 only JoinService answers without an identity; X2 a method
// without a row in the table is refused to everybody, and a machine acts only
// for itself, the units on it and its cell; X3 errors and events carry no
// secrets; X4 a machine's certificate is refused as soon as its row is gone.
package api
