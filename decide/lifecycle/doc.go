// Package lifecycle decides what a request or an observation does to machines,
// applications, units and relations: who becomes Dying, who becomes Dead, what
// goes in the same step, and what is refused.
//
// It reads one model through small interfaces and answers with steps, or a
// refusal. It never writes, asks no clock and keeps nothing between calls;
// keep/registry executes the steps in the transaction that was read, so the
// seed's "assert, abort, retry" is only a guard here.
//
// Invariants: Check tells whether a world obeys the Life, Reference and Scope
// invariants of the semantics, CheckMove whether one world may follow another.
//
// Spec: 000 "Entity lifecycle", 001; SEMANTICS 14–22, 31, 41, 44–53.
package lifecycle
