// Package e2e has tests only: each makes a cluster of real processes with the
// programs as they are built, does to it what hosts and people do (kill -9,
// Ctrl-C, down, up, removals in any order), and looks at what a user sees.
//
// A test kills by exact identity, of processes that its own cluster recorded,
// and never waits for a fixed time. At its end the cluster is taken down with
// --purge, and no process, file, mount or socket of it may be left.
//
// The programs are built once for each run, unless DROVER_E2E_PROGRAMS names a
// folder that has them.
package e2e
