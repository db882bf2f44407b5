// Package feed computes what a machine's agent must know, as deltas by key, and
// holds the commands that wait for it.
//
// A Cursor belongs to one machine. It subscribes to the topics of that machine,
// its units, their applications, relations and cell, and recomputes only the
// groups of keys that a touched topic concerns. It runs nothing by itself: Poll
// is a function of the committed state and of what was sent before, so that a
// simulation drives it.
//
// It authorizes nobody, and never waits for an agent: a slow one loses its
// connection and starts again.
//
// Invariants: folding the deltas from a reset, or on top of the state at the
// resumed revision, gives the state at each synced revision; a key is sent only
// when its value changed; a work batch is sent again until it is acknowledged.
package feed
