package board

import (
	"fmt"
	"time"

	"drover/decide/harmony"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// scene is one index of one LRP and two cells: what the board says, what runs,
// and which cells can be talked to. Scenes compare with ==.
type scene struct {
	want   bool // desired, with one instance
	record record
	evac   who // who holds the evacuating record
	cells  [2]place
}

// place is a cell. Its container, if any, is the instance called "x"; records of
// any other instance of the cell are all the same to it.
type place struct {
	cut      bool // it cannot be talked to
	lost     bool // the board holds it for lost
	draining bool // it evacuates
	box      work.ContainerState
	stopped  bool // COMPLETED because it was told to stop
}

// who is a holder: the container of a cell (x), or another instance of it (y).
type who int8

const (
	nobody who = iota
	x0
	y0
	x1
	y1
)

func x(cell int) who { return x0 + who(2*cell) }

func (w who) cell() int { return int(w-x0) / 2 }

func (w who) holder() work.Holder {
	if w == nobody {
		return work.Holder{}
	}
	name := "x"
	if w != x(w.cell()) {
		name = "y"
	}
	return work.Holder{Instance: work.InstanceGUID(fmt.Sprint(name, w.cell())), Cell: cellID(w.cell())}
}

func cellID(i int) work.CellID { return work.CellID(fmt.Sprint("c", i)) }

type record struct {
	state    work.LRPState
	holder   who
	stopping bool
	failed   bool // UNCLAIMED with a placement error
}

const sceneTime = t0 + when.Instant(time.Hour)

var sceneKey = work.LRPKey{ProcessGUID: "web"}

// stage is a scene while something happens in it: the board's half lies in a
// transaction, the other half is changed in place.
type stage struct {
	b  *Board
	tx *store.Txn
	scene
}

// put writes the board's half; crashes is the record's count.
func (s *stage) put(crashes int) {
	if s.want {
		s.b.desired.Put(s.tx, work.DesiredLRP{ProcessGUID: "web", Incarnation: "inc", Domain: "d", Instances: 1})
	} else {
		s.b.desired.Put(s.tx, work.DesiredLRP{ProcessGUID: "web", Incarnation: "inc", Domain: "d"})
	}
	s.b.domains.Put(s.tx, work.DomainRow{Name: "d"})
	for i, c := range s.cells {
		row := work.Cell{ID: cellID(i), Machine: fmt.Sprint(i), MachineUID: fmt.Sprint(i), Stack: "linux", Presence: work.Present, Evacuating: c.draining}
		if c.lost {
			row.Presence = work.Lost
		}
		s.b.cells.Put(s.tx, row)
	}
	row := work.ActualLRP{LRPKey: sceneKey, Domain: "d", Incarnation: "inc", Since: sceneTime}
	if r := s.record; r.state != work.NoLRP {
		a := row
		a.State, a.Holder, a.Stopping, a.CrashCount = r.state, r.holder.holder(), r.stopping, crashes
		a.Routable = r.state == work.Running && !r.stopping
		if r.failed {
			a.PlacementError = "no room"
		}
		s.b.actual.Put(s.tx, a)
	}
	if s.evac != nobody {
		e := row
		e.State, e.Evacuating, e.Holder, e.Expires, e.Routable = work.Running, true, s.evac.holder(), sceneTime.Add(time.Minute), true
		s.b.actual.Put(s.tx, e)
	}
}

// read takes the board's half back.
func (s *stage) read() scene {
	out := s.scene
	out.record, out.evac = record{}, nobody
	if d, ok := s.b.Desired(s.tx, "web"); ok {
		out.want = d.Instances > 0
	}
	if a, ok := s.b.Actual(s.tx, sceneKey, false); ok {
		out.record = record{a.State, s.whoIs(a.Holder), a.Stopping, a.PlacementError != ""}
	}
	if e, ok := s.b.Actual(s.tx, sceneKey, true); ok {
		out.evac = s.whoIs(e.Holder)
	}
	return out
}

func (s *stage) whoIs(h work.Holder) who {
	for w := x0; w <= y1; w++ {
		if w.holder() == h {
			if w == x(w.cell()) && s.cells[w.cell()].box == 0 {
				w++ // its container is gone
			}
			return w
		}
	}
	return nobody
}

// container is the cell's container as its rep sees it.
func (s *stage) container(i int) *work.Container {
	c := s.cells[i]
	if c.box == 0 {
		return nil
	}
	return &work.Container{
		GUID: work.ContainerGUID(x(i).holder().Instance), State: c.box, Domain: "d", Incarnation: "inc", LRP: &sceneKey,
		Result: work.RunResult{Stopped: c.stopped},
	}
}

// decide is the rep's decision for its container, or for records of its cell
// without one, and the holder that it acts for.
func (s *stage) decide(i int, decision func(harmony.LRP) harmony.Decision) (harmony.Decision, work.Holder) {
	v := harmony.LRP{Self: cellID(i), Draining: s.cells[i].draining, Container: s.container(i)}
	instance, evacuating := s.row(false), s.row(true)
	v.Instance, v.Evacuating = instance, evacuating
	if v.Container != nil {
		if d := decision(v); len(d.Plan.Steps()) > 0 {
			return d, x(i).holder()
		}
	}
	orphan := func(a *work.ActualLRP) *work.ActualLRP {
		if a == nil || a.Holder.Cell != v.Self || v.Container != nil && a.Holder == x(i).holder() {
			return nil
		}
		return a
	}
	v.Container, v.Instance, v.Evacuating = nil, orphan(instance), orphan(evacuating)
	if v.Instance == nil && v.Evacuating == nil {
		return harmony.Decision{}, work.Holder{}
	}
	h := work.Holder{}
	for _, a := range []*work.ActualLRP{v.Instance, v.Evacuating} {
		if a != nil {
			h = a.Holder
		}
	}
	return decision(v), h
}

func (s *stage) row(evacuating bool) *work.ActualLRP {
	if a, ok := s.b.Actual(s.tx, sceneKey, evacuating); ok {
		return &a
	}
	return nil
}

// act does the first steps of a plan, up to the first that the board refuses.
func (s *stage) act(i int, plan []harmony.Step, h work.Holder) {
	ask := Ask{Key: sceneKey, Holder: h, Seen: AnyRevision, Domain: "d", Incarnation: "inc"}
	board := map[harmony.Step]func() error{
		harmony.Claim:            func() error { return s.b.Claim(s.tx, sceneTime, ask) },
		harmony.Start:            func() error { return s.b.Start(s.tx, sceneTime, ask, work.NetInfo{}) },
		harmony.Crash:            func() error { return s.b.Crash(s.tx, sceneTime, ask, "exit 1") },
		harmony.RemoveRecord:     func() error { return s.b.Remove(s.tx, sceneTime, ask) },
		harmony.Unclaim:          func() error { return s.b.Unclaim(s.tx, sceneTime, ask) },
		harmony.CreateEvacuating: func() error { return s.b.CreateEvacuating(s.tx, sceneTime, ask, work.NetInfo{}, time.Minute) },
		harmony.RemoveEvacuating: func() error { return s.b.RemoveEvacuating(s.tx, sceneTime, ask) },
	}
	for _, step := range plan {
		switch step {
		case harmony.DeleteContainer:
			s.cells[i].box, s.cells[i].stopped = 0, false
		case harmony.RunContainer:
			s.cells[i].box = work.Initializing
		default:
			if board[step]() != nil {
				return
			}
		}
	}
}
