package api

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"drover/keep/store"
	"drover/noun/entity"
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
