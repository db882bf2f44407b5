// Package convergence decides how the records of the board follow what is
// desired: missing and extra indexes, restarts after crashes, what a lost cell
// leaves behind, the ages at which tasks are kicked and deleted.
//
// It never reads a clock or the store: the moment and the rows are arguments, and
// the answer is a list of actions and the moment at which to ask again.
//
// Invariants: extras are given up only in a fresh domain (P7), crash counts and
// restart times follow the policy (P9).
//
// Spec: 002 "Computing deltas", "Crashes", "Harmonizing DesiredLRPs with
// ActualLRPs: Convergence", "Maintaining Consistency: Convergence".
package convergence
