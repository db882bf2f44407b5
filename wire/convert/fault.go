package convert

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"drover/noun/fault"
	"drover/wire/droverv1"
)

// LeaderHeader names the leader (host:port) in the answer of a server that is
// not it.
const LeaderHeader = "Drover-Leader"

// NoLeader is the value of LeaderHeader while no leader is known.
const NoLeader = "unknown"

// ServersHeader lists all servers (host:port, separated by spaces, the leader
// first) in answers to callers with an identity.
const ServersHeader = "Drover-Servers"

// codes are the codes on the wire of the kinds.
var codes = map[fault.Kind]connect.Code{
	fault.Internal:          connect.CodeInternal,
	fault.Invalid:           connect.CodeInvalidArgument,
	fault.NotFound:          connect.CodeNotFound,
	fault.Conflict:          connect.CodeFailedPrecondition,
	fault.Denied:            connect.CodePermissionDenied,
	fault.Unavailable:       connect.CodeUnavailable,
	fault.Timeout:           connect.CodeDeadlineExceeded,
	fault.EntityFailed:      connect.CodeAborted,
	fault.NotPlaceable:      connect.CodeFailedPrecondition,
	fault.Partial:           connect.CodeAborted,
	fault.ResourceExhausted: connect.CodeResourceExhausted,
}

// kinds are the kinds of codes that come without a Fault: from a proxy, from the
// library itself.
var kinds = map[connect.Code]fault.Kind{
	connect.CodeCanceled:           fault.Timeout,
	connect.CodeInvalidArgument:    fault.Invalid,
	connect.CodeDeadlineExceeded:   fault.Timeout,
	connect.CodeNotFound:           fault.NotFound,
	connect.CodeAlreadyExists:      fault.Conflict,
	connect.CodePermissionDenied:   fault.Denied,
	connect.CodeResourceExhausted:  fault.ResourceExhausted,
	connect.CodeFailedPrecondition: fault.Conflict,
	connect.CodeAborted:            fault.Conflict,
	connect.CodeUnavailable:        fault.Unavailable,
	connect.CodeUnauthenticated:    fault.Denied,
}

// Fault is the detail that carries an error.
func Fault(e *fault.Error) *droverv1.Fault {
	return &droverv1.Fault{Kind: e.Kind.String(), Code: e.Code, What: e.What, Because: e.Because, Next: e.Next}
}

// ConnectError is the error as the wire carries it. Errors that are no
// *fault.Error become one of kind internal without a word of their own: the
// caller logs them.
func ConnectError(err error) *connect.Error {
	f := AsFault(err)
	ce := connect.NewError(codes[f.Kind], errors.New(f.Error()))
	if d, derr := connect.NewErrorDetail(Fault(f)); derr == nil {
		ce.AddDetail(d)
	}
	return ce
}

// AsFault is the *fault.Error in the chain; for ends of contexts and for other
// errors one that says no more than is good for outside.
func AsFault(err error) *fault.Error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Timeout, "the request took too long").Wrap(err)
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Timeout, "the request was cancelled").Wrap(err)
	default:
		return fault.New(fault.Internal, "the server failed unexpectedly").Why("its log says more").Wrap(err)
	}
}

// maxText bounds each text taken from a peer's error.
const maxText = 8 << 10

// FromConnect is the error that a server answered. ok is false for an error
// that carries no Fault.
func FromConnect(err error) (f *fault.Error, ok bool) {
	var ce *connect.Error
	if !errors.As(err, &ce) {
		return nil, false
	}
	for _, d := range ce.Details() {
		msg, derr := d.Value()
		if derr != nil {
			continue
		}
		if m, is := msg.(*droverv1.Fault); is {
			next := m.Next[:min(len(m.Next), 8)]
			return &fault.Error{
				Kind: fault.ParseKind(m.Kind), Code: clip(m.Code), What: clip(m.What), Because: clip(m.Because),
				Next: next, Cause: err,
			}, true
		}
	}
	return nil, false
}

// KindOfCode is the kind of an error on the wire that carries no Fault.
func KindOfCode(code connect.Code) fault.Kind {
	if k, ok := kinds[code]; ok {
		return k
	}
	return fault.Internal
}

func clip(s string) string {
	if len(s) > maxText {
		return s[:maxText]
	}
	return s
}
