// Package executor keeps a cell's containers: it reserves, starts, watches,
// stops and deletes them, and says what became of them.
//
// It never talks to the cluster and decides nothing about records: the rep does.
// It restarts nothing: a container runs once.
//
// One loop drives every container: a step looks at the container's processes,
// works out what its actions want next (see walk), and does that. Everything
// that matters lies in the container's folder, and processes are the children
// of shims, so an executor made over the same folder goes on where its
// predecessor was killed.
//
// Invariants: a container's state changes only as work.ContainerState.CanBecome
// says; RunResult is set exactly when it is COMPLETED; Failed has a reason,
// Stopped is never Failed; what all containers reserve never exceeds the
// capacity; a COMPLETED container has no process left.
//
// Folder (Config.Dir):
//
//	containers/<guid>/meta           what is known of the container
//	containers/<guid>/data/          its working directory, and HOME
//	containers/<guid>/procs/<name>/  one shim's folder for each process
//	past/<target>/                   last logs of containers that are gone
//
// Spec: 002 "Container State", "RunResult", "Container Events"; SEMANTICS 43, 76.
package executor
