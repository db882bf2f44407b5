package api

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"connectrpc.com/connect"

	"drover/internal/pki"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/convert"
)

type leafKey struct{}

// maxUnary bounds the body of a request that is one message. Of streams each
// message is bounded.
const maxUnary = maxMessage + 1<<10

// door is what a request meets before its service: bounds, the leader, the
// peer's certificate.
func (s *Server) door(next http.Handler) http.Handler {
	errs := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				s.cfg.Log.Error("a request panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			}
			panic(http.ErrAbortHandler) //nolint:forbidigo // how a handler tells the server to drop the connection
		}()
		if r.ContentLength > maxUnary {
			_ = errs.Write(w, r, convert.ConnectError(fault.New(fault.ResourceExhausted, "the request is too large").
				Why("it has %d bytes, at most %d are read", r.ContentLength, maxUnary))) // the asker is gone otherwise
			return
		}
		if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/connect+") && !strings.HasPrefix(kind, "application/grpc") {
			r.Body = http.MaxBytesReader(w, r.Body, maxUnary)
		}
		l := s.cfg.Store.Leadership()
		if g, known := grants[r.URL.Path]; known && !g.any && !l.Leading {
			w.Header().Set(convert.LeaderHeader, cmp.Or(l.Address, convert.NoLeader))
			_ = errs.Write(w, r, convert.ConnectError(store.NotLeader(l.Leader, l.Address))) // as above
			return
		}
		ctx := r.Context()
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			ctx = context.WithValue(ctx, leafKey{}, r.TLS.PeerCertificates[0])
		}
		ctx = context.WithValue(ctx, writerKey{}, http.NewResponseController(w))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

type writerKey struct{}

// gate authenticates the caller and looks the method up in the table, before any
// message is read.
func (s *Server) gate(ctx context.Context, spec connect.Spec, _ connect.Peer, _ http.Header) (context.Context, error) {
	g, ok := grants[spec.Procedure]
	if ok && g.open {
		return ctx, nil
	}
	leaf, _ := ctx.Value(leafKey{}).(*x509.Certificate)
	id, role, err := s.authenticate(leaf)
	if err != nil {
		s.cfg.Log.Debug("a caller was refused", "method", spec.Procedure, "err", err)
		return nil, s.outward(ctx, spec.Procedure, err)
	}
	if !ok || !g.may(id, role) {
		s.cfg.Log.Warn("a call was refused", "method", spec.Procedure, "caller", id.String(), "role", role)
		return nil, convert.ConnectError(mayNot(id, role, g, spec.Procedure))
	}
	return WithCaller(ctx, id), nil
}

func mayNot(id pki.Identity, role string, g grant, procedure string) error {
	f := fault.New(fault.Denied, "%s may not call %s", id, procedure).Coded(fault.CodeNotAllowed)
	if id.Role == pki.RoleUser && g.need != "" {
		return f.Why("that takes the role %s, and this is a %s", g.need, role)
	}
	return f
}

// interceptor recovers from panics, checks own entities, and turns errors into
// those of the wire.
type interceptor struct{ s *Server }

func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (resp connect.AnyResponse, err error) {
		defer i.s.recovered(req.Spec().Procedure, &err)
		if err := i.s.checkOwn(ctx, req.Spec().Procedure, req.Any()); err != nil {
			return nil, i.s.outward(ctx, req.Spec().Procedure, err)
		}
		resp, err = next(ctx, req)
		if err != nil {
			return nil, i.s.outward(ctx, req.Spec().Procedure, err)
		}
		i.s.tellServers(resp.Header())
		return resp, nil
	}
}

func (i *interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (i *interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) (err error) {
		defer i.s.recovered(conn.Spec().Procedure, &err)
		i.s.tellServers(conn.ResponseHeader())
		if err := next(ctx, &checkedConn{StreamingHandlerConn: conn, ctx: ctx, s: i.s, checked: i.s.cfg.Now()}); err != nil {
			return i.s.outward(ctx, conn.Spec().Procedure, err)
		}
		return nil
	}
}

// tellServers adds to an answer where the servers are, so that clients know the
// others when this one is gone.
func (s *Server) tellServers(h http.Header) {
	h.Set(convert.ServersHeader, strings.Join(s.cfg.Servers(), " "))
}

// checkedConn checks each message of a stream as it is read, and now and then
// that the caller is still part of the cluster: streams last.
type checkedConn struct {
	connect.StreamingHandlerConn
	ctx     context.Context
	s       *Server
	checked time.Time // used by the goroutine that sends
}

// recheck is how long a stream may send to a caller who was removed. Feeds and
// watches send something at least as often.
const recheck = 5 * time.Second

func (c *checkedConn) Send(msg any) error {
	if now := c.s.cfg.Now(); now.Sub(c.checked) >= recheck {
		if err := c.stillThere(); err != nil {
			return err
		}
		c.checked = now
	}
	return c.StreamingHandlerConn.Send(msg)
}

func (c *checkedConn) stillThere() error {
	leaf, ok := c.ctx.Value(leafKey{}).(*x509.Certificate)
	if !ok || grants[c.Spec().Procedure].open {
		return nil
	}
	id := callerOf(c.ctx)
	role, err := c.s.standing(c.s.cfg.Store.View(), id, leaf)
	if err == nil && !grants[c.Spec().Procedure].may(id, role) {
		err = mayNot(id, role, grants[c.Spec().Procedure], c.Spec().Procedure)
	}
	return err
}

func (c *checkedConn) Receive(msg any) error {
	if err := c.StreamingHandlerConn.Receive(msg); err != nil {
		return err
	}
	return c.s.checkOwn(c.ctx, c.Spec().Procedure, msg)
}

func (s *Server) recovered(procedure string, err *error) {
	if p := recover(); p != nil {
		s.cfg.Log.Error("a call panicked", "method", procedure, "panic", p, "stack", string(debug.Stack()))
		*err = convert.ConnectError(fmt.Errorf("panic: %v", p))
	}
}

// outward is the error as the caller may see it. Unexpected ones are logged here
// and nowhere else.
func (s *Server) outward(ctx context.Context, procedure string, err error) error {
	var ce *connect.Error
	if errors.As(err, &ce) {
		return ce
	}
	var f *fault.Error
	if !errors.As(err, &f) && ctx.Err() == nil {
		s.cfg.Log.Error("a call failed unexpectedly", "method", procedure, "caller", callerOf(ctx).String(), "err", err)
	}
	ce = convert.ConnectError(err)
	var other *store.NotLeaderError
	if errors.As(err, &other) {
		ce.Meta().Set(convert.LeaderHeader, cmp.Or(other.Address, convert.NoLeader))
	}
	return ce
}

// checkOwn refuses requests of machines that name what is not theirs.
func (s *Server) checkOwn(ctx context.Context, procedure string, msg any) error {
	switch grants[procedure].own {
	case ownUnit:
		named, ok := msg.(interface{ GetUnit() string })
		if !ok {
			return fmt.Errorf("%s names no unit", procedure)
		}
		return s.checkOwnUnit(callerOf(ctx), entity.UnitName(named.GetUnit()))
	case ownCharm:
		named, ok := msg.(interface{ GetSha() string })
		if !ok {
			return fmt.Errorf("%s names no charm", procedure)
		}
		return s.checkOwnCharm(callerOf(ctx), entity.CharmSHA(named.GetSha()))
	case anything, itself:
	}
	return nil
}

// checkOwnUnit: the unit, or its principal, is assigned to the caller's machine.
// A unit that is gone is not found, whoever asks.
func (s *Server) checkOwnUnit(id pki.Identity, name entity.UnitName) error {
	view := s.cfg.Store.View()
	u, ok := s.cfg.Registry.Unit(view, entity.ModelUID(id.Model), name)
	if !ok {
		return fault.New(fault.NotFound, "there is no unit %s", name).Coded(fault.CodeNoSuchUnit)
	}
	m, ok := s.cfg.Registry.MachineOf(view, u.Model, u)
	if !ok || string(m.UID) != id.MachineUID {
		return fault.New(fault.Denied, "unit %s is not on %s", name, id)
	}
	return nil
}

func (s *Server) checkOwnCharm(id pki.Identity, sha entity.CharmSHA) error {
	view := s.cfg.Store.View()
	model := entity.ModelUID(id.Model)
	for _, u := range s.cfg.Registry.AllUnitsOn(view, model, entity.MachineID(id.Machine)) {
		if app, ok := s.cfg.Registry.Application(view, model, u.App); ok && app.Charm == sha {
			return nil
		}
	}
	return fault.New(fault.Denied, "no unit on %s uses charm %.12s", id, sha)
}
