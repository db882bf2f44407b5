// Package storetest is the suite that every log of the store passes: the
// contract of store.Log by itself, and the store's promises over it.
//
// It decides nothing and keeps nothing. It waits for events, never for time.
package storetest
