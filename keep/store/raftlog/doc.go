// Package raftlog is the store's log on disks: hashicorp/raft with raft-wal, for
// one server and for several in the same way.
//
// It orders, keeps and delivers entries, tells the machine who leads, and decides
// when a snapshot replaces entries. It never looks into an entry, listens on no
// port of its own and dials nobody but through the Layer it is given.
//
// Invariants: leadership is announced to the machine only after everything
// committed in earlier terms has been applied to it; two processes never have the
// folder open; a folder of a newer program is left as it is.
//
// Spec: the architecture's "State: one writer, one log"
package raftlog
