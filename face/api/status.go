package api

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// schemaStatus names the shape of a status, for programs.
const schemaStatus = "drover.status/v1"

// Status is the state of a model, and of the work of the whole cluster if asked,
// all of one revision.
func (m *modelService) Status(_ context.Context, req *connect.Request[droverv1.StatusRequest]) (*connect.Response[droverv1.StatusResponse], error) {
	view := m.cfg.Store.View()
	model, err := m.cfg.Registry.FindModel(view, req.Msg.GetModel())
	if err != nil {
		return nil, err
	}
	cluster, _ := m.cfg.Identity.Cluster(view)
	l := m.cfg.Store.Leadership()
	out := &droverv1.StatusResponse{
		Schema: schemaStatus, Cluster: cluster.Name, Leader: l.Leader, Epoch: l.Epoch, Revision: uint64(view.Revision()),
		Model: model.Name, Now: int64(m.now()),
	}
	m.showModel(view, model.UID, out)
	if req.Msg.GetWork() {
		m.showWork(view, out)
	}
	for q := range view.Quarantined() {
		out.Quarantined = append(out.Quarantined, fmt.Sprintf("%s %s: %s", q.Table, q.Key, q.Reason))
	}
	m.explain(view, model.UID, out)
	return connect.NewResponse(out), nil
}

func (s *Server) showModel(view *store.View, model entity.ModelUID, out *droverv1.StatusResponse) {
	reg := s.cfg.Registry
	for _, machine := range reg.ListMachines(view, model) {
		out.Machines = append(out.Machines, s.machineShown(view, machine))
	}
	for _, app := range reg.ListApplications(view, model) {
		units := reg.UnitsOf(view, model, app.Name)
		out.Applications = append(out.Applications, s.applicationShown(view, app, units))
		for _, u := range units {
			out.Units = append(out.Units, s.unitShown(view, u, app))
		}
	}
	for _, rel := range reg.ListRelations(view, model) {
		out.Relations = append(out.Relations, s.relation(view, rel))
	}
}

func (s *Server) showWork(view *store.View, out *droverv1.StatusResponse) {
	b := s.cfg.Board
	byGUID := map[work.ProcessGUID]*droverv1.LRPStatus{}
	lrp := func(guid work.ProcessGUID, domain work.Domain, instances int32) *droverv1.LRPStatus {
		st, ok := byGUID[guid]
		if !ok {
			st = &droverv1.LRPStatus{ProcessGuid: string(guid), Domain: string(domain), Instances: instances}
			byGUID[guid] = st
			out.Lrps = append(out.Lrps, st)
		}
		return st
	}
	for d := range b.AllDesired(view) {
		lrp(d.ProcessGUID, d.Domain, int32(d.Instances))
	}
	for _, a := range board.Readers(b.AllActual(view)) {
		st := lrp(a.ProcessGUID, a.Domain, -1)
		st.Indexes = append(st.Indexes, indexShown(a))
	}
	for t := range b.AllTasks(view) {
		st := &droverv1.TaskStatus{
			Guid: string(t.GUID), Domain: string(t.Domain), State: t.State.String(), Cell: string(t.Cell), Since: int64(t.Updated), Failed: t.Failed,
			Note: t.PlacementError,
		}
		if t.Failed {
			st.Note = t.FailureReason
		}
		out.Tasks = append(out.Tasks, st)
	}
	for c := range b.AllCells(view) {
		st := &droverv1.CellStatus{Id: string(c.ID), Presence: c.Presence.String(), Evacuating: c.Evacuating, Unfit: c.Unfit}
		st.Instances, st.Tasks = s.countOn(view, c.ID)
		out.Cells = append(out.Cells, st)
	}
}

func indexShown(a work.ActualLRP) *droverv1.LRPIndexStatus {
	st := &droverv1.LRPIndexStatus{
		Index: int32(a.Index), State: a.State.String(), Cell: string(a.Holder.Cell), Since: int64(a.Since), CrashCount: int32(a.CrashCount),
	}
	switch {
	case a.PlacementError != "":
		st.Note = a.PlacementError
	case a.Stopping:
		st.Note = "stopping"
	case a.Evacuating:
		st.Note = "evacuating"
	case a.State == work.Crashed:
		st.Note = a.CrashReason
	}
	if len(a.Net.Ports) > 0 {
		st.Address = fmt.Sprintf("%s:%d", a.Net.Address, a.Net.Ports[0].Host)
	}
	return st
}
