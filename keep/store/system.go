package store

import (
	"fmt"

	"drover/noun/when"
)

// addSystemTables adds the tables that the store itself needs.
func addSystemTables(s *Schema) {
	s.requests = Add(s, Def[request]{
		Name:    "store.request",
		Version: 1,
		Key:     func(r *request) string { return r.ID },
	})
	s.requestsByTime = s.requests.AddIndex("time", func(r *request) []string {
		return []string{fmt.Sprintf("%020d", r.At)}
	})
}

// request remembers what a request was answered.
type request struct {
	ID       string       `cbor:"1,keyasint"`
	At       when.Instant `cbor:"2,keyasint"`
	Revision Revision     `cbor:"3,keyasint"`
	Answer   []byte       `cbor:"4,keyasint,omitempty"`
}
