package uniter_test

import (
	"testing"
	"time"

	"drover/decide/uniter"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"
)

const now = when.Instant(1_000_000_000_000)

// running is a unit that has done its first hooks and is in no relation.
func running() uniter.Local {
	return uniter.Local{
		Incarnation: 1, Charm: "sha", Order: charm.SeedOrder, Workflow: entity.WorkflowRunning,
		Installed: true, Started: true, Configured: true, ConfigHash: "c1", BootID: "boot",
	}
}

// alive is what the cluster holds of it.
func alive() uniter.Remote {
	return uniter.Remote{
		Synced: true, Connected: true, Present: true, Now: now, BootID: "boot",
		Life: entity.Alive, AppLife: entity.Alive, Charm: "sha", ConfigHash: "c1", Incarnation: 1, MaxRetries: 5,
	}
}

func related(rel uniter.RemoteRelation) uniter.Remote {
	r := alive()
	rel.ID, rel.Endpoint, rel.RemoteApp = 7, "db", "mysql"
	if rel.Life == 0 {
		rel.Life = entity.Alive
	}
	r.Relations = []uniter.RemoteRelation{rel}
	return r
}

func in(rel uniter.Relation) uniter.Local {
	l := running()
	rel.ID, rel.Endpoint, rel.RemoteApp = 7, "db", "mysql"
	l.Relations = []uniter.Relation{rel}
	return l
}

func member(n string, version int64) uniter.Member {
	return uniter.Member{Unit: entity.UnitName(n), Incarnation: 1, Version: version}
}

func seen(n string, version int64) uniter.RemoteMember {
	return uniter.RemoteMember{Unit: entity.UnitName(n), Incarnation: 1, Version: version}
}

func with(l uniter.Local, f func(*uniter.Local)) uniter.Local {
	f(&l)
	return l
}

func but(r uniter.Remote, f func(*uniter.Remote)) uniter.Remote {
	f(&r)
	return r
}

func failedAt(kind charm.HookKind, f uniter.Failure) uniter.Local {
	l := running()
	l.Op, l.Failure = &uniter.Operation{Hook: charm.Hook{Kind: kind}, Step: uniter.Queued}, &f
	return l
}

type row struct {
	name   string
	local  uniter.Local
	remote uniter.Remote
	want   string
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if err := r.local.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := uniter.Next(&r.local, &r.remote).String(); got != r.want {
				t.Errorf("got  %s\nwant %s", got, r.want)
			}
		})
	}
}

// Rule: E-058 E-059 E-112 E-113 E-088 E-142 E-143 E-061
func TestLives(t *testing.T) {
	sub := func(life entity.Life, deployed bool) uniter.Remote {
		return but(alive(), func(r *uniter.Remote) {
			r.Subordinates = []uniter.Subordinate{{Unit: "log/0", Life: life, Deployed: deployed}}
		})
	}
	subordinate := func(f func(*uniter.Remote)) uniter.Remote {
		return but(alive(), func(r *uniter.Remote) {
			r.Principal, r.PrincipalLife, r.SubordinateWanted = "blog/0", entity.Alive, true
			f(r)
		})
	}
	check(t, []row{
		{"nothing heard", running(), uniter.Remote{}, "wait (gone: nothing was heard from the server yet)"},
		{"the unit is gone", running(), but(alive(), func(r *uniter.Remote) { r.Present = false }), "done (the unit does not exist any more)"},
		{"the unit is dead", running(), but(alive(), func(r *uniter.Remote) { r.Life = entity.Dead }), "done (the unit is dead)"},
		{"a new disk", uniter.New(), alive(), "new incarnation (incarnation: this disk has never been the unit's)"},
		{"an old disk", running(), but(alive(), func(r *uniter.Remote) { r.Incarnation = 2 }),
			"wait (incarnation: another agent of this unit has replaced this one)"},
		{"nothing to do", running(), alive(), "idle"},
		{"an undeployed alive subordinate is deployed", running(), sub(entity.Alive, false), "deploy subordinate log/0 (subordinates: it is alive and not deployed)"},
		{"an undeployed dying subordinate is removed", running(), sub(entity.Dying, false),
			"remove subordinate log/0 (subordinates: it is not alive and was never deployed)"},
		{"a dying subordinate goes by itself", running(), sub(entity.Dying, true), "idle"},
		{"a dead subordinate is recalled", running(), sub(entity.Dead, true), "recall subordinate log/0 (subordinates: it is dead)"},
		{"no server", running(), but(sub(entity.Dead, true), func(r *uniter.Remote) { r.Connected = false }),
			"wait (subordinates: no server: cannot recall subordinate log/0)"},
		{"its application is dying", running(), but(alive(), func(r *uniter.Remote) { r.AppLife = entity.Dying }),
			"destroy self (destroy self: its application is dying)"},
		{"its principal is dying", running(), subordinate(func(r *uniter.Remote) { r.PrincipalLife = entity.Dying }),
			"destroy self (destroy self: its principal is dying)"},
		{"no relation keeps it", running(), subordinate(func(r *uniter.Remote) { r.SubordinateWanted = false }),
			"destroy self (destroy self: no alive container-scoped relation with its principal is left)"},
		{"a subordinate that is kept", running(), subordinate(func(*uniter.Remote) {}), "idle"},
	})
}

// Rule: H-006 H-012 W-013 W-015 H-010
func TestFailedHook(t *testing.T) {
	failure := uniter.Failure{Exit: 1, Reason: "exit status 1", Tries: 2, Since: now - 50, NextRetry: now + 10}
	resolve := func(mode entity.Resolve, since when.Instant) uniter.Remote {
		return but(alive(), func(r *uniter.Remote) { r.Resolve, r.Failure = mode, since })
	}
	changed := but(alive(), func(r *uniter.Remote) { r.ConfigHash = "c2" })
	check(t, []row{
		{"it holds everything up", failedAt(charm.UpgradeCharm, failure), changed,
			"wait until " + (now + 10).String() + " (failed hook: hook failed: upgrade-charm)"},
		{"its time has come", failedAt(charm.ConfigChanged, failure), but(alive(), func(r *uniter.Remote) { r.Now = now + 10 }),
			"run config-changed (failed hook: try 3 of a failed hook)"},
		{"no more tries", failedAt(charm.ConfigChanged, uniter.Failure{Since: now, Tries: 6}), changed,
			"wait (failed hook: hook failed: config-changed; it waits for resolve)"},
		{"retry", failedAt(charm.ConfigChanged, failure), resolve(entity.ResolveRetry, now-50),
			"accept resolve: retry (failed hook: the operator resolved config-changed)"},
		{"skip", failedAt(charm.ConfigChanged, failure), resolve(entity.ResolveSkip, now-50),
			"accept resolve: skip (failed hook: the operator resolved config-changed)"},
		{"a resolve of an earlier failure is not for this one", failedAt(charm.ConfigChanged, failure), resolve(entity.ResolveSkip, now-99),
			"wait until " + (now + 10).String() + " (failed hook: hook failed: config-changed)"},
		{"asked for", failedAt(charm.ConfigChanged, uniter.Failure{Tries: 0}), resolve(entity.ResolveSkip, now-50),
			"run config-changed (failed hook: the operator asked for another try)"},
		{"a resolve that came too late", running(), resolve(entity.ResolveSkip, 0), "clear resolve (stale resolve: no hook has failed)"},
		{"a dying unit waits too", failedAt(charm.Stop, failure), but(alive(), func(r *uniter.Remote) { r.Life = entity.Dying }),
			"wait until " + (now + 10).String() + " (failed hook: hook failed: stop)"},
	})
}

// Rule: H-041 H-042 H-043 H-044 H-045 H-047 H-048 H-054 W-017 W-018
func TestUnitHooks(t *testing.T) {
	fresh := with(uniter.New(), func(l *uniter.Local) { l.Incarnation = 1 })
	ready := with(running(), func(l *uniter.Local) { l.Started, l.Configured, l.Workflow = false, false, entity.WorkflowReady })
	today := with(ready, func(l *uniter.Local) { l.Order = charm.TodayOrder })
	waiting := related(uniter.RemoteRelation{})
	check(t, []row{
		{"no charm", fresh, waiting, "install charm (install: the charm is not on the disk)"},
		{"install is first", with(fresh, func(l *uniter.Local) { l.Charm = "sha" }), waiting,
			"run install (install: install runs before any other hook)"},
		{"then start", ready, waiting, "run start (first hooks: the unit is not running)"},
		{"then config-changed", with(ready, func(l *uniter.Local) { l.Started = true }), waiting,
			"run config-changed (first hooks: the unit was never configured)"},
		{"today config-changed is before start", today, waiting, "run config-changed (first hooks: the unit was never configured)"},
		{"and start follows", with(today, func(l *uniter.Local) { l.Configured = true }), waiting, "run start (first hooks: the unit is not running)"},
		{"then relations", running(), waiting, "enter scope 7 (relations: the relation is alive)"},
		{"a reboot", with(running(), func(l *uniter.Local) { l.BootID = "before" }), alive(), "run start (reboot: the machine has rebooted)"},
		{"recovery", with(running(), func(l *uniter.Local) { l.OweConfig = true }), alive(),
			"run config-changed (recovered: the unit recovered from a hook error)"},
		{"new configuration", running(), but(alive(), func(r *uniter.Remote) { r.ConfigHash = "c2" }),
			"run config-changed (config: the configuration changed)"},
		{"hooks go on without a server", running(), but(alive(), func(r *uniter.Remote) { r.ConfigHash, r.Connected = "c2", false }),
			"run config-changed (config: the configuration changed)"},
	})
}

// Rule: H-065 H-066 H-067 H-069 H-072 H-073 H-075 H-087 H-093 H-094 H-095 H-096 E-141 E-075 E-131
// Rule: E-035 W-031 W-038 W-040 W-041 W-043 W-044
func TestRelations(t *testing.T) {
	inScope := func(ms ...uniter.RemoteMember) uniter.Remote {
		return related(uniter.RemoteRelation{InScope: true, Members: ms})
	}
	dying := func(ms ...uniter.RemoteMember) uniter.Remote {
		return related(uniter.RemoteRelation{InScope: true, Life: entity.Dying, Members: ms})
	}
	gone := alive()
	rel := func(f func(*uniter.Relation)) uniter.Local {
		r := uniter.Relation{Confirmed: true}
		f(&r)
		return in(r)
	}
	check(t, []row{
		{"alone", rel(func(*uniter.Relation) {}), inScope(), "idle"},
		{"entering, the feed is late", in(uniter.Relation{}), related(uniter.RemoteRelation{}), "idle"},
		{"in scope and not on this disk", running(), inScope(seen("mysql/0", 1)), "enter scope 7 (relations: the relation is alive)"},
		{"joined", rel(func(*uniter.Relation) {}), inScope(seen("mysql/2", 1), seen("mysql/10", 1)),
			"run db-relation-joined (db:7 mysql/2) (relations: mysql/2 is seen for the first time)"},
		{"changed right after joined, before another joins", rel(func(r *uniter.Relation) {
			r.Members, r.Changed = []uniter.Member{member("mysql/1", 1)}, "mysql/1"
		}), inScope(seen("mysql/0", 1), seen("mysql/1", 1)), "run db-relation-changed (db:7 mysql/1) (relations: it follows joined)"},
		{"changed even when it has departed meanwhile", rel(func(r *uniter.Relation) {
			r.Members, r.Changed = []uniter.Member{member("mysql/1", 1)}, "mysql/1"
		}), inScope(), "run db-relation-changed (db:7 mysql/1) (relations: it follows joined)"},
		{"changed settings", rel(func(r *uniter.Relation) { r.Members = []uniter.Member{member("mysql/0", 1)} }), inScope(seen("mysql/0", 2)),
			"run db-relation-changed (db:7 mysql/0) (relations: mysql/0 changed its settings)"},
		{"departed before joined", rel(func(r *uniter.Relation) { r.Members = []uniter.Member{member("mysql/0", 1)} }), inScope(seen("mysql/1", 1)),
			"run db-relation-departed (db:7 mysql/0) (relations: mysql/0 is no longer related)"},
		{"another incarnation departs first", rel(func(r *uniter.Relation) { r.Members = []uniter.Member{member("mysql/0", 1)} }),
			inScope(uniter.RemoteMember{Unit: "mysql/0", Incarnation: 2, Version: 1}),
			"run db-relation-departed (db:7 mysql/0) (relations: mysql/0 is no longer related)"},
		{"the application's settings", rel(func(r *uniter.Relation) { r.Members = []uniter.Member{member("mysql/0", 1)} }),
			inScope(uniter.RemoteMember{Unit: "mysql/0", Incarnation: 1, Version: 1, AppVersion: 3}),
			"run db-relation-changed (db:7) (relations: mysql changed its settings)"},
		{"dying: departed for each", rel(func(r *uniter.Relation) { r.Members = []uniter.Member{member("mysql/0", 1), member("mysql/1", 1)} }),
			dying(seen("mysql/0", 9), seen("mysql/1", 1), seen("mysql/2", 1)), "run db-relation-departed (db:7 mysql/0) (relations: the relation is dying)"},
		{"dying: then broken", rel(func(*uniter.Relation) {}), dying(seen("mysql/2", 1)), "run db-relation-broken (db:7) (relations: the relation is dying)"},
		{"dying: then out of scope", rel(func(r *uniter.Relation) { r.Broken = true }), dying(), "leave scope 7 (relations: the relation is dying)"},
		{"left, the feed is late", rel(func(r *uniter.Relation) { r.Broken, r.Left = true, true }), dying(), "idle"},
		{"dying before it was entered", running(), related(uniter.RemoteRelation{Life: entity.Dying}), "idle"},
		{"gone by force", rel(func(r *uniter.Relation) { r.Members = []uniter.Member{member("mysql/0", 1)} }), gone,
			"run db-relation-departed (db:7 mysql/0) (relations: the relation is gone)"},
		{"gone and broken", rel(func(r *uniter.Relation) { r.Broken = true }), gone, "forget relation 7 (relations: the relation is gone)"},
		{"no hooks on the implicit side", in(uniter.Relation{Implicit: true, Confirmed: true}),
			related(uniter.RemoteRelation{InScope: true, Implicit: true, Members: []uniter.RemoteMember{seen("log/0", 1)}}), "idle"},
		{"leaving on the implicit side", in(uniter.Relation{Implicit: true, Confirmed: true}),
			related(uniter.RemoteRelation{InScope: true, Implicit: true, Life: entity.Dying}), "leave scope 7 (relations: the relation is dying)"},
		{"not yet", running(), related(uniter.RemoteRelation{NotBefore: now + 5}),
			"wait until " + (now + 5).String() + " (relations: its former subordinate is still going)"},
	})
}

// Rule: E-056 E-057 E-107 E-108 E-144 H-052 H-055
func TestTearDown(t *testing.T) {
	dying := func(rel uniter.RemoteRelation) uniter.Remote {
		rel.InScope = true
		return but(related(rel), func(r *uniter.Remote) { r.Life = entity.Dying })
	}
	dyingAlone := but(alive(), func(r *uniter.Remote) { r.Life = entity.Dying })
	left := uniter.Relation{Confirmed: true, Broken: true, Left: true}
	stopped := with(running(), func(l *uniter.Local) { l.Stopped, l.Workflow = true, entity.WorkflowReady })
	check(t, []row{
		{"subordinates first of all", in(uniter.Relation{Confirmed: true, Members: []uniter.Member{member("mysql/0", 1)}}),
			but(dying(uniter.RemoteRelation{}), func(r *uniter.Remote) {
				r.Subordinates = []uniter.Subordinate{{Unit: "log/0", Life: entity.Alive, Deployed: true}}
			}), "destroy subordinate log/0 (dying subordinates: its principal is dying)"},
		{"departed", in(uniter.Relation{Confirmed: true, Members: []uniter.Member{member("mysql/0", 1)}}), dying(uniter.RemoteRelation{}),
			"run db-relation-departed (db:7 mysql/0) (tear down: the unit is dying)"},
		{"broken", in(uniter.Relation{Confirmed: true}), dying(uniter.RemoteRelation{}), "run db-relation-broken (db:7) (tear down: the unit is dying)"},
		{"leave", in(uniter.Relation{Confirmed: true, Broken: true}), dying(uniter.RemoteRelation{}), "leave scope 7 (tear down: the unit is dying)"},
		{"stop after all", in(left), dying(uniter.RemoteRelation{}), "run stop (tear down: all relations are left)"},
		{"then remove", stopped, dyingAlone, "run remove (tear down: the unit goes)"},
		{"wait for subordinates", with(stopped, func(l *uniter.Local) { l.Removed = true }),
			but(dyingAlone, func(r *uniter.Remote) {
				r.Subordinates = []uniter.Subordinate{{Unit: "log/0", Life: entity.Dying, Deployed: true}}
			}), "wait (tear down: subordinate log/0 still exists)"},
		{"dead", with(stopped, func(l *uniter.Local) { l.Removed = true }), dyingAlone, "set dead (tear down: nothing is left to do for the unit)"},
		{"install not begun", with(uniter.New(), func(l *uniter.Local) { l.Incarnation = 1 }), dyingAlone,
			"set dead (tear down: nothing is left to do for the unit)"},
		{"no stop without start", with(running(), func(l *uniter.Local) { l.Started, l.Configured, l.Workflow = false, false, entity.WorkflowReady }), dyingAlone,
			"run remove (tear down: the unit goes)"},
		{"no reconfiguration", in(left), but(dying(uniter.RemoteRelation{}), func(r *uniter.Remote) { r.ConfigHash = "c9" }),
			"run stop (tear down: all relations are left)"},
	})
}

// Rule: W-003 W-004 W-005 W-006 W-007 W-008 W-009 W-011 W-012 W-013 W-014
func TestWorkflow(t *testing.T) {
	r := alive()
	for _, c := range []struct {
		name   string
		from   entity.Workflow
		hook   charm.HookKind
		ok     bool
		max    int
		want   entity.Workflow
		retry  time.Duration
		asFrom uniter.Local
	}{
		{name: "new -> ready: install", from: entity.WorkflowNew, hook: charm.Install, ok: true, want: entity.WorkflowReady},
		{name: "new -> install-error: error-install", from: entity.WorkflowNew, hook: charm.Install, want: entity.WorkflowInstallError},
		{name: "ready -> running: start", from: entity.WorkflowReady, hook: charm.Start, ok: true, want: entity.WorkflowRunning},
		{name: "ready -> start-error: error-start", from: entity.WorkflowReady, hook: charm.Start, want: entity.WorkflowStartError},
		{name: "running -> ready: stop", from: entity.WorkflowRunning, hook: charm.Stop, ok: true, want: entity.WorkflowReady},
		{name: "running -> stop-error: error-stop", from: entity.WorkflowRunning, hook: charm.Stop, want: entity.WorkflowStopError},
		{name: "others change nothing", from: entity.WorkflowRunning, hook: charm.ConfigChanged, want: entity.WorkflowRunning},
		{name: "no change while it is tried again", from: entity.WorkflowNew, hook: charm.Install, max: 5, want: entity.WorkflowNew, retry: 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := uniter.Local{Workflow: c.from, Installed: true, Charm: "sha", Started: true}
			uniter.Begin(&l, &r, charm.Hook{Kind: c.hook})
			if c.ok {
				uniter.Succeed(&l)
			} else {
				uniter.Fail(&l, uniter.Outcome{Exit: 1}, now, c.max)
			}
			if l.Workflow != c.want {
				t.Errorf("got %s, want %s", l.Workflow, c.want)
			}
			if c.retry > 0 && l.Failure.NextRetry != now.Add(c.retry) {
				t.Errorf("next try %s, want %s", l.Failure.NextRetry, now.Add(c.retry))
			}
		})
	}
}

func TestRetriesBackOffAndEnd(t *testing.T) {
	l, r := running(), alive()
	var waits []time.Duration
	for range 9 {
		uniter.Begin(&l, &r, charm.Hook{Kind: charm.ConfigChanged})
		uniter.Fail(&l, uniter.Outcome{Exit: 1}, now, 8)
		waits = append(waits, l.Failure.NextRetry.Sub(now))
	}
	want := []time.Duration{5, 10, 20, 40, 80, 160, 300, 300}
	for i, w := range want {
		if waits[i] != w*time.Second {
			t.Errorf("wait %d is %s, want %s", i+1, waits[i], w*time.Second)
		}
	}
	if !l.Failure.NextRetry.IsZero() {
		t.Errorf("after the last try it must wait for resolve, not until %s", l.Failure.NextRetry)
	}
	uniter.Accept(&l, entity.ResolveSkip)
	if l.Failure != nil || l.Op != nil {
		t.Error("a skipped hook is done")
	}
}

// Rule: H-048
func TestRecoveryOwesOneConfigChanged(t *testing.T) {
	l, r := running(), alive()
	joined := charm.Hook{Kind: charm.RelationJoined, Endpoint: "db", Relation: 7, Remote: "mysql/0"}
	uniter.Begin(&l, &r, joined)
	uniter.Fail(&l, uniter.Outcome{Exit: 1}, now, 5)
	uniter.Begin(&l, &r, joined)
	uniter.Succeed(&l)
	if !l.OweConfig {
		t.Fatal("a recovery owes a config-changed")
	}
	uniter.Begin(&l, &r, charm.Hook{Kind: charm.ConfigChanged})
	uniter.Succeed(&l)
	if l.OweConfig {
		t.Fatal("one is enough")
	}
	uniter.Begin(&l, &r, joined)
	uniter.Succeed(&l)
	if l.OweConfig {
		t.Fatal("a hook that never failed owes none")
	}
}

func TestNamesDiffer(t *testing.T) {
	seenKinds := map[string]bool{}
	for k := uniter.NewIncarnation; k <= uniter.SetDead; k++ {
		if name := k.String(); name == "invalid" || name == "unset" || seenKinds[name] {
			t.Errorf("operation %d has the name %q", k, name)
		} else {
			seenKinds[name] = true
		}
	}
}

// What the feed shows of a scope the unit has left may be older than its leaving.
func TestALateFeedDoesNotForgetALeftScope(t *testing.T) {
	for _, c := range []struct {
		name      string
		confirmed bool
		remote    uniter.Remote
		forgotten bool
	}{
		{"in scope, as before", true, related(uniter.RemoteRelation{InScope: true, Life: entity.Dying}), false},
		{"out of scope", true, related(uniter.RemoteRelation{Life: entity.Dying}), true},
		{"out of scope, as before it entered", false, related(uniter.RemoteRelation{Life: entity.Dying}), false},
		{"gone", false, alive(), true},
		{"nothing heard", true, uniter.Remote{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := in(uniter.Relation{Confirmed: c.confirmed, Broken: true, Left: true})
			uniter.Observe(&l, &c.remote)
			if forgotten := l.Relation(7) == nil; forgotten != c.forgotten {
				t.Errorf("forgotten: %v", forgotten)
			}
		})
	}
}
