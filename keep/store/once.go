package store

import (
	"context"
	"slices"
	"time"

	"drover/noun/fault"
	"drover/noun/when"
)

// RequestMemory is how long the answer to a request is remembered.
const RequestMemory = 24 * time.Hour

const (
	maxRequestID  = 128
	maxAnswer     = 1 << 20
	expirePerStep = 1000
)

// Once is Update for a request that may be sent again: its first answer is
// remembered in the same transaction, for RequestMemory, and later calls with
// its id return it, with the revision of the first, without running fn. An error
// of fn is not remembered, as nothing happened. The id must be one that no other
// request has; an empty one is refused.
func (s *Store) Once(ctx context.Context, requestID string, fn func(*Txn) ([]byte, error)) ([]byte, Revision, error) {
	if requestID == "" || len(requestID) > maxRequestID {
		return nil, 0, fault.New(fault.Invalid, "bad request id").Why("it has %d bytes, not 1 to %d", len(requestID), maxRequestID)
	}
	var first request
	_, err := s.Update(ctx, func(tx *Txn) error {
		var known bool
		if first, known = s.schema.requests.Get(tx, requestID); known {
			return nil
		}
		answer, err := fn(tx)
		if err != nil {
			return err
		}
		if len(answer) > maxAnswer {
			return tooLarge(len(answer))
		}
		first = request{ID: requestID, At: when.Of(s.now()), Revision: tx.Next(), Answer: answer}
		s.schema.requests.Put(tx, first)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return slices.Clone(first.Answer), first.Revision, nil
}

// ExpireRequests forgets up to 1,000 answers that are older than RequestMemory,
// and reports whether there are more.
func (s *Store) ExpireRequests(ctx context.Context) (more bool, err error) {
	before := when.Of(s.now()).Add(-RequestMemory)
	if keys, _ := s.schema.oldRequests(s.View(), before); len(keys) == 0 {
		return false, nil
	}
	_, err = s.Update(ctx, func(tx *Txn) error {
		var keys []string
		keys, more = s.schema.oldRequests(tx, before)
		for _, key := range keys {
			s.schema.requests.Delete(tx, key)
		}
		return nil
	})
	return more && err == nil, err
}

// oldRequests are the oldest requests from before the moment, one step of them.
func (s *Schema) oldRequests(r Reader, before when.Instant) (keys []string, more bool) {
	ix := r.tables()[s.requests.def.id].indexes[s.requestsByTime.def.slot]
	ix.entries.Scan(func(e entry) bool {
		old, _ := s.requests.Get(r, e.key)
		if !old.At.Before(before) {
			return false
		}
		if more = len(keys) == expirePerStep; !more {
			keys = append(keys, e.key)
		}
		return !more
	})
	return keys, more
}
