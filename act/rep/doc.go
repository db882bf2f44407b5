// Package rep keeps the board in agreement with the containers of its cell.
//
// It reserves what the auctioneer sends, and for each index or task it has to do
// with it looks at the container and at the board's records, asks
// decide/harmony, and does what the table says: the board first, the container
// last. A poll and an event take the same path. Every change of the board
// carries the revision that was seen; a conflict means that the view was stale:
// the rest of the plan is dropped and the key looked at again.
//
// It never decides by itself what a table should decide, keeps nothing on disk
// (the executor does), and never acts on records before the feed is complete.
// Records that the feed does not carry, since nobody here holds them, are looked
// up on the board before a container is touched because of them.
//
// Invariants: no container is deleted before the first complete feed; no work is
// taken while evacuating, unfit, or from an older leader than seen.
//
// Spec: 002 "The Rep-Executor(-Garden) Cycle", "Harmonizing ActualLRPs with
// Container State: Rep", "Harmonizing Tasks with Container State: Rep",
// "Harmonizing during evacuation"; SEMANTICS 9–12, 43, 67, 69–73.
package rep
