// Package shim is the parent of one container process: it outlives the agent
// that started it, so that restarting or upgrading the agent kills no workload.
//
// Main reads a folder's spec, starts the process in a session of its own,
// copies its output into a bounded log, and writes how it ended. The other
// functions are the folder's formats, for the agent's side. It decides nothing,
// restarts nothing, talks to nobody, and uses the standard library only and
// little of it: one shim runs beside every process.
//
// The folder (all files are replaced whole, by rename):
//
//	spec    written by the agent; the shim takes it away before it starts
//	        anything, so that a spec whose agent is gone is started once or never
//	shim    the shim's pid, start time and boot, written before it takes spec
//	pid     the same of the process
//	log     output, and log.1, the part before it
//	exit    how the process ended; synced, and the last thing a shim does
//
// Signals: SIGTERM asks the process's group to go and kills it after the
// spec's grace; SIGUSR1 kills at once.
//
// Invariants: without exit, a shim that is gone was killed; when exit is there,
// no descendant of the process is left (they end with it, however detached).
//
// Spec: 002 "Container State".
package shim
