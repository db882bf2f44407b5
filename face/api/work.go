package api

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

type workService struct{ *Server }

func (w *workService) DesireLRP(ctx context.Context, req *connect.Request[droverv1.DesireLRPRequest]) (*connect.Response[droverv1.DesiredLRP], error) {
	want := convert.DesiredFromWire(req.Msg.GetLrp())
	return once(ctx, w.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*droverv1.DesiredLRP, error) {
		d, err := w.cfg.Board.DesireLRP(tx, w.now(), want)
		return convert.DesiredToWire(d), err
	})
}

func (w *workService) UpdateLRP(ctx context.Context, req *connect.Request[droverv1.UpdateLRPRequest]) (*connect.Response[droverv1.DesiredLRP], error) {
	q := req.Msg
	var u board.LRPUpdate
	if q.Instances != nil {
		n := int(q.GetInstances())
		u.Instances = &n
	}
	if q.GetSetRoutes() {
		routes := convert.RoutesFromWire(q.GetRoutes())
		u.Routes = &routes
	}
	u.Annotation = q.Annotation
	if q.GetSetMetricTags() {
		tags := convert.EnvFromWire(q.GetMetricTags())
		u.MetricTags = &tags
	}
	return once(ctx, w.Server, req, q.GetRequestId(), func(tx *store.Txn) (*droverv1.DesiredLRP, error) {
		d, err := w.cfg.Board.UpdateLRP(tx, w.now(), work.ProcessGUID(q.GetProcessGuid()), u)
		return convert.DesiredToWire(d), err
	})
}

func (w *workService) RemoveLRP(ctx context.Context, req *connect.Request[droverv1.RemoveLRPRequest]) (*empty, error) {
	return once(ctx, w.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, w.cfg.Board.RemoveLRP(tx, w.now(), work.ProcessGUID(req.Msg.GetProcessGuid()))
	})
}

func (w *workService) RestartLRP(ctx context.Context, req *connect.Request[droverv1.RestartLRPRequest]) (*empty, error) {
	var index *int
	if req.Msg.Index != nil {
		i := int(req.Msg.GetIndex())
		index = &i
	}
	return once(ctx, w.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, w.cfg.Board.RestartLRP(tx, w.now(), work.ProcessGUID(req.Msg.GetProcessGuid()), index)
	})
}

// ListLRPs sends the desired LRPs by guid, each with the records of its indexes
// by the readers' rule, and then the records that are no longer desired.
func (w *workService) ListLRPs(_ context.Context, req *connect.Request[droverv1.ListLRPsRequest], stream *connect.ServerStream[droverv1.LRP]) error {
	q, view := req.Msg, w.cfg.Store.View()
	for d := range w.cfg.Board.AllDesired(view) {
		if q.GetDomain() != "" && string(d.Domain) != q.GetDomain() || q.GetProcessGuid() != "" && string(d.ProcessGUID) != q.GetProcessGuid() {
			continue
		}
		actual := w.actuals(view, board.Readers(w.cfg.Board.ActualsOf(view, d.ProcessGUID)), q.GetCell())
		if q.GetCell() != "" && len(actual) == 0 {
			continue
		}
		if err := stream.Send(&droverv1.LRP{Desired: convert.DesiredToWire(d), Actual: actual}); err != nil {
			return err
		}
	}
	for _, rows := range w.undesired(view, q) {
		actual := w.actuals(view, rows, q.GetCell())
		if len(actual) == 0 {
			continue
		}
		if err := stream.Send(&droverv1.LRP{Actual: actual}); err != nil {
			return err
		}
	}
	return nil
}

func (w *workService) actuals(view store.Reader, rows []work.ActualLRP, cell string) []*droverv1.ActualLRP {
	var out []*droverv1.ActualLRP
	for _, a := range rows {
		if cell == "" || string(a.Holder.Cell) == cell {
			out = append(out, convert.ActualToWire(a, uint64(w.cfg.Board.ActualRevision(view, a.LRPKey, a.Evacuating))))
		}
	}
	return out
}

// undesired are the records of guids that are not desired, grouped by guid.
func (w *workService) undesired(view store.Reader, q *droverv1.ListLRPsRequest) [][]work.ActualLRP {
	var out [][]work.ActualLRP
	for _, a := range board.Readers(w.cfg.Board.AllActual(view)) {
		if q.GetDomain() != "" && string(a.Domain) != q.GetDomain() || q.GetProcessGuid() != "" && string(a.ProcessGUID) != q.GetProcessGuid() {
			continue
		}
		if _, desired := w.cfg.Board.Desired(view, a.ProcessGUID); desired {
			continue
		}
		if n := len(out); n == 0 || out[n-1][0].ProcessGUID != a.ProcessGUID {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], a)
	}
	return out
}

func (w *workService) RunTask(ctx context.Context, req *connect.Request[droverv1.RunTaskRequest]) (*connect.Response[droverv1.Task], error) {
	want := convert.TaskFromWire(req.Msg.GetTask())
	return once(ctx, w.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*droverv1.Task, error) {
		t, err := w.cfg.Board.DesireTask(tx, w.now(), want)
		return convert.TaskToWire(t, uint64(tx.Next())), err
	})
}

// ListTasks sends the tasks by guid.
func (w *workService) ListTasks(_ context.Context, req *connect.Request[droverv1.ListTasksRequest], stream *connect.ServerStream[droverv1.Task]) error {
	q, view := req.Msg, w.cfg.Store.View()
	for t := range w.cfg.Board.AllTasks(view) {
		if q.GetDomain() != "" && string(t.Domain) != q.GetDomain() || q.GetGuid() != "" && string(t.GUID) != q.GetGuid() ||
			q.GetCell() != "" && string(t.Cell) != q.GetCell() {
			continue
		}
		if err := stream.Send(convert.TaskToWire(t, uint64(w.cfg.Board.TaskRevision(view, t.GUID)))); err != nil {
			return err
		}
	}
	return nil
}

// CancelTask cancels the task; its cell hears of it by the record.
func (w *workService) CancelTask(ctx context.Context, req *connect.Request[droverv1.TaskRequest]) (*empty, error) {
	return once(ctx, w.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, w.cfg.Board.CancelTask(tx, w.now(), work.TaskGUID(req.Msg.GetGuid()))
	})
}

func (w *workService) DeleteTask(ctx context.Context, req *connect.Request[droverv1.TaskRequest]) (*empty, error) {
	return once(ctx, w.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, w.cfg.Board.DeleteTask(tx, w.now(), work.TaskGUID(req.Msg.GetGuid()))
	})
}

func (w *workService) ListDomains(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[droverv1.ListDomainsResponse], error) {
	out := &droverv1.ListDomainsResponse{}
	for d := range w.cfg.Board.Domains(w.cfg.Store.View(), w.now()) {
		out.Domains = append(out.Domains, &droverv1.Domain{Name: string(d.Name), Expires: int64(d.Expires)})
	}
	return connect.NewResponse(out), nil
}

// maxDomainTTL bounds the time to live of a domain: beyond it, say 0 for ever.
const maxDomainTTL = 10 * 365 * 24 * time.Hour

func (w *workService) UpsertDomain(ctx context.Context, req *connect.Request[droverv1.UpsertDomainRequest]) (*empty, error) {
	ttl := time.Duration(min(req.Msg.GetTtlSeconds(), int64(maxDomainTTL.Seconds()))) * time.Second
	if req.Msg.GetTtlSeconds() < 0 {
		return nil, fault.New(fault.Invalid, "domain %q", req.Msg.GetName()).Why("its time to live is negative")
	}
	return once(ctx, w.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, w.cfg.Board.UpsertDomain(tx, w.now(), work.Domain(req.Msg.GetName()), ttl)
	})
}

func (w *workService) ListCells(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[droverv1.ListCellsResponse], error) {
	view := w.cfg.Store.View()
	tracker, err := w.tracker()
	if err != nil {
		return nil, err
	}
	out := &droverv1.ListCellsResponse{}
	for c := range w.cfg.Board.AllCells(view) {
		cell := &droverv1.Cell{
			Id: string(c.ID), Machine: c.Machine, Zone: c.Zone, Stack: c.Stack, Runtimes: c.Runtimes, Tags: c.Tags, Volumes: c.Volumes,
			Capacity: convert.ResourcesToWire(c.Capacity), Evacuating: c.Evacuating, Unfit: c.Unfit,
			Presence: c.Presence.String(), Since: int64(c.Since),
		}
		cell.Instances, cell.Tasks = w.countOn(view, c.ID)
		if used, ok := tracker.Used(c.ID); ok {
			cell.Free = convert.ResourcesToWire(c.Capacity.Sub(used))
		}
		if at, ok := tracker.LastHeard(c.Machine); ok {
			cell.LastHeard = at.UnixNano()
		}
		out.Cells = append(out.Cells, cell)
	}
	return connect.NewResponse(out), nil
}

// countOn is how many instances the cell holds and how many tasks run on it.
func (s *Server) countOn(view store.Reader, cell work.CellID) (instances, tasks int32) {
	for t := range s.cfg.Board.TasksOnCell(view, cell) {
		if t.State == work.TaskRunning {
			tasks++
		}
	}
	return int32(s.cfg.Board.CountOnCell(view, cell)), tasks
}

func (w *workService) EvacuateCell(ctx context.Context, req *connect.Request[droverv1.EvacuateCellRequest]) (*empty, error) {
	cell := work.CellID(req.Msg.GetCell())
	return once(ctx, w.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*emptypb.Empty, error) {
		if _, ok := w.cfg.Board.Cell(tx, cell); !ok {
			return nil, fault.New(fault.NotFound, "there is no cell %s", cell).Coded(fault.CodeNoSuchCell).Try("drover cells")
		}
		w.cfg.Board.EvacuateCell(tx, w.now(), cell)
		return &emptypb.Empty{}, nil
	})
}
