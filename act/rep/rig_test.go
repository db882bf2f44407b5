package rep_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"testing"
	"time"

	"drover/act/rep"
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

const self = work.CellID("c1")

// rig is a rep between a board and containers in memory; nothing runs but the
// steps a test asks for.
type rig struct {
	*testing.T
	rep   *rep.Rep
	board *board
	cs    *containers
	now   time.Time
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, now: time.Unix(1_000_000, 0)}
	r.board = &board{rows: map[string]*work.ActualLRP{}, revs: map[string]uint64{}, tasks: map[string]*work.Task{}, rev: 10}
	r.cs = &containers{all: map[work.ContainerGUID]*work.Container{}}
	r.rep = r.newRep()
	return r
}

func (r *rig) newRep() *rep.Rep {
	p, err := rep.New(rep.Config{
		Cell: self, Stack: "linux", Board: r.board, Containers: r.cs, Now: func() time.Time { return r.now }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.Fatal(err)
	}
	r.cs.rep = p
	return p
}

// sync sends the whole feed: what the board holds for this cell.
func (r *rig) sync() {
	f := &droverv1.FeedResponse{Reset_: true, Synced: true, Revision: r.board.rev, Epoch: 1}
	f.Deltas = r.board.deltas()
	r.rep.Feed(f)
}

// settle steps what is due until nothing is, and fails if that never happens.
func (r *rig) settle() {
	r.Helper()
	for range 100 {
		due := r.rep.Loop().Due(r.now)
		if len(due) == 0 {
			return
		}
		for _, key := range due {
			_ = r.rep.Loop().StepKey(context.Background(), key)
		}
	}
	r.Fatalf("the rep never comes to rest; did %v", r.log())
}

// log is what was done, board and containers in order.
func (r *rig) log() []string { return r.cs.log }

func (r *rig) want(log ...string) {
	r.Helper()
	if got, want := strings.Join(r.cs.log, "; "), strings.Join(log, "; "); got != want {
		r.Errorf("did   %s\nwant  %s", got, want)
	}
}

// board is a board whose steps do what keep/board's would, as far as the rep
// can tell.
type board struct {
	rows   map[string]*work.ActualLRP // "web/0/i"
	revs   map[string]uint64
	tasks  map[string]*work.Task
	rev    uint64
	away   bool
	refuse string // kind of step that is refused
	deny   bool   // every change is a conflict
	mute   bool   // answers carry no records
	steal  func() // runs before the next step that changes something
	steps  []*droverv1.Step
	log    *[]string
}

func (b *board) deltas() []*droverv1.Delta {
	var ds []*droverv1.Delta
	for k, a := range b.rows {
		other := b.rows[strings.TrimSuffix(strings.TrimSuffix(k, "i"), "e")+map[bool]string{true: "i", false: "e"}[a.Evacuating]]
		if a.Holder.Cell == self || other != nil && other.Holder.Cell == self {
			ds = append(ds, &droverv1.Delta{Key: "lrp/" + k, Value: &droverv1.Delta_Lrp{Lrp: convert.ActualToWire(*a, b.revs[k])}})
		}
	}
	for g, t := range b.tasks {
		if t.Cell == self {
			ds = append(ds, &droverv1.Delta{Key: "task/" + g, Value: &droverv1.Delta_Task{Task: convert.TaskStateToWire(*t, b.revs[g])}})
		}
	}
	sort.Slice(ds, func(i, j int) bool { return ds[i].Key < ds[j].Key })
	return ds
}

func (b *board) Apply(_ context.Context, steps []*droverv1.Step) ([]*droverv1.StepResult, error) {
	if b.away {
		return nil, errors.New("no server")
	}
	var out []*droverv1.StepResult
	for _, s := range steps {
		out = append(out, b.apply(s))
	}
	return out, nil
}

func (b *board) apply(s *droverv1.Step) *droverv1.StepResult {
	if s.Kind != "look" && b.steal != nil {
		steal := b.steal
		b.steal = nil
		steal()
	}
	b.steps = append(b.steps, s)
	key := fmt.Sprintf("%s/%d/i", s.ProcessGuid, s.Index)
	if s.TaskGuid != "" {
		key = s.TaskGuid
	} else if strings.HasSuffix(s.Kind, "_evacuating") {
		key = fmt.Sprintf("%s/%d/e", s.ProcessGuid, s.Index)
	}
	res := &droverv1.StepResult{}
	switch {
	case s.Kind == "look":
		res.Ok = true
	case b.deny, s.Seen != b.revs[key]:
		res.Conflict = true
	case s.Kind == b.refuse:
		res.Error = "refused"
	default:
		*b.log = append(*b.log, s.Kind)
		b.change(key, s)
		res.Ok = true
	}
	if b.mute {
		return res
	}
	if t := b.tasks[s.TaskGuid]; t != nil && s.TaskGuid != "" {
		res.Task = convert.TaskStateToWire(*t, b.revs[s.TaskGuid])
	}
	for _, kind := range []string{"i", "e"} {
		k := fmt.Sprintf("%s/%d/%s", s.ProcessGuid, s.Index, kind)
		if a := b.rows[k]; a != nil && kind == "i" {
			res.Instance = convert.ActualToWire(*a, b.revs[k])
		} else if a != nil {
			res.Evacuating = convert.ActualToWire(*a, b.revs[k])
		}
	}
	return res
}

func (b *board) change(key string, s *droverv1.Step) {
	holder := work.Holder{Instance: work.InstanceGUID(s.InstanceGuid), Cell: self}
	row := func(state work.LRPState) work.ActualLRP {
		return work.ActualLRP{
			LRPKey: work.LRPKey{ProcessGUID: work.ProcessGUID(s.ProcessGuid), Index: int(s.Index)}, State: state, Holder: holder,
			Incarnation: "inc", Net: convert.NetFromWire(s.Net), Routable: state == work.Running,
		}
	}
	switch s.Kind {
	case "claim":
		b.put(key, row(work.Claimed))
	case "start":
		b.put(key, row(work.Running))
		b.drop(strings.TrimSuffix(key, "i") + "e")
	case "crash", "unclaim":
		a := row(work.Unclaimed)
		a.Holder = work.Holder{}
		b.put(key, a)
	case "unroutable":
		a := *b.rows[key]
		a.Routable = false
		b.put(key, a)
	case "create_evacuating":
		a := row(work.Running)
		a.Evacuating = true
		b.put(key, a)
	case "remove", "remove_evacuating":
		b.drop(key)
	case "start_task":
		b.putTask(work.Task{GUID: work.TaskGUID(key), Incarnation: work.Incarnation(s.Incarnation), State: work.TaskRunning, Cell: self})
	case "complete_task":
		t := *b.tasks[key]
		t.State, t.Cell, t.Failed, t.FailureReason, t.Result = work.TaskCompleted, self, s.Failed, s.Reason, s.Result
		b.putTask(t)
	}
}

func (b *board) put(key string, a work.ActualLRP) {
	b.rev++
	b.rows[key], b.revs[key] = &a, b.rev
}

func (b *board) putTask(t work.Task) {
	b.rev++
	b.tasks[string(t.GUID)], b.revs[string(t.GUID)] = &t, b.rev
}

func (b *board) drop(key string) {
	if b.rows[key] != nil {
		b.rev++
		delete(b.rows, key)
		delete(b.revs, key)
	}
}

// containers is an executor that does at once what it is told.
type containers struct {
	rep    *rep.Rep
	all    map[work.ContainerGUID]*work.Container
	log    []string
	full   bool
	cannot error // of RunContainer
}

func (c *containers) Reserve(w work.Container) error {
	if c.full {
		return fault.New(fault.NotPlaceable, "insufficient resources: memory")
	}
	if c.all[w.GUID] == nil {
		w.State = work.Reserved
		c.all[w.GUID] = &w
	}
	return nil
}

func (c *containers) Keep(work.ContainerGUID) func() { return func() {} }

func (c *containers) RunContainer(g work.ContainerGUID) error {
	if c.cannot != nil {
		return c.cannot
	}
	c.log = append(c.log, "run "+string(g))
	c.all[g].State = work.Initializing
	return nil
}

func (c *containers) StopContainer(g work.ContainerGUID) error {
	if w := c.all[g]; w.State != work.Completed {
		c.log = append(c.log, "stop "+string(g))
		w.State, w.Result = work.Completed, work.RunResult{Stopped: true}
		c.rep.Event(work.ContainerEvent{Kind: work.ContainerCompletedEvent, GUID: g})
	}
	return nil
}

func (c *containers) DeleteContainer(g work.ContainerGUID) error {
	c.log = append(c.log, "delete "+string(g))
	w := *c.all[g]
	delete(c.all, g)
	c.rep.Gone(w)
	return nil
}

func (c *containers) Get(g work.ContainerGUID) (work.Container, bool) {
	if w := c.all[g]; w != nil {
		return *w, true
	}
	return work.Container{}, false
}

func (c *containers) List() []work.Container {
	var all []work.Container
	for _, w := range c.all {
		all = append(all, *w)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].GUID < all[j].GUID })
	return all
}

func (c *containers) Resources() (capacity, taken work.Resources) {
	return work.Resources{Containers: 10}, work.Resources{Containers: int64(len(c.all))}
}
