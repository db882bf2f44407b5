// Package fault is the vocabulary of refusals: every error that a person or a
// program outside may see is a *fault.Error.
//
// It says what failed, why, and which commands to run next; it never carries a
// Go error chain into what people read.
//
// Invariant: a Kind maps to exactly one exit code of the command line and one
// code on the wire (see Kind).
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says who can do something about an error.
type Kind uint8

// The kinds, with the exit code of the command line that each one means.
const (
	_                 Kind = iota
	Internal               // 1: a bug or an unexpected failure of ours
	Invalid                // 2: the request itself is wrong
	NotFound               // 3: no such entity
	Conflict               // 4: exists already, stale revision, or its life does not allow it
	Denied                 // 5: no identity, or not allowed
	Unavailable            // 6: no server, no leader, not now
	Timeout                // 7: still going on
	EntityFailed           // 8: the entity reached an error state
	NotPlaceable           // 9: no cell can take the work
	Partial                // 10: done in part
	ResourceExhausted      // 1: a limit of size, count or rate
	numKinds
)

var kinds = [numKinds]struct {
	name string
	exit int
}{
	Internal:          {"internal", 1},
	Invalid:           {"invalid", 2},
	NotFound:          {"not_found", 3},
	Conflict:          {"conflict", 4},
	Denied:            {"denied", 5},
	Unavailable:       {"unavailable", 6},
	Timeout:           {"timeout", 7},
	EntityFailed:      {"entity_failed", 8},
	NotPlaceable:      {"not_placeable", 9},
	Partial:           {"partial", 10},
	ResourceExhausted: {"resource_exhausted", 1},
}

// String is the kind's name as it stands in JSON errors.
func (k Kind) String() string {
	if k == 0 || k >= numKinds {
		return "unknown"
	}
	return kinds[k].name
}

// ExitCode is the exit code of the command line for errors of this kind.
func (k Kind) ExitCode() int {
	if k == 0 || k >= numKinds {
		return 1
	}
	return kinds[k].exit
}

// ParseKind is the inverse of String; unknown names are Internal.
func ParseKind(name string) Kind {
	for k := Internal; k < numKinds; k++ {
		if kinds[k].name == name {
			return k
		}
	}
	return Internal
}

// Error is an error that people see. What says what failed, Because why, Next
// the one to three commands to run. Code is stable ("DRV-E0142") and empty for
// errors that have no page of their own. Values are immutable once returned.
type Error struct {
	Kind    Kind
	Code    string
	What    string
	Because string
	Next    []string
	Cause   error // for errors.Is and --debug only; never shown otherwise
}

// Error is the one-line form: what, then why.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.What)
	if e.Because != "" {
		b.WriteString(": ")
		b.WriteString(e.Because)
	}
	return b.String()
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// New makes an error of a kind with what failed, in the manner of Sprintf.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, What: fmt.Sprintf(format, args...)}
}

// Why returns a copy with the reason set, in the manner of Sprintf.
func (e *Error) Why(format string, args ...any) *Error {
	c := *e
	c.Because = fmt.Sprintf(format, args...)
	return &c
}

// Try returns a copy with the next commands set.
func (e *Error) Try(next ...string) *Error {
	c := *e
	c.Next = next
	return &c
}

// Coded returns a copy with the stable code set.
func (e *Error) Coded(code string) *Error {
	c := *e
	c.Code = code
	return &c
}

// Wrap returns a copy that carries a cause.
func (e *Error) Wrap(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// KindOf is the kind of an error: that of the first *Error in its chain, or
// Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// Is reports whether err is of the given kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }
