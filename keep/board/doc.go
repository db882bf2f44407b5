// Package board keeps the process world: desired LRPs, their actual LRPs, tasks,
// domains and cells, as tables of the store and the changes that are allowed to
// them.
//
// It never starts or stops anything, chooses no cell, and sets no timer: actors
// do, and write here what they did. Every method that changes a row runs inside
// a transaction, checks that the actor may make the transition, and with the
// revision that the actor saw, that its decision is not stale.
//
// Invariants: P1–P5, P9, P11, T2–T4, T6 (see Check).
//
// Spec: 002 "LRPs", "Tasks".
package board
