// Package registry keeps the modelled world over the store: models, machines,
// applications, units, relations, scopes, settings, charms and recorded bulk
// work.
//
// Every change is a method that takes the transaction: it reads, asks
// decide/lifecycle what the request or the observation does, and writes the rows
// of the answer. Views take any store.Reader. It never opens a transaction
// itself, calls no agent and no provider, and reads no clock.
//
// Invariants: L1–L11, R1–R9 and G1–G4 of the semantics (lifecycle.Check tells);
// counts come from indexes and are never stored; numbers of units, ids of
// machines and of relations come from sequences and are never reused.
//
// Spec: 000 "Entity lifecycle", 001; SEMANTICS 14–22, 31, 41, 44–53.
package registry
