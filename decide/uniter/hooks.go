package uniter

import (
	"fmt"

	"drover/noun/charm"
	"drover/noun/entity"
)

// failedHook: a failed hook holds everything up until it has run well, by
// itself after a while or because an operator says so, or is marked as done.
// Spec: 003 "Errors in hooks"; 004 "Introduction"; SEMANTICS 23, 24.
func failedHook(l *Local, r *Remote) Step {
	if l.Op == nil {
		return idle
	}
	h := l.Op.Hook
	if l.Failure == nil {
		if l.Op.Step == Queued {
			return run(h, "it is to run again")
		}
		return wait("it runs now")
	}
	if l.Failure.Asked() {
		return run(h, "the operator asked for another try")
	}
	// A resolve is for the failure that the operator saw: one that the server has
	// not heard of yet was never asked about.
	if r.Resolve != entity.ResolveNone && r.Failure == l.Failure.Since {
		s := act(AcceptResolve, "the operator resolved "+h.Name())
		s.Op.Resolve = r.Resolve
		return s
	}
	retry := l.Failure.NextRetry
	if retry.IsZero() {
		return wait(fmt.Sprintf("hook failed: %s; it waits for resolve", h.Name()))
	}
	if !r.Now.Before(retry) {
		return run(h, fmt.Sprintf("try %d of a failed hook", l.Failure.Tries+1))
	}
	return Step{Kind: Wait, Until: retry, Why: "hook failed: " + h.Name()}
}

// staleResolve: a resolve that came when the hook had recovered by itself must
// not wait for the next failure.
func staleResolve(l *Local, r *Remote) Step {
	if l.Failure == nil && r.Resolve != entity.ResolveNone && r.Failure.IsZero() {
		return act(ClearResolve, "no hook has failed")
	}
	return idle
}

// install puts the charm on the disk and runs install, once, before any other
// hook.
func install(l *Local, _ *Remote) Step {
	switch {
	case l.Charm == "":
		return act(InstallCharm, "the charm is not on the disk")
	case !l.Installed:
		return unitHook(charm.Install, "install runs before any other hook")
	}
	return idle
}

// firstHooks follow install: start, then config-changed; the other way round for
// today's charms (SEMANTICS 33).
func firstHooks(l *Local, _ *Remote) Step {
	first, second := charm.Start, charm.ConfigChanged
	if l.Order == charm.TodayOrder {
		first, second = second, first
	}
	for _, k := range []charm.HookKind{first, second} {
		if k == charm.Start && !l.Started {
			return unitHook(k, "the unit is not running")
		}
		if k == charm.ConfigChanged && !l.Configured {
			return unitHook(k, "the unit was never configured")
		}
	}
	return idle
}

// reboot: start runs once per boot (SEMANTICS 55).
func reboot(l *Local, r *Remote) Step {
	if r.BootID != "" && l.BootID != r.BootID {
		return unitHook(charm.Start, "the machine has rebooted")
	}
	return idle
}

// recovered: one config-changed after each recovery from a hook error
// (SEMANTICS 56).
func recovered(l *Local, _ *Remote) Step {
	if l.OweConfig {
		return unitHook(charm.ConfigChanged, "the unit recovered from a hook error")
	}
	return idle
}

// config: config-changed runs whenever the configuration changes.
func config(l *Local, r *Remote) Step {
	if l.ConfigHash != r.ConfigHash {
		return unitHook(charm.ConfigChanged, "the configuration changed")
	}
	return idle
}

// tearDown is the end of a Dying unit (SEMANTICS 50): it leaves its scopes, runs
// stop and remove, waits for its subordinates, and is Dead. A Dying unit is
// never driven to running.
func tearDown(l *Local, r *Remote) Step {
	if r.Life != entity.Dying {
		return idle
	}
	for _, v := range views(l, r) {
		if s := v.leave(l.Configured && l.Started, "the unit is dying"); s.Kind != Idle {
			return s
		}
	}
	switch {
	case l.Started && !l.Stopped:
		return unitHook(charm.Stop, "all relations are left")
	case l.Installed && !l.Removed:
		return unitHook(charm.Remove, "the unit goes")
	case len(r.Subordinates) > 0:
		return wait(fmt.Sprintf("subordinate %s still exists", r.Subordinates[0].Unit))
	}
	return act(SetDead, "nothing is left to do for the unit")
}
