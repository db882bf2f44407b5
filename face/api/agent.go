package api

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/face/api/feed"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// agentService is what a machine's agent asks. The machine is the caller's; that
// units named in requests are on it was checked before (see own), and every
// change checks the unit's uid again in its transaction.
type agentService struct{ *Server }

type empty = connect.Response[emptypb.Empty]

// machine is the caller's machine with its cell.
func (s *Server) machine(ctx context.Context) feed.Machine {
	id := callerOf(ctx)
	model, _ := s.cfg.Registry.Model(s.cfg.Store.View(), entity.ModelUID(id.Model))
	return feed.MachineOf(id, registry.CellID(model, entity.MachineID(id.Machine)))
}

// obeyed refuses an agent that has obeyed a newer leader than this server knows
// of: this one was deposed.
func (s *Server) obeyed(epoch uint64) error {
	if mine := s.cfg.Store.Leadership().Epoch; epoch > mine {
		return store.NotLeader("", "")
	}
	return nil
}

func (a *agentService) observe(ctx context.Context, fn func(tx *store.Txn, m feed.Machine) error) (*empty, error) {
	m := a.machine(ctx)
	return update(ctx, a.Server, func(tx *store.Txn) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, fn(tx, m)
	})
}

func ref(named interface {
	GetUnit() string
	GetUid() string
}) registry.UnitRef {
	return registry.UnitRef{Name: entity.UnitName(named.GetUnit()), UID: entity.UID(named.GetUid())}
}

// maxGoodbye bounds how long an agent may say it will be away.
const (
	defaultGoodbye = time.Minute
	maxGoodbye     = 10 * time.Minute
)

// Goodbye announces a planned restart: nothing is moved meanwhile.
func (a *agentService) Goodbye(ctx context.Context, req *connect.Request[droverv1.GoodbyeRequest]) (*empty, error) {
	away := time.Duration(req.Msg.GetSeconds()) * time.Second
	if away <= 0 {
		away = defaultGoodbye
	}
	tracker, err := a.tracker()
	if err != nil {
		return nil, err
	}
	tracker.Goodbye(a.machine(ctx).Key(), a.cfg.Now().Add(min(away, maxGoodbye)))
	return connect.NewResponse(&emptypb.Empty{}), nil
}

func (a *agentService) ReportMachine(ctx context.Context, req *connect.Request[droverv1.ReportMachineRequest]) (*empty, error) {
	q := req.Msg
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.ReportMachine(tx, a.now(), m.Model, m.ID, registry.MachineReport{
			Address: q.GetAddress(), BootID: q.GetBootId(), Version: q.GetVersion(),
			Hardware: entity.Hardware{CPUs: int(q.GetCpus()), MemoryMB: q.GetMemoryMb(), DiskMB: q.GetDiskMb(), Arch: q.GetArch()},
		})
	})
}

func (a *agentService) SetMachineDead(ctx context.Context, _ *connect.Request[emptypb.Empty]) (*empty, error) {
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.SetMachineDead(tx, a.now(), m.Model, m.ID)
	})
}

func (a *agentService) SetUnitDeployed(ctx context.Context, req *connect.Request[droverv1.UnitRequest]) (*empty, error) {
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.SetUnitDeployed(tx, a.now(), m.Model, ref(req.Msg))
	})
}

func (a *agentService) RemoveUnit(ctx context.Context, req *connect.Request[droverv1.UnitRequest]) (*empty, error) {
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.RemoveDeadUnit(tx, a.now(), m.Model, ref(req.Msg))
	})
}

func (a *agentService) NewIncarnation(ctx context.Context, req *connect.Request[droverv1.UnitRequest]) (*connect.Response[droverv1.NewIncarnationResponse], error) {
	m := a.machine(ctx)
	return update(ctx, a.Server, func(tx *store.Txn) (*droverv1.NewIncarnationResponse, error) {
		n, err := a.cfg.Registry.NewIncarnation(tx, a.now(), m.Model, ref(req.Msg))
		return &droverv1.NewIncarnationResponse{Incarnation: int32(n)}, err
	})
}

func (a *agentService) ReportUnit(ctx context.Context, req *connect.Request[droverv1.ReportUnitRequest]) (*empty, error) {
	q := req.Msg
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.ReportUnit(tx, a.now(), m.Model, ref(q), registry.UnitReport{
			Incarnation: int(q.GetIncarnation()), Agent: convert.StatusFromWire(q.GetAgent()), Workflow: entity.Workflow(q.GetWorkflow()),
			Failure: convert.FailureFromWire(q.GetFailure()), Hook: q.GetHook(), LastHook: q.GetLastHook(), LastHookMS: q.GetLastHookMs(),
		})
	})
}

func (a *agentService) SetStatus(ctx context.Context, req *connect.Request[droverv1.SetStatusRequest]) (*empty, error) {
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.SetStatus(tx, a.now(), m.Model, ref(req.Msg), convert.StatusFromWire(req.Msg.GetWorkload()))
	})
}

func (a *agentService) EnterScope(ctx context.Context, req *connect.Request[droverv1.ScopeRequest]) (*connect.Response[droverv1.EnterScopeResponse], error) {
	q, m := req.Msg, a.machine(ctx)
	return update(ctx, a.Server, func(tx *store.Txn) (*droverv1.EnterScopeResponse, error) {
		in, err := a.cfg.Registry.EnterScope(tx, a.now(), m.Model, ref(q), entity.RelationID(q.GetRelationId()), q.GetSettings())
		return &droverv1.EnterScopeResponse{Subordinate: string(in.Subordinate), Incarnation: int32(in.Incarnation)}, err
	})
}

func (a *agentService) LeaveScope(ctx context.Context, req *connect.Request[droverv1.ScopeRequest]) (*empty, error) {
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.LeaveScope(tx, a.now(), m.Model, ref(req.Msg), entity.RelationID(req.Msg.GetRelationId()))
	})
}

func (a *agentService) DestroyUnit(ctx context.Context, req *connect.Request[droverv1.UnitRequest]) (*empty, error) {
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.DestroyUnit(tx, a.now(), m.Model, ref(req.Msg))
	})
}

func (a *agentService) SetUnitDead(ctx context.Context, req *connect.Request[droverv1.UnitRequest]) (*empty, error) {
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.SetUnitDead(tx, a.now(), m.Model, ref(req.Msg))
	})
}

func (a *agentService) ClearResolved(ctx context.Context, req *connect.Request[droverv1.UnitRequest]) (*empty, error) {
	return a.observe(ctx, func(tx *store.Txn, m feed.Machine) error {
		return a.cfg.Registry.ClearResolved(tx, a.now(), m.Model, ref(req.Msg))
	})
}

func (a *agentService) CommitHook(ctx context.Context, req *connect.Request[droverv1.CommitHookRequest]) (*connect.Response[droverv1.CommitHookResponse], error) {
	q, m := req.Msg, a.machine(ctx)
	commit := registry.HookCommit{
		Incarnation: int(q.GetIncarnation()), Number: q.GetNumber(), Hook: q.GetHook(),
		Open: convert.PortsFromWire(q.GetOpen()), Close: convert.PortsFromWire(q.GetClose()),
		Version: q.GetVersion(), Workflow: entity.Workflow(q.GetWorkflow()), HookMS: q.GetHookMs(),
	}
	for _, w := range q.GetSettings() {
		commit.Settings = append(commit.Settings, registry.SettingsWrite{
			Relation: entity.RelationID(w.GetRelationId()), Application: w.GetApplication(), Set: w.GetSet(), Delete: w.GetDelete(),
		})
	}
	return update(ctx, a.Server, func(tx *store.Txn) (*droverv1.CommitHookResponse, error) {
		done, err := a.cfg.Registry.CommitHook(tx, a.now(), m.Model, ref(q), commit)
		return &droverv1.CommitHookResponse{Repeated: done.Repeated, Dropped: done.Dropped}, err
	})
}

func (a *agentService) ReadSettings(ctx context.Context, req *connect.Request[droverv1.ReadSettingsRequest]) (*connect.Response[droverv1.ReadSettingsResponse], error) {
	q := req.Msg
	set, err := a.cfg.Registry.ReadSettings(a.cfg.Store.View(), a.machine(ctx).Model, ref(q), entity.RelationID(q.GetRelationId()), q.GetOwner())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&droverv1.ReadSettingsResponse{Values: set.Values, Version: set.Version}), nil
}

// Heartbeat keeps the machine and its cell present. The cell's row is written
// only when one of its facts changed.
func (a *agentService) Heartbeat(ctx context.Context, req *connect.Request[droverv1.HeartbeatRequest]) (*connect.Response[droverv1.HeartbeatResponse], error) {
	if err := a.obeyed(req.Msg.GetEpoch()); err != nil {
		return nil, err
	}
	if err := a.heard(ctx, req.Msg.GetCell()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&droverv1.HeartbeatResponse{
		Epoch: a.cfg.Store.Leadership().Epoch, Now: int64(a.now()), Leader: a.leader(),
	}), nil
}

// leader is where the leader is reached; empty when nobody knows.
func (s *Server) leader() string {
	if servers := s.cfg.Servers(); len(servers) > 0 {
		return servers[0]
	}
	return ""
}

// AckWork tells that the cell has acted upon a batch, and what it refused.
func (a *agentService) AckWork(ctx context.Context, req *connect.Request[droverv1.AckWorkRequest]) (*empty, error) {
	q := req.Msg
	if err := a.obeyed(q.GetEpoch()); err != nil {
		return nil, err
	}
	if err := a.heard(ctx, q.GetCell()); err != nil {
		return nil, err
	}
	m := a.machine(ctx)
	a.hub.Acknowledge(m.Key(), q.GetBatch())
	answer := Answer{Cell: m.Cell, Batch: q.GetBatch()}
	for _, r := range q.GetRefused() {
		answer.Refused = append(answer.Refused, Refusal{
			LRP:  work.LRPKey{ProcessGUID: work.ProcessGUID(r.GetProcessGuid()), Index: int(r.GetIndex())},
			Task: work.TaskGUID(r.GetTaskGuid()), Reason: r.GetReason(),
		})
	}
	if a.cfg.Answered != nil {
		a.cfg.Answered(answer)
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}

// Answer is what a cell did with a batch.
type Answer struct {
	Cell    work.CellID
	Batch   uint64
	Refused []Refusal // all else it took
}

// Refusal is an item of a batch that the cell did not take.
type Refusal struct {
	LRP    work.LRPKey   // of an LRP,
	Task   work.TaskGUID // or of a task
	Reason string
}
