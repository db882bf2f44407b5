package api

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

type modelService struct{ *Server }

// maxMaxWait bounds --max-wait.
const maxMaxWait = 24 * time.Hour

func (s *Server) model(r store.Reader, name string) (entity.ModelUID, error) {
	m, err := s.cfg.Registry.FindModel(r, name)
	return m.UID, err
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, t := range in {
		out[i] = string(t)
	}
	return out
}

func (m *modelService) Deploy(ctx context.Context, req *connect.Request[droverv1.DeployRequest]) (*connect.Response[droverv1.DeployResponse], error) {
	q := req.Msg
	if !m.cfg.Blobs.Has(q.GetCharmSha()) {
		return nil, fault.New(fault.NotFound, "there is no charm %.12q", q.GetCharmSha()).Why("it was not uploaded")
	}
	return once(ctx, m.Server, req, q.GetRequestId(), func(tx *store.Txn) (*droverv1.DeployResponse, error) {
		model, err := m.model(tx, q.GetModel())
		if err != nil {
			return nil, err
		}
		want := registry.DeployRequest{
			App: entity.AppName(q.GetApplication()), Charm: entity.CharmSHA(q.GetCharmSha()), Config: q.GetConfig(),
			Constraints: convert.ConstraintsFromWire(q.GetConstraints()), To: q.GetTo(),
		}
		if q.NumUnits != nil {
			n := int(q.GetNumUnits())
			want.NumUnits = &n
		}
		made, err := m.cfg.Registry.Deploy(tx, m.now(), model, want)
		if err != nil {
			return nil, err
		}
		return &droverv1.DeployResponse{Application: string(made.App.Name), Units: texts(made.Units), Machines: texts(made.Machines)}, nil
	})
}

func (m *modelService) AddUnit(ctx context.Context, req *connect.Request[droverv1.AddUnitRequest]) (*connect.Response[droverv1.AddUnitResponse], error) {
	q := req.Msg
	return once(ctx, m.Server, req, q.GetRequestId(), func(tx *store.Txn) (*droverv1.AddUnitResponse, error) {
		model, err := m.model(tx, q.GetModel())
		if err != nil {
			return nil, err
		}
		made, err := m.cfg.Registry.AddUnits(tx, m.now(), model, registry.AddUnitsRequest{
			App: entity.AppName(q.GetApplication()), Count: int(q.GetNumUnits()), To: q.GetTo(),
		})
		if err != nil {
			return nil, err
		}
		return &droverv1.AddUnitResponse{Units: texts(made.Units), Machines: texts(made.Machines)}, nil
	})
}

func (m *modelService) Integrate(ctx context.Context, req *connect.Request[droverv1.IntegrateRequest]) (*connect.Response[droverv1.Relation], error) {
	q := req.Msg
	return once(ctx, m.Server, req, q.GetRequestId(), func(tx *store.Txn) (*droverv1.Relation, error) {
		model, err := m.model(tx, q.GetModel())
		if err != nil {
			return nil, err
		}
		rel, err := m.cfg.Registry.Integrate(tx, m.now(), model, q.GetA(), q.GetB())
		if err != nil {
			return nil, err
		}
		return m.relation(tx, rel), nil
	})
}

// removal is a remove-* request of an entity with a name.
type removal func(tx *store.Txn, model entity.ModelUID, name string, o registry.RemoveOptions) (registry.Removed, error)

func (m *modelService) remove(ctx context.Context, req *connect.Request[droverv1.RemoveRequest], do removal) (*connect.Response[droverv1.RemoveResponse], error) {
	q := req.Msg
	options := registry.RemoveOptions{
		Force: q.GetForce(), KeepMachine: q.GetKeepMachine(), DryRun: q.GetDryRun(),
		MaxWait: maxWait(q.GetMaxWaitMs()),
	}
	return once(ctx, m.Server, req, q.GetRequestId(), func(tx *store.Txn) (*droverv1.RemoveResponse, error) {
		model, err := m.model(tx, q.GetModel())
		if err != nil {
			return nil, err
		}
		return removed(do(tx, model, q.GetName(), options))
	})
}

func maxWait(ms int64) time.Duration {
	if ms < 0 || ms > maxMaxWait.Milliseconds() {
		return maxMaxWait
	}
	return time.Duration(ms) * time.Millisecond
}

func removed(r registry.Removed, err error) (*droverv1.RemoveResponse, error) {
	if err != nil {
		return nil, err
	}
	return &droverv1.RemoveResponse{Changed: r.Changed, Gone: r.Gone, Plan: r.Plan}, nil
}

func (m *modelService) RemoveApplication(ctx context.Context, req *connect.Request[droverv1.RemoveRequest]) (*connect.Response[droverv1.RemoveResponse], error) {
	return m.remove(ctx, req, func(tx *store.Txn, model entity.ModelUID, name string, o registry.RemoveOptions) (registry.Removed, error) {
		return m.cfg.Registry.RemoveApplication(tx, m.now(), model, entity.AppName(name), o)
	})
}

func (m *modelService) RemoveUnit(ctx context.Context, req *connect.Request[droverv1.RemoveRequest]) (*connect.Response[droverv1.RemoveResponse], error) {
	return m.remove(ctx, req, func(tx *store.Txn, model entity.ModelUID, name string, o registry.RemoveOptions) (registry.Removed, error) {
		return m.cfg.Registry.RemoveUnit(tx, m.now(), model, entity.UnitName(name), o)
	})
}

func (m *modelService) RemoveMachine(ctx context.Context, req *connect.Request[droverv1.RemoveRequest]) (*connect.Response[droverv1.RemoveResponse], error) {
	return m.remove(ctx, req, func(tx *store.Txn, model entity.ModelUID, name string, o registry.RemoveOptions) (registry.Removed, error) {
		return m.cfg.Registry.RemoveMachine(tx, m.now(), model, entity.MachineID(name), o)
	})
}

func (m *modelService) RemoveRelation(ctx context.Context, req *connect.Request[droverv1.RemoveRelationRequest]) (*connect.Response[droverv1.RemoveResponse], error) {
	q := req.Msg
	return once(ctx, m.Server, req, q.GetRequestId(), func(tx *store.Txn) (*droverv1.RemoveResponse, error) {
		model, err := m.model(tx, q.GetModel())
		if err != nil {
			return nil, err
		}
		return removed(m.cfg.Registry.RemoveRelation(tx, m.now(), model, q.GetA(), q.GetB(),
			registry.RemoveOptions{Force: q.GetForce(), MaxWait: maxWait(q.GetMaxWaitMs())}))
	})
}

func (m *modelService) GetConfig(_ context.Context, req *connect.Request[droverv1.GetConfigRequest]) (*connect.Response[droverv1.GetConfigResponse], error) {
	view := m.cfg.Store.View()
	model, err := m.model(view, req.Msg.GetModel())
	if err != nil {
		return nil, err
	}
	values, err := m.cfg.Registry.Config(view, model, entity.AppName(req.Msg.GetApplication()))
	if err != nil {
		return nil, err
	}
	out := &droverv1.GetConfigResponse{}
	for _, c := range values {
		out.Options = append(out.Options, &droverv1.ConfigOption{
			Name: c.Name, Type: c.Type, Description: c.Description, Value: c.Value, IsDefault: c.IsDefault, IsSet: c.IsSet,
		})
	}
	return connect.NewResponse(out), nil
}

func (m *modelService) SetConfig(ctx context.Context, req *connect.Request[droverv1.SetConfigRequest]) (*connect.Response[emptypb.Empty], error) {
	q := req.Msg
	return once(ctx, m.Server, req, q.GetRequestId(), func(tx *store.Txn) (*emptypb.Empty, error) {
		model, err := m.model(tx, q.GetModel())
		if err != nil {
			return nil, err
		}
		return &emptypb.Empty{}, m.cfg.Registry.SetConfig(tx, m.now(), model, entity.AppName(q.GetApplication()), q.GetSet(), q.GetReset_())
	})
}

func (m *modelService) Resolve(ctx context.Context, req *connect.Request[droverv1.ResolveRequest]) (*connect.Response[droverv1.ResolveResponse], error) {
	q := req.Msg
	mode := entity.ResolveRetry
	if q.GetNoRetry() {
		mode = entity.ResolveSkip
	}
	return once(ctx, m.Server, req, q.GetRequestId(), func(tx *store.Txn) (*droverv1.ResolveResponse, error) {
		model, err := m.model(tx, q.GetModel())
		if err != nil {
			return nil, err
		}
		if q.GetAll() {
			units, err := m.cfg.Registry.ResolveAll(tx, m.now(), model, mode)
			return &droverv1.ResolveResponse{Units: texts(units)}, err
		}
		unit := entity.UnitName(q.GetUnit())
		return &droverv1.ResolveResponse{Units: []string{string(unit)}}, m.cfg.Registry.Resolve(tx, m.now(), model, unit, mode)
	})
}
