// Package sim runs the whole system in one process under seeded faults: the real
// store on a log in memory, the real handlers, loops and agents, on a fake
// clock, with fake processes and hooks.
//
// It starts no loop. It owns the queues: at each step it lists what could happen
// next (a key that is due, a message to an agent, a request of a user, a process
// that ends, a fault, the passing of time), and one seeded choice says what
// does. After every commit the invariants are checked, with the functions that
// the unit tests use.
//
// Raft, the network and real processes are not here: they are tested with real
// processes.
//
// Invariant: the same seed and number of steps give the same trace, byte for
// byte.
//
//	go test ./sim -seed=7 -steps=2000 -show
package sim
