package store

import (
	"errors"
	"fmt"

	"drover/noun/fault"
)

// What errors.Is finds in the *fault.Error that a store returns.
var (
	// ErrNotApplied: the write is not and will not be applied; it may be tried
	// again as it is.
	ErrNotApplied = errors.New("not applied")
	// ErrUnknown: the write may or may not be applied, now or later. A retry needs
	// the request id that the first try had (see Once).
	ErrUnknown = errors.New("outcome unknown")
	// ErrCompacted: the changes asked for are not retained any more; read a View
	// and follow the changes from its revision.
	ErrCompacted = errors.New("changes compacted")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store closed")
)

// NotLeaderError is what errors.As finds when a write or a consistent read
// reached a server that does not lead. The fields are empty when no leader is
// known.
type NotLeaderError struct{ Leader, Address string }

// Error names the leader, if known.
func (e *NotLeaderError) Error() string {
	if e.Leader == "" {
		return "no leader is known"
	}
	return fmt.Sprintf("server %s at %s leads", e.Leader, e.Address)
}

// NotLeader is the error of a server that does not lead.
func NotLeader(leader, address string) error {
	cause := &NotLeaderError{leader, address}
	return fault.New(fault.Unavailable, "this server does not lead").Coded(fault.CodeNoLeader).Why("%v", cause).Wrap(cause)
}

// NotApplied is the error of a write that is not and will not be applied.
func NotApplied(because string, args ...any) error {
	return fault.New(fault.Unavailable, "the change was not made").Why(because, args...).Wrap(ErrNotApplied)
}

// Unknown is the error of a write whose outcome is not known.
func Unknown(because string, args ...any) error {
	return fault.New(fault.Unavailable, "it is not known whether the change was made").Coded(fault.CodeOutcomeUnknown).Why(because, args...).Wrap(ErrUnknown)
}

func compacted(from, first Revision) error {
	return fault.New(fault.Conflict, "the changes after revision %d are not kept any more", from).
		Why("the oldest one kept is %d: read the state again and go on from its revision", first).Wrap(ErrCompacted)
}

// Closed is the error of a store, or a log, that was closed.
func Closed() error {
	return fault.New(fault.Unavailable, "the store is closed").Wrap(ErrClosed)
}
