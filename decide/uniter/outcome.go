package uniter

import (
	"slices"
	"time"

	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"
)

// The waits before a failed hook is tried again (SEMANTICS 24).
const (
	firstRetry   = 5 * time.Second
	longestRetry = 5 * time.Minute
)

// retryAfter is the wait after the n-th failure in a row, n from 1.
func retryAfter(n int) time.Duration {
	d := firstRetry
	for i := 1; i < n && d < longestRetry; i++ {
		d *= 2
	}
	return min(d, longestRetry)
}

// Begin journals a hook as pending, with what the world is now.
func Begin(l *Local, r *Remote, h charm.Hook) {
	op := &Operation{Hook: h, Step: Pending, ConfigHash: r.ConfigHash, BootID: r.BootID}
	if h.Kind.IsRelation() {
		there := r.Relation(h.Relation)
		op.AppVersion = there.appVersion()
		if m := there.member(h.Remote); m != nil {
			op.Incarnation, op.Version = m.Incarnation, m.Version
		} else if rel := l.Relation(h.Relation); rel != nil {
			if m := rel.member(h.Remote); m != nil {
				op.Incarnation, op.Version = m.Incarnation, m.Version
			}
		}
	}
	l.Op = op
}

// Succeed records that the pending hook ended well; Skip that an operator marked
// the failed one as done. Spec: 004 "Introduction"; SEMANTICS 63.
func Succeed(l *Local) { finish(l) }

// Skip: see Succeed.
func Skip(l *Local) { finish(l) }

func finish(l *Local) {
	op := l.Op
	if l.Failure != nil && l.Configured && op.Hook.Kind != charm.ConfigChanged {
		l.OweConfig = true
	}
	l.Op, l.Failure = nil, nil
	switch op.Hook.Kind {
	case charm.Install:
		l.Installed, l.Workflow = true, entity.WorkflowReady
	case charm.Start:
		l.Started, l.BootID, l.Workflow = true, op.BootID, entity.WorkflowRunning
	case charm.ConfigChanged:
		l.Configured, l.ConfigHash, l.OweConfig = true, op.ConfigHash, false
	case charm.Stop:
		l.Stopped, l.Workflow = true, entity.WorkflowReady
	case charm.Remove:
		l.Removed = true
	}
	if op.Hook.Kind.IsRelation() {
		finishRelation(l, op)
	}
}

func finishRelation(l *Local, op *Operation) {
	h := op.Hook
	rel := l.addRelation(Relation{ID: h.Relation, Endpoint: h.Endpoint, RemoteApp: h.RemoteApp})
	switch h.Kind {
	case charm.RelationJoined:
		if rel.member(h.Remote) == nil {
			rel.Members = append(rel.Members, Member{Unit: h.Remote, Incarnation: op.Incarnation, Version: op.Version})
			slices.SortFunc(rel.Members, func(a, b Member) int { return CompareUnits(a.Unit, b.Unit) })
		}
		rel.Changed = h.Remote
	case charm.RelationChanged:
		if h.Remote == "" {
			rel.AppVersion = op.AppVersion
			break
		}
		if m := rel.member(h.Remote); m != nil && m.Incarnation == op.Incarnation {
			m.Version = op.Version
		}
		if rel.Changed == h.Remote {
			rel.Changed = ""
		}
	case charm.RelationDeparted:
		rel.Members = slices.DeleteFunc(rel.Members, func(m Member) bool { return m.Unit == h.Remote })
	case charm.RelationBroken:
		rel.Members, rel.Changed, rel.Broken = nil, "", true
	}
}

// Outcome of a failed hook: how it ended, for Fail.
type Outcome struct {
	Exit       int // -1: killed, or never started
	Reason     string
	LastOutput string
}

// Fail records that the pending hook failed. It is tried again after a while;
// after maxRetries tries more it waits for resolve, in the workflow's failure
// state if it has one.
func Fail(l *Local, out Outcome, now when.Instant, maxRetries int) {
	f := &Failure{Since: now}
	if l.Failure != nil && !l.Failure.Asked() {
		*f = *l.Failure
	}
	f.Exit, f.Reason, f.LastOutput = out.Exit, out.Reason, out.LastOutput
	f.Tries++
	f.NextRetry = 0
	if f.Tries <= maxRetries {
		f.NextRetry = now.Add(retryAfter(f.Tries))
	} else {
		l.Workflow = failureState(l.Workflow, l.Op.Hook.Kind)
	}
	l.Failure = f
	l.Op.Step = Queued
}

// failureState is the workflow's failure state of a state and an attempted
// transition. Spec: 004: its six transitions, and no other.
func failureState(w entity.Workflow, attempted charm.HookKind) entity.Workflow {
	for _, t := range []struct {
		from entity.Workflow
		hook charm.HookKind
		to   entity.Workflow
	}{
		{entity.WorkflowNew, charm.Install, entity.WorkflowInstallError},
		{entity.WorkflowReady, charm.Start, entity.WorkflowStartError},
		{entity.WorkflowRunning, charm.Stop, entity.WorkflowStopError},
	} {
		if w == t.from && attempted == t.hook {
			return t.to
		}
	}
	return w
}

// Accept records an operator's resolve: the failed hook is queued again, or
// marked as done. The retries count from none again.
func Accept(l *Local, mode entity.Resolve) {
	if l.Op == nil || l.Failure == nil {
		return
	}
	if mode == entity.ResolveSkip {
		Skip(l)
		return
	}
	// Without a Since the failure is no longer the one that was resolved: a resolve
	// that the feed still shows cannot be taken for a new one.
	l.Failure = &Failure{Exit: l.Failure.Exit, Reason: l.Failure.Reason}
	l.Op.Step = Queued
}

// Entered records that the unit is in the scope of a relation.
func Entered(l *Local, r *RemoteRelation) {
	l.addRelation(Relation{ID: r.ID, Endpoint: r.Endpoint, RemoteApp: r.RemoteApp, Peer: r.Peer, Implicit: r.Implicit})
}

// Left records that the unit has left the scope of a relation.
func Left(l *Local, id entity.RelationID) {
	if rel := l.Relation(id); rel != nil {
		rel.Members, rel.Changed, rel.Left = nil, "", true
	} else {
		l.addRelation(Relation{ID: id, Left: true})
	}
}

// Forgotten records that a relation is over whose scope the unit is not in.
func Forgotten(l *Local, id entity.RelationID) {
	l.Relations = slices.DeleteFunc(l.Relations, func(r Relation) bool { return r.ID == id })
}
