// Package placement decides which cell takes which work: one auction over one
// batch.
//
// It asks nobody: cells, what they hold and the work are arguments, and the same
// arguments give the same answer. It reserves nothing; a cell has the last word.
//
// Invariants: P8 (capacity, stack, never a cell that evacuates or is unfit) and
// P10 (order of the batch, identical work once).
//
// Spec: 002 "Distributing ActualLRPs: Auctioneer", "Auction Work
// Prioritization", "Communicating Fullness"; SEMANTICS 7.
package placement
