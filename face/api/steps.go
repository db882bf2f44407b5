package api

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"drover/face/api/feed"
	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// maxSteps bounds the steps of one request.
const maxSteps = 1000

// stepsAtOnce are done in one transaction.
const stepsAtOnce = 100

// ApplySteps changes board records as the cell asks, in order, each step by
// itself: one that meets a changed record answers conflict and changes nothing,
// and the others go on.
func (a *agentService) ApplySteps(ctx context.Context, req *connect.Request[droverv1.ApplyStepsRequest]) (*connect.Response[droverv1.ApplyStepsResponse], error) {
	if err := a.obeyed(req.Msg.GetEpoch()); err != nil {
		return nil, err
	}
	steps := req.Msg.GetSteps()
	if len(steps) > maxSteps {
		return nil, fault.New(fault.ResourceExhausted, "too many steps").Why("%d of at most %d", len(steps), maxSteps)
	}
	m := a.machine(ctx)
	out := &droverv1.ApplyStepsResponse{}
	for len(steps) > 0 {
		some := steps[:min(len(steps), stepsAtOnce)]
		steps = steps[len(some):]
		results, err := a.applySome(ctx, m, some)
		if err != nil {
			return nil, err
		}
		out.Results = append(out.Results, results...)
	}
	return connect.NewResponse(out), nil
}

// applySome does steps in one transaction. A step that fails after it wrote
// would leave its writes behind, so the board's methods check before they write.
func (a *agentService) applySome(ctx context.Context, m feed.Machine, steps []*droverv1.Step) ([]*droverv1.StepResult, error) {
	var results []*droverv1.StepResult
	_, err := a.cfg.Store.Update(ctx, func(tx *store.Txn) error {
		results = results[:0]
		for _, step := range steps {
			res := &droverv1.StepResult{Ok: true}
			if err := a.apply(tx, m, step); err != nil {
				f := convert.AsFault(err)
				res.Ok, res.Conflict, res.Error = false, f.Kind == fault.Conflict, f.Error()
			}
			results = append(results, res)
		}
		for i, step := range steps {
			a.show(tx, step, results[i])
		}
		return nil
	})
	return results, err
}

func (a *agentService) apply(tx *store.Txn, m feed.Machine, step *droverv1.Step) error {
	now := a.now()
	ask := board.Ask{
		Key:    work.LRPKey{ProcessGUID: work.ProcessGUID(step.GetProcessGuid()), Index: int(step.GetIndex())},
		Holder: work.Holder{Instance: work.InstanceGUID(step.GetInstanceGuid()), Cell: m.Cell},
		Seen:   store.Revision(step.GetSeen()), Domain: work.Domain(step.GetDomain()), Incarnation: work.Incarnation(step.GetIncarnation()),
	}
	switch step.GetKind() {
	case "look":
		return nil
	case "claim":
		return a.cfg.Board.Claim(tx, now, ask)
	case "start":
		return a.cfg.Board.Start(tx, now, ask, convert.NetFromWire(step.GetNet()))
	case "crash":
		return a.cfg.Board.Crash(tx, now, ask, step.GetReason())
	case "remove":
		return a.cfg.Board.Remove(tx, now, ask)
	case "unclaim":
		return a.cfg.Board.Unclaim(tx, now, ask)
	case "unroutable":
		return a.cfg.Board.Unroutable(tx, now, ask)
	case "create_evacuating":
		return a.cfg.Board.CreateEvacuating(tx, now, ask, convert.NetFromWire(step.GetNet()), time.Duration(step.GetTtlMs())*time.Millisecond)
	case "remove_evacuating":
		return a.cfg.Board.RemoveEvacuating(tx, now, ask)
	case "start_task", "complete_task":
		return a.applyTask(tx, m, step)
	default:
		return fault.New(fault.Invalid, "there is no step %q", step.GetKind())
	}
}

func (a *agentService) applyTask(tx *store.Txn, m feed.Machine, step *droverv1.Step) error {
	ask := board.TaskAsk{
		GUID: work.TaskGUID(step.GetTaskGuid()), Incarnation: work.Incarnation(step.GetIncarnation()), Cell: m.Cell, Seen: store.Revision(step.GetSeen()),
	}
	if step.GetKind() == "start_task" {
		return a.cfg.Board.StartTask(tx, a.now(), ask)
	}
	return a.cfg.Board.CompleteTask(tx, a.now(), ask, board.Outcome{Failed: step.GetFailed(), Reason: step.GetReason(), Result: step.GetResult()})
}

// show adds the records as they are after the steps. Rows that this transaction
// wrote get its revision when it commits.
func (a *agentService) show(tx *store.Txn, step *droverv1.Step, res *droverv1.StepResult) {
	if guid := work.TaskGUID(step.GetTaskGuid()); guid != "" {
		if t, ok := a.cfg.Board.Task(tx, guid); ok {
			res.Revision = uint64(a.cfg.Board.TaskRevision(tx, guid))
			res.Task = convert.TaskStateToWire(t, res.Revision)
		}
		return
	}
	key := work.LRPKey{ProcessGUID: work.ProcessGUID(step.GetProcessGuid()), Index: int(step.GetIndex())}
	if row, ok := a.cfg.Board.Actual(tx, key, false); ok {
		res.Revision = uint64(a.cfg.Board.ActualRevision(tx, key, false))
		res.Instance = convert.ActualToWire(row, res.Revision)
	}
	if row, ok := a.cfg.Board.Actual(tx, key, true); ok {
		rev := uint64(a.cfg.Board.ActualRevision(tx, key, true))
		res.Evacuating = convert.ActualToWire(row, rev)
		if step.GetKind() == "create_evacuating" {
			res.Revision = rev
		}
	}
}
