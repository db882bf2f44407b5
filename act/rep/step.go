package rep

import (
	"context"
	"fmt"

	"drover/decide/harmony"
	"drover/internal/loop"
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// Step looks at the key's containers and records, decides, and does what was
// decided: at most one plan a step.
func (r *Rep) Step(ctx context.Context, key string) (loop.Next, error) {
	lrp, task, ok := parseKey(key)
	if !ok || !r.Synced() {
		return loop.Next{}, nil
	}
	l := &look{r: r, key: key, lrp: lrp, task: task, containers: r.containers(key)}
	known, err := l.records(ctx)
	if err != nil || !known {
		return loop.Next{}, err
	}
	if lrp != nil {
		return l.stepLRP(ctx)
	}
	return l.stepTask(ctx)
}

// look is one look at one key.
type look struct {
	r          *Rep
	key        string
	lrp        *work.LRPKey
	task       work.TaskGUID
	containers []work.Container
	seen       records
	fresh      bool // seen is what the board just answered
}

// records reads the mirror, or the board when the mirror can not say; false when
// the key is nothing to this cell.
func (l *look) records(ctx context.Context) (bool, error) {
	l.r.mu.Lock()
	v, known := l.r.mirror.known(l.key)
	doubted := l.r.mirror.doubted[l.key]
	l.r.mu.Unlock()
	if known {
		l.seen = v
		return true, nil
	}
	if len(l.containers) == 0 && !doubted {
		return false, nil
	}
	res, err := l.board(ctx, l.wire("look"))
	if err != nil {
		return false, err
	}
	if res.GetError() != "" {
		return false, fmt.Errorf("look at %s: %s", l.key, res.GetError())
	}
	l.fresh = true
	return true, nil
}

// conflict says what to do about one: look again at once, but with back-off when
// the record had just been looked at and the board still says no.
func (l *look) conflict(s *droverv1.Step, res *droverv1.StepResult) error {
	if l.fresh {
		return fmt.Errorf("%s %s: conflict: %s", s.GetKind(), l.key, res.GetError())
	}
	return nil
}

// wire is a step of the key without a container.
func (l *look) wire(kind string) *droverv1.Step {
	if l.lrp != nil {
		return &droverv1.Step{Kind: kind, ProcessGuid: string(l.lrp.ProcessGUID), Index: int32(l.lrp.Index)}
	}
	return &droverv1.Step{Kind: kind, TaskGuid: string(l.task)}
}

// board applies one step and takes in what the answer says of the records.
func (l *look) board(ctx context.Context, s *droverv1.Step) (*droverv1.StepResult, error) {
	results, err := l.r.cfg.Board.Apply(ctx, []*droverv1.Step{s})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", s.GetKind(), l.key, err)
	}
	if len(results) != 1 {
		return nil, fmt.Errorf("%s %s: %d answers to one step", s.GetKind(), l.key, len(results))
	}
	l.seen = ofResult(results[0])
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	l.r.mirror.learn(l.key, l.r.cfg.Cell, l.seen)
	if results[0].GetConflict() || results[0].GetError() != "" {
		l.r.mirror.doubt(l.key)
	}
	return results[0], nil
}

// stepLRP decides for each container of the index, then for records of this cell
// that have none.
func (l *look) stepLRP(ctx context.Context) (loop.Next, error) {
	left := len(l.containers)
	instance, evacuating := l.orphan(l.seen.instance), l.orphan(l.seen.evacuating)
	if instance != nil || evacuating != nil {
		left++
	}
	for i := range l.containers {
		c := &l.containers[i]
		left--
		if c.Deleting {
			continue
		}
		if stopped, next, err := l.stop(ctx, c); stopped || err != nil {
			return next, err
		}
		d := l.decideLRP(c, l.seen.instance, l.seen.evacuating)
		if len(d.Plan.Steps()) > 0 {
			next, err := l.act(ctx, d, c)
			next.Again = next.Again || left > 0
			return next, err
		}
		l.quiet(d, c)
	}
	instance, evacuating = l.orphan(l.seen.instance), l.orphan(l.seen.evacuating) // a stop may have looked again
	if instance == nil && evacuating == nil {
		return loop.Next{}, nil
	}
	return l.act(ctx, l.decideLRP(nil, instance, evacuating), nil)
}

func (l *look) decideLRP(c *work.Container, instance, evacuating *work.ActualLRP) harmony.Decision {
	draining, over := l.r.drain()
	v := harmony.LRP{Self: l.r.cfg.Cell, Draining: draining, Container: c, Instance: instance, Evacuating: evacuating}
	if over {
		return harmony.LRPAtTimeout(v)
	}
	return harmony.DecideLRP(v)
}

// orphan is the record if it is of this cell and its container does not exist.
func (l *look) orphan(a *work.ActualLRP) *work.ActualLRP {
	if a == nil || a.Holder.Cell != l.r.cfg.Cell || l.has(work.ContainerGUID(a.Holder.Instance)) {
		return nil
	}
	return a
}

func (l *look) has(guid work.ContainerGUID) bool {
	for i := range l.containers {
		if l.containers[i].GUID == guid {
			return true
		}
	}
	return false
}

// stepTask does the same for a task; containers of other incarnations of its
// guid are those of other tasks.
func (l *look) stepTask(ctx context.Context) (loop.Next, error) {
	left := len(l.containers)
	for i := range l.containers {
		c := &l.containers[i]
		left--
		if c.Deleting {
			continue
		}
		d := l.decideTask(c, l.seen.task)
		if len(d.Plan.Steps()) > 0 {
			next, err := l.act(ctx, d, c)
			next.Again = next.Again || left > 0
			return next, err
		}
		l.quiet(d, c)
	}
	t := l.seen.task
	if t == nil || t.Cell != l.r.cfg.Cell || l.has(work.ContainerGUID(t.Incarnation)) {
		return loop.Next{}, nil
	}
	d := l.decideTask(nil, t)
	if len(d.Plan.Steps()) == 0 {
		return loop.Next{}, nil
	}
	return l.act(ctx, d, nil)
}

func (l *look) decideTask(c *work.Container, t *work.Task) harmony.Decision {
	if _, over := l.r.drain(); over {
		return harmony.TaskAtTimeout(l.r.cfg.Cell, c, t)
	}
	return harmony.DecideTask(l.r.cfg.Cell, c, t)
}

// quiet logs a decision to do nothing where that is surprising.
func (l *look) quiet(d harmony.Decision, c *work.Container) {
	if d.Loud() {
		l.r.cfg.Log.Warn("nothing to do in a state that should not be", l.told(d, c)...)
	}
}

func (l *look) told(d harmony.Decision, c *work.Container) []any {
	state := "no container"
	if c != nil {
		state = c.State.String() + " " + string(c.GUID)
	}
	return []any{"key", l.key, "container", state, "record", l.seen.String(), "plan", d.Plan.String(), "why", d.Why, "likelihood", d.Likelihood.String()}
}

// String is the records for logs.
func (v *records) String() string {
	text := ""
	one := func(kind string, a *work.ActualLRP) {
		if a != nil {
			text += fmt.Sprintf("%s %s %s on %s; ", kind, a.State, a.Holder.Instance, a.Holder.Cell)
		}
	}
	one("/i", v.instance)
	one("/e", v.evacuating)
	if v.task != nil {
		text += fmt.Sprintf("%s %s on %s; ", v.task.State, v.task.Incarnation, v.task.Cell)
	}
	if text == "" {
		return "none"
	}
	return text[:len(text)-2]
}

// act does a plan in order and stops at the first failure: conflicts look
// again, other refusals give a reservation back, an unreachable board is retried.
// Spec: 002 (notes under the tables); SEMANTICS 9, 11.
func (l *look) act(ctx context.Context, d harmony.Decision, c *work.Container) (loop.Next, error) {
	log := l.r.cfg.Log.Info
	if d.Loud() {
		log = l.r.cfg.Log.Warn
	}
	log("harmonize", l.told(d, c)...)
	if c != nil && c.State == work.Reserved {
		defer l.r.cfg.Containers.Keep(c.GUID)() // a run step is in progress (SEMANTICS 76)
	}
	for _, s := range d.Plan.Steps() {
		again, err := l.do(ctx, s, d, c)
		if again || err != nil {
			return loop.Next{Again: again}, err
		}
	}
	return loop.Next{}, nil
}

// do does one step of a plan; again means that the rest is dropped.
func (l *look) do(ctx context.Context, s harmony.Step, d harmony.Decision, c *work.Container) (again bool, err error) {
	switch s {
	case harmony.DeleteContainer:
		return false, l.r.cfg.Containers.DeleteContainer(c.GUID)
	case harmony.RunContainer:
		if err = l.r.cfg.Containers.RunContainer(c.GUID); err != nil {
			// "upon failure: the Rep aborts, cleans up the reservation": the record
			// goes by the row without a container.
			l.r.cfg.Log.Warn("cannot run the container", "key", l.key, "container", c.GUID, "err", err)
			return !fault.Is(err, fault.NotFound), l.r.cfg.Containers.DeleteContainer(c.GUID)
		}
		return false, nil
	}
	step := l.step(s, d, c)
	if step == nil {
		return false, fmt.Errorf("%s: the plan has a step %v that the rep does not know", l.key, s)
	}
	res, err := l.board(ctx, step)
	switch {
	case err != nil:
		return false, err
	case res.GetConflict():
		err := l.conflict(step, res)
		return err == nil, err
	case res.GetOk():
		return false, nil
	}
	l.r.cfg.Log.Warn("the board refused", "key", l.key, "step", step.GetKind(), "err", res.GetError())
	if c != nil && c.State == work.Reserved && (s == harmony.Claim || s == harmony.StartTask) {
		return true, l.r.cfg.Containers.DeleteContainer(c.GUID)
	}
	return false, fmt.Errorf("%s %s: %s", step.GetKind(), l.key, res.GetError())
}
