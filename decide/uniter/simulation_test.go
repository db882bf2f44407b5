package uniter_test

import (
	"fmt"
	"slices"
	"testing"

	"drover/decide/uniter"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"

	"pgregory.net/rapid"
)

// world is a cluster reduced to what one unit sees, with a feed that is late.
type world struct {
	t      *rapid.T
	local  uniter.Local
	truth  uniter.Remote // what is
	feed   uniter.Remote // what the unit has heard
	now    when.Instant
	runs   []charm.Run
	nextID entity.RelationID
	count  map[entity.UnitName]int // incarnations of members
	done   bool
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, local: uniter.New(), truth: alive(), now: now, nextID: 1, count: map[entity.UnitName]int{}}
	w.truth.Incarnation = 0
	w.truth.MaxRetries = rapid.IntRange(0, 3).Draw(t, "retries")
	w.hear()
	return w
}

func (w *world) hear() {
	w.feed = w.truth
	w.feed.Relations = slices.Clone(w.truth.Relations)
	for i := range w.feed.Relations {
		w.feed.Relations[i].Members = slices.Clone(w.feed.Relations[i].Members)
	}
}

// change is something that others do to the cluster.
func (w *world) change() {
	i := rapid.IntRange(0, 8).Draw(w.t, "relation")
	var rel *uniter.RemoteRelation
	if i < len(w.truth.Relations) {
		rel = &w.truth.Relations[i]
	}
	switch rapid.IntRange(0, 9).Draw(w.t, "change") {
	case 0:
		if len(w.truth.Relations) < 3 && w.truth.Life == entity.Alive {
			w.truth.Relations = append(w.truth.Relations, uniter.RemoteRelation{
				ID: w.nextID, Life: entity.Alive, Endpoint: "db", RemoteApp: "mysql", Peer: rapid.Bool().Draw(w.t, "peer"),
			})
			w.nextID++
		}
	case 1, 2, 3:
		if rel != nil && rel.Life == entity.Alive {
			unit := entity.AppName("mysql").Unit(rapid.IntRange(0, 3).Draw(w.t, "unit"))
			at := slices.IndexFunc(rel.Members, func(m uniter.RemoteMember) bool { return m.Unit == unit })
			if at < 0 {
				w.count[unit]++
				rel.Members = append(rel.Members, uniter.RemoteMember{Unit: unit, Incarnation: w.count[unit], Version: 1})
				slices.SortFunc(rel.Members, func(a, b uniter.RemoteMember) int { return uniter.CompareUnits(a.Unit, b.Unit) })
			} else {
				rel.Members[at].Version++
			}
		}
	case 4:
		if rel != nil && len(rel.Members) > 0 {
			rel.Members = rel.Members[1:]
		}
	case 5:
		if rel != nil && rapid.IntRange(0, 3).Draw(w.t, "dying") == 0 {
			rel.Life = entity.Dying
			w.collect()
		}
	case 6:
		w.truth.ConfigHash += "x"
	case 7:
		w.truth.BootID += "x"
	case 8:
		if rapid.IntRange(0, 9).Draw(w.t, "end") == 0 && w.truth.Life == entity.Alive {
			w.truth.Life = entity.Dying
		}
	case 9:
		if w.local.Failure != nil && !w.local.Failure.Asked() {
			w.truth.Failure = w.local.Failure.Since
			w.truth.Resolve = rapid.SampledFrom([]entity.Resolve{entity.ResolveRetry, entity.ResolveSkip}).Draw(w.t, "resolve")
		}
	}
}

// collect removes Dying relations with nobody in them.
func (w *world) collect() {
	w.truth.Relations = slices.DeleteFunc(w.truth.Relations, func(r uniter.RemoteRelation) bool {
		return r.Life != entity.Alive && !r.InScope
	})
}

// step does what Next says; fails says whether a hook may fail.
func (w *world) step(mayFail bool) uniter.Step {
	w.feed.Now = w.now
	uniter.Observe(&w.local, &w.feed)
	s := uniter.Next(&w.local, &w.feed)
	switch s.Kind {
	case uniter.Wait:
		if !s.Until.IsZero() {
			w.now = max(w.now, s.Until)
		}
		return s
	case uniter.Done:
		w.done = true
		return s
	case uniter.Idle:
		return s
	}
	w.act(s.Op, mayFail)
	if err := w.local.Validate(); err != nil {
		w.t.Fatalf("after %s: %v", s, err)
	}
	return s
}

func (w *world) act(op uniter.Op, mayFail bool) {
	there := w.truth.Relation(op.Relation)
	switch op.Kind {
	case uniter.NewIncarnation:
		w.truth.Incarnation++
		w.local.Incarnation = w.truth.Incarnation
	case uniter.InstallCharm:
		w.local.Charm, w.local.Order = "sha", charm.SeedOrder
	case uniter.EnterScope:
		if there == nil || there.Life != entity.Alive || w.truth.Life != entity.Alive {
			w.hear() // refused: the feed will tell
			return
		}
		there.InScope = true
		uniter.Entered(&w.local, w.feed.Relation(op.Relation))
	case uniter.LeaveScope:
		if there != nil {
			there.InScope = false
		}
		w.collect()
		uniter.Left(&w.local, op.Relation)
	case uniter.ForgetRelation:
		uniter.Forgotten(&w.local, op.Relation)
	case uniter.SetDead:
		for _, r := range w.truth.Relations {
			if r.InScope {
				w.t.Fatalf("dead while in scope of relation %s", r.ID)
			}
		}
		w.truth.Life = entity.Dead
	case uniter.AcceptResolve:
		h := w.local.Op.Hook
		if op.Resolve == entity.ResolveSkip {
			w.runs = append(w.runs, charm.Run{Hook: h, Outcome: charm.Skipped, BootID: w.local.Op.BootID})
		}
		w.truth.Resolve = entity.ResolveNone
		uniter.Accept(&w.local, op.Resolve)
	case uniter.ClearResolve:
		w.truth.Resolve = entity.ResolveNone
	case uniter.RunHook:
		w.run(op.Hook, mayFail)
	default:
		w.t.Fatalf("unexpected %s", op)
	}
}

func (w *world) run(h charm.Hook, mayFail bool) {
	uniter.Begin(&w.local, &w.feed, h)
	boot := w.local.Op.BootID
	w.now++
	if mayFail && rapid.IntRange(0, 5).Draw(w.t, "fails") == 0 {
		uniter.Fail(&w.local, uniter.Outcome{Exit: 1}, w.now, w.truth.MaxRetries)
		w.runs = append(w.runs, charm.Run{Hook: h, Outcome: charm.Failed, BootID: boot})
		return
	}
	uniter.Succeed(&w.local)
	w.truth.Failure = 0
	w.runs = append(w.runs, charm.Run{Hook: h, Outcome: charm.Succeeded, BootID: boot})
}

// settle hears everything and steps until nothing is left to do.
func (w *world) settle() {
	for range 500 {
		w.hear()
		if w.local.Failure != nil && w.local.Failure.NextRetry.IsZero() && !w.local.Failure.Asked() {
			w.truth.Failure, w.truth.Resolve = w.local.Failure.Since, entity.ResolveRetry
			w.hear()
		}
		if s := w.step(false); s.Kind == uniter.Idle || s.Kind == uniter.Done {
			return
		}
	}
	w.t.Fatalf("the unit does not come to rest: %s", uniter.Next(&w.local, &w.feed))
}

// TestSeedsGuaranteesHold runs a unit through random changes, failures and late
// feeds, and lets the seed's guarantees judge what hooks it ran.
//
// Rule: H-008 H-041 H-042 H-043 H-045 H-054 H-055 H-052 H-065 H-066 H-069 H-070 H-072 H-073 H-074 H-075 H-094
// Rule: H-067 H-068 W-010
func TestSeedsGuaranteesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(5, 120).Draw(t, "length") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				w.change()
			case 1:
				w.hear()
			default:
				w.step(true)
			}
			if w.done {
				break
			}
		}
		w.settle()
		if err := charm.CheckTrace(charm.SeedOrder, w.runs); err != nil {
			t.Fatalf("%v\n%s", err, transcript(w.runs))
		}
		w.checkRest()
		w.truth.Life = max(w.truth.Life, entity.Dying)
		w.settle()
		if w.truth.Life != entity.Dead {
			t.Fatalf("a dying unit came to rest as %s", w.truth.Life)
		}
		if err := charm.CheckTrace(charm.SeedOrder, w.runs); err != nil {
			t.Fatalf("%v\n%s", err, transcript(w.runs))
		}
	})
}

// checkRest: at rest the unit has seen the last settings of everybody it sees
// (invariant H7).
func (w *world) checkRest() {
	if w.truth.Life != entity.Alive {
		return
	}
	for _, rel := range w.truth.Relations {
		l := w.local.Relation(rel.ID)
		if l == nil || len(l.Members) != len(rel.Members) {
			w.t.Fatalf("at rest the unit does not know all members of relation %s", rel.ID)
		}
		for i, m := range rel.Members {
			if got := l.Members[i]; got.Unit != m.Unit || got.Version != m.Version || got.Incarnation != m.Incarnation {
				w.t.Fatalf("at rest the unit has seen %+v of %+v", got, m)
			}
		}
	}
}

func transcript(runs []charm.Run) string {
	text := ""
	for i, r := range runs {
		text += fmt.Sprintf("%3d %s %s\n", i, r.Hook, r.Outcome)
	}
	return text
}
