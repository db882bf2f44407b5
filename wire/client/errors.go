package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"connectrpc.com/connect"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/convert"
)

// dialError says which server could not be reached.
type dialError struct {
	server string
	err    error
}

func (e *dialError) Error() string { return fmt.Sprintf("dial %s: %v", e.server, e.err) }
func (e *dialError) Unwrap() error { return e.err }

// explain turns the error of a call into one that people understand.
func (c *Client) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := convert.FromConnect(err); ok {
		return f
	}
	var de *dialError
	if errors.As(err, &de) {
		return c.unreachable(ctx, de)
	}
	if cause := context.Cause(ctx); cause != nil {
		return fault.New(fault.Timeout, "no answer from the server").Coded(fault.CodeNoAnswer).Why("%s", why(cause)).Wrap(err)
	}
	code := connect.CodeOf(err)
	if code == connect.CodeResourceExhausted {
		return fault.New(fault.ResourceExhausted, "a message is too large").Wrap(err)
	}
	if code == connect.CodeCanceled { // not by us: the server ends
		code = connect.CodeUnavailable
	}
	if code == connect.CodeUnavailable || code == connect.CodeUnknown || code == connect.CodeInternal {
		return fault.New(fault.Unavailable, "the connection to the server was lost").Coded(fault.CodeConnectionLost).
			Try("drover status").Wrap(err)
	}
	return fault.New(convert.KindOfCode(code), "the server refused the call").Why("%s", code).Wrap(err)
}

func why(cause error) string {
	if errors.Is(cause, context.DeadlineExceeded) {
		return "the time for it is up"
	}
	return "the call was cancelled"
}

func (c *Client) unreachable(ctx context.Context, de *dialError) *fault.Error {
	now := c.cfg.Now()
	base := fault.New(fault.Unavailable, "cannot reach the server at %s", de.server).Coded(fault.CodeUnreachable).Wrap(de)
	var alert tls.AlertError
	switch {
	case errors.Is(de.err, pki.ErrWrongCA):
		return fault.New(fault.Denied, "the server at %s is not of this cluster", de.server).Coded(fault.CodeWrongCluster).
			Why("its certificate was signed by another authority").
			Try("drover join-token", "drover join TOKEN").Wrap(de)
	case errors.Is(de.err, pki.ErrNotYet):
		return fault.New(fault.Denied, "the clocks of this machine and of the server at %s differ", de.server).Coded(fault.CodeClocksDiffer).
			Why("%s, and here it is %s", strings.TrimPrefix(de.err.Error(), "tls: "), now.UTC().Format("2006-01-02T15:04:05Z")).
			Try("date", "timedatectl set-ntp true").Wrap(de)
	case errors.Is(de.err, pki.ErrExpired):
		return fault.New(fault.Denied, "the certificate of the server at %s has expired", de.server).Coded(fault.CodeExpired).
			Why("or this machine's clock, which says %s, is ahead", now.UTC().Format("2006-01-02T15:04:05Z")).
			Try("date", "drover server").Wrap(de)
	case errors.Is(de.err, pki.ErrWrongIdentity):
		return fault.New(fault.Denied, "%s is not a server of this cluster", de.server).Coded(fault.CodeWrongCluster).
			Why("%s", de.err).Wrap(de)
	case errors.As(de.err, &alert):
		return fault.New(fault.Denied, "the server at %s refused the connection", de.server).Coded(fault.CodeNotAllowed).
			Why("%s", alert).Wrap(de)
	case errors.Is(de.err, syscall.ECONNREFUSED):
		return base.Why("nothing listens there").Try("drover up", "drover server")
	case errors.Is(context.Cause(ctx), context.Canceled):
		return fault.New(fault.Timeout, "the call was cancelled").Wrap(de)
	case errors.Is(de.err, context.DeadlineExceeded), errors.Is(de.err, syscall.ETIMEDOUT):
		return base.Why("it does not answer").Try("drover up", "ping "+hostOf(de.server))
	}
	var dns *net.DNSError
	if errors.As(de.err, &dns) {
		return base.Why("the name %q is not known", dns.Name)
	}
	return base.Why("the connection failed").Try("drover up")
}

func hostOf(server string) string {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return server
	}
	return host
}
