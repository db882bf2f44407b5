package unitagent

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"drover/decide/lifecycle"
	"drover/decide/uniter"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// notYetWait is the wait before a scope is entered again that could not be
// entered yet (SEMANTICS 47).
const notYetWait = 2 * time.Second

// perform does one operation and journals what it changed. The call comes first:
// every call may be repeated, and one that is in the journal is not.
func (a *Agent) perform(ctx context.Context, w *World, remote *uniter.Remote, op uniter.Op) error {
	l, s := &a.state.Uniter, a.cfg.Server
	switch op.Kind {
	case uniter.RunHook:
		return a.runHook(ctx, w, remote, op.Hook)
	case uniter.NewIncarnation:
		n, err := s.NewIncarnation(ctx, a.request())
		if err != nil {
			return err
		}
		l.Incarnation, a.state.Number, a.state.Unsent = n, 0, nil
	case uniter.DestroySubordinate:
		return s.DestroyUnit(ctx, a.subordinate(w, op.Unit))
	case uniter.DeploySubordinate:
		return s.SetUnitDeployed(ctx, a.subordinate(w, op.Unit))
	case uniter.RemoveSubordinate:
		return s.RemoveUnit(ctx, a.subordinate(w, op.Unit))
	case uniter.RecallSubordinate:
		if err := a.cfg.Host.Recall(ctx, op.Unit); err != nil {
			return err
		}
		return s.RemoveUnit(ctx, a.subordinate(w, op.Unit))
	case uniter.DestroySelf:
		return s.DestroyUnit(ctx, a.request())
	case uniter.SetDead:
		return s.SetUnitDead(ctx, a.request())
	case uniter.ClearResolve:
		return s.ClearResolved(ctx, a.request())
	case uniter.AcceptResolve:
		// The server forgets it first: a crash in between loses the request, which is
		// then made again; the other way round a later failure would be resolved.
		if err := s.ClearResolved(ctx, a.request()); err != nil {
			return err
		}
		uniter.Accept(l, op.Resolve)
	case uniter.InstallCharm:
		return a.installCharm(ctx, w)
	case uniter.EnterScope:
		return a.enterScope(ctx, w, remote, op.Relation)
	case uniter.LeaveScope:
		if err := s.LeaveScope(ctx, a.scope(op.Relation)); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		uniter.Left(l, op.Relation)
	case uniter.ForgetRelation:
		uniter.Forgotten(l, op.Relation)
	default:
		return fault.New(fault.Internal, "unit %s: operation %q cannot be done", a.cfg.Unit, op)
	}
	return a.save()
}

func (a *Agent) subordinate(w *World, unit entity.UnitName) *droverv1.UnitRequest {
	req := &droverv1.UnitRequest{Unit: string(unit)}
	if u := w.Subordinates[string(unit)]; u != nil {
		req.Uid = u.Uid
	}
	return req
}

func (a *Agent) scope(id entity.RelationID) *droverv1.ScopeRequest {
	return &droverv1.ScopeRequest{Unit: string(a.cfg.Unit), Uid: string(a.cfg.UID), RelationId: uint64(id)}
}

// enterScope goes into a relation's scope with the settings that every unit
// publishes first (SEMANTICS 60).
func (a *Agent) enterScope(ctx context.Context, w *World, remote *uniter.Remote, id entity.RelationID) error {
	req := a.scope(id)
	address := w.Unit.Address
	req.Settings = map[string]string{"private-address": address, "ingress-address": address}
	if ip, err := netip.ParseAddr(address); err == nil {
		req.Settings["egress-subnets"] = netip.PrefixFrom(ip, ip.BitLen()).String()
	}
	err := a.cfg.Server.EnterScope(ctx, req)
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		// Not yet, or not any more: the feed will tell. Other relations go on.
		a.notYet[id] = a.now().Add(notYetWait)
		level := a.cfg.Log.Debug
		if !isNotYet(err) {
			level = a.cfg.Log.Info
		}
		level("scope not entered", "unit", a.cfg.Unit, "relation", id, "err", err)
		return nil
	} else if err != nil {
		return err
	}
	delete(a.notYet, id)
	uniter.Entered(&a.state.Uniter, remote.Relation(id))
	return a.save()
}

func isNotYet(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Code == lifecycle.CodeNotYet
}
