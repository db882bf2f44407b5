package board

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"drover/decide/convergence"
	"drover/decide/harmony"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// kind is why something happens. System moves are what the house does by itself;
// repairs come from outside (a connection is back, a machine is replaced); faults
// are everything that goes wrong, and what people ask for.
type kind uint8

const (
	system kind = iota
	repair
	broken
)

type move struct {
	kind    kind
	name    string
	crashes int // the record's count of crashes before it
	do      func(s *stage)
}

// moves are all that may happen in the scene; those that change nothing too.
func moves(c scene) []move {
	out := []move{
		{system, "converge", 0, func(s *stage) { s.converge(sceneTime) }},
		{system, "converge later", 0, func(s *stage) { s.converge(sceneTime.Add(time.Hour)) }},
		{broken, "scale", 0, func(s *stage) {
			n := 1
			if s.want {
				n = 0
			}
			_, _ = s.b.UpdateLRP(s.tx, sceneTime, "web", LRPUpdate{Instances: &n})
		}},
		{broken, "purge", 0, func(s *stage) {
			s.b.actual.Delete(s.tx, ActualKey(sceneKey, false))
			s.b.actual.Delete(s.tx, ActualKey(sceneKey, true))
		}},
		{broken, "no room", 0, func(s *stage) { _ = s.b.SetPlacementError(s.tx, sceneTime, sceneKey, "no room") }},
	}
	for i := range c.cells {
		out = append(out, cellMoves(i, c)...)
		out = append(out, boxMoves(i, c.cells[i])...)
	}
	return out
}

// cellMoves are what may happen to a cell and its rep.
func cellMoves(i int, c scene) (out []move) {
	p := c.cells[i]
	add := func(when bool, k kind, name string, do func(s *stage)) {
		if when {
			out = append(out, move{k, fmt.Sprintf("%s c%d", name, i), 0, do})
		}
	}
	live := !p.cut && !p.lost
	add(!p.cut, broken, "cut off", func(s *stage) { s.cells[i].cut = true })
	add(p.cut && p.box != 0, broken, "dies", func(s *stage) { s.cells[i].box, s.cells[i].stopped = 0, false })
	add(p.cut && !p.lost, system, "lose", func(s *stage) { s.b.LoseCell(s.tx, sceneTime, cellID(i)); s.cells[i].lost = true })
	add(p.cut, repair, "reconnect", func(s *stage) { s.cells[i].cut = false })
	add(!p.cut && p.lost, system, "hear of", func(s *stage) { s.cells[i].lost = false })
	add(live && !p.draining, broken, "evacuate", func(s *stage) { s.cells[i].draining = true })
	empty := p.box == 0 && (c.record.holder == nobody || c.record.holder.cell() != i) && (c.evac == nobody || c.evac.cell() != i)
	add(p.draining && empty, repair, "replace", func(s *stage) { s.cells[i].draining = false })
	add(live && !p.draining && p.box == 0 && c.want && c.record.state == work.Unclaimed, system, "auction to",
		func(s *stage) { s.cells[i].box = work.Reserved })
	add(live && !p.draining && p.box == 0, broken, "old auction to", func(s *stage) { s.cells[i].box = work.Reserved })
	if !live {
		return out
	}
	rep := func(k kind, name string, decision func(harmony.LRP) harmony.Decision, steps int) {
		for _, crashes := range []int{0, 3} {
			out = append(out, move{k, fmt.Sprintf("%s c%d", name, i), crashes, func(s *stage) { s.sweep(i, decision, steps) }})
		}
	}
	rep(system, "sweep", harmony.DecideLRP, 3)
	for steps := 1; steps < 3; steps++ {
		rep(broken, fmt.Sprint("killed after ", steps), harmony.DecideLRP, steps)
	}
	if p.draining {
		rep(system, "time is over", harmony.LRPAtTimeout, 3)
		for steps := 1; steps < 3; steps++ {
			rep(broken, fmt.Sprint("killed at its end after ", steps), harmony.LRPAtTimeout, steps)
		}
	}
	return out
}

// boxMoves are what a cell's container does, connected or not.
func boxMoves(i int, p place) (out []move) {
	add := func(k kind, name string, from, to work.ContainerState) {
		if p.box == from {
			out = append(out, move{k, fmt.Sprintf("%s on c%d", name, i), 0, func(s *stage) { s.cells[i].box = to }})
		}
	}
	add(system, "comes up", work.Initializing, work.ContainerRunning)
	add(broken, "does not come up", work.Initializing, work.Completed)
	add(broken, "crashes", work.ContainerRunning, work.Completed)
	add(broken, "is reaped", work.Reserved, 0)
	return out
}

// sweep is one step of a rep: a stop that it was told, or the start of a plan.
func (s *stage) sweep(i int, decision func(harmony.LRP) harmony.Decision, steps int) {
	if a := s.row(false); a != nil && a.Stopping && a.Holder == x(i).holder() && s.cells[i].box != 0 && s.cells[i].box != work.Completed {
		s.cells[i].box, s.cells[i].stopped = work.Completed, true
		return
	}
	d, h := s.decide(i, decision)
	plan := d.Plan.Steps()
	s.act(i, plan[:min(steps, len(plan))], h)
}

// converge is one step of the converger.
func (s *stage) converge(now when.Instant) {
	actions, _ := s.b.LRPView(s.tx, now, "web").Decide(now)
	for _, a := range actions {
		if a.Kind != convergence.TellStop && a.Kind != convergence.Emit { // the rep's stop is its own step
			_, _ = s.b.Converge(s.tx, now, a)
		}
	}
}

var errUndo = errors.New("nothing of it is kept")

// after is the scene after the move.
func (w *world) after(c scene, m move) (next scene) {
	_, err := w.s.Update(w.t.Context(), func(tx *store.Txn) error {
		s := stage{w.b, tx, c}
		s.put(m.crashes)
		m.do(&s)
		next = s.read()
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		w.t.Fatal(err)
	}
	return next
}

// good reports whether the scene is as it should be, as far as cells can be
// talked to.
func (c scene) good() bool {
	running := 0
	for i, p := range c.cells {
		switch {
		case p.cut || p.box == 0:
		case c.want && p.box == work.ContainerRunning && c.record == record{state: work.Running, holder: x(i)} && !p.draining && !p.lost:
			running++
		default:
			return false
		}
	}
	if !c.want {
		return c.record == record{} && c.evac == nobody
	}
	return running == 1 && c.evac == nobody
}

// able reports whether a cell can take work without help from outside.
func (c scene) able() bool {
	for _, p := range c.cells {
		if !p.cut && !p.draining {
			return true
		}
	}
	return !c.want
}

// From every scene that can come about, whatever failed and wherever a plan was
// interrupted, the house gets by itself to where it should be, and stays there;
// with no cell left, as soon as one is there again.
func TestClosedWorld(t *testing.T) {
	w := newWorld(t)
	ids := map[scene]int{}
	var scenes []scene
	var how []string
	id := func(c scene, name string) int {
		n, ok := ids[c]
		if !ok {
			n = len(scenes)
			ids[c] = n
			scenes, how = append(scenes, c), append(how, name)
		}
		return n
	}
	id(scene{want: true}, "")
	var before [2][][]int // by kind, for each scene those that lead to it
	for n := 0; n < len(scenes); n++ {
		c := scenes[n]
		for _, m := range moves(c) {
			next := w.after(c, m)
			to := id(next, fmt.Sprintf("%d %s", n, m.name))
			if m.kind == system && c.good() && !next.good() {
				t.Fatalf("%s leads from %+v to %+v", m.name, c, next)
			}
			for k := m.kind; k < broken; k++ {
				for len(before[k]) < len(scenes) {
					before[k] = append(before[k], nil)
				}
				before[k][to] = append(before[k][to], n)
			}
		}
	}
	for k, able := range []func(scene) bool{scene.able, func(scene) bool { return true }} {
		reached := reach(scenes, before[k])
		bad := 0
		for n, c := range scenes {
			if able(c) && !reached[n] {
				if bad++; bad < 10 {
					t.Errorf("no way back from %d (%s): %+v", n, how[n], c)
				}
			}
		}
		if bad > 0 {
			t.Errorf("%d of %d scenes", bad, len(scenes))
		}
	}
	t.Logf("%d scenes", len(scenes))
}

// reach are the scenes from which a good one can be reached.
func reach(scenes []scene, before [][]int) []bool {
	reached := make([]bool, len(scenes))
	var open []int
	for n, c := range scenes {
		if c.good() {
			reached[n] = true
			open = append(open, n)
		}
	}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if n >= len(before) {
			continue
		}
		for _, b := range before[n] {
			if !reached[b] {
				reached[b] = true
				open = append(open, b)
			}
		}
	}
	return reached
}
