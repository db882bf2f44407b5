// Package store keeps the cluster's state: typed, indexed tables in the
// leader's memory, changed by transactions that run one after the other, made
// durable and replicated as row deltas by a Log.
//
// Transactions read and write the head; nobody else sees what is not committed.
// A committed group of transactions publishes one immutable View. Every
// transaction that changes rows has a Revision of its own, a dense counter that
// is the same on all servers, so that a feed of changes resumes across a change
// of leader.
//
// It never runs domain logic on followers: an entry of the log holds rows, not
// requests. It never changes a row in place; what a View reaches stays as it is.
//
// Invariants: D1–D6 and Events of the semantics; an entry is applied only if its
// previous revision is the machine's own (fencing); an index equals a rebuild
// from its rows.
package store
