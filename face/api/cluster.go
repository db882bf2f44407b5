package api

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/keep/registry"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

type serverService struct{ *Server }

func (c *serverService) Info(ctx context.Context, _ *connect.Request[emptypb.Empty]) (*connect.Response[droverv1.ServerInfo], error) {
	view := c.cfg.Store.View()
	cluster, _ := c.cfg.Identity.Cluster(view)
	l := c.cfg.Store.Leadership()
	return connect.NewResponse(&droverv1.ServerInfo{
		Cluster: cluster.Name, ClusterId: cluster.ID, Server: c.cfg.Name, Leader: l.Leader, Epoch: l.Epoch,
		Revision: uint64(view.Revision()), Version: c.cfg.Version, Now: int64(c.now()), Storage: c.storage(),
		Ready: c.working(), You: callerOf(ctx).String(), Servers: c.cfg.Servers(),
	}), nil
}

// storage says in words where the state lies.
func (s *Server) storage() string {
	all, err := s.members()
	switch {
	case s.cfg.Members == nil || err != nil:
		return s.cfg.Storage
	case len(all) == 1:
		return "raft, 1 server, " + s.cfg.Storage
	}
	return fmt.Sprintf("raft, %d servers, %s", len(all), s.cfg.Storage)
}

// maxNames bounds what completion gets.
const maxNames = 1000

// Names lists the live names of a kind, for completion.
func (c *serverService) Names(_ context.Context, req *connect.Request[droverv1.NamesRequest]) (*connect.Response[droverv1.NamesResponse], error) {
	view := c.cfg.Store.View()
	model, err := c.model(view, req.Msg.GetModel())
	if err != nil {
		return nil, err
	}
	var names []string
	add := func(name string) bool {
		names = append(names, name)
		return len(names) < maxNames
	}
	switch kind := req.Msg.GetKind(); kind {
	case "application":
		for _, a := range c.cfg.Registry.ListApplications(view, model) {
			add(string(a.Name))
		}
	case "unit":
		for _, u := range c.cfg.Registry.ListUnits(view, model) {
			add(string(u.Name))
		}
	case "machine":
		for _, m := range c.cfg.Registry.ListMachines(view, model) {
			add(string(m.ID))
		}
	case "relation":
		for _, r := range c.cfg.Registry.ListRelations(view, model) {
			add(r.CanonicalName())
		}
	case "model":
		for _, m := range c.cfg.Registry.ListModels(view) {
			add(m.Name)
		}
	case "lrp":
		for d := range c.cfg.Board.AllDesired(view) {
			if !add(string(d.ProcessGUID)) {
				break
			}
		}
	case "task":
		for t := range c.cfg.Board.AllTasks(view) {
			if !add(string(t.GUID)) {
				break
			}
		}
	case "server":
		all, err := c.members()
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			add(m.Name)
		}
	case "cell":
		for cell := range c.cfg.Board.AllCells(view) {
			add(string(cell.ID))
		}
	default:
		return nil, fault.New(fault.Invalid, "there are no names of kind %q", kind)
	}
	names = names[:min(len(names), maxNames)]
	if !sort.StringsAreSorted(names) {
		slices.Sort(names)
	}
	return connect.NewResponse(&droverv1.NamesResponse{Names: names}), nil
}

// PowerOff tells the agents of all local machines to end everything on them.
func (c *serverService) PowerOff(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[droverv1.PowerOffResponse], error) {
	view := c.cfg.Store.View()
	out := &droverv1.PowerOffResponse{}
	epoch := c.cfg.Store.Leadership().Epoch
	for _, model := range c.cfg.Registry.ListModels(view) {
		for _, m := range c.cfg.Registry.ListMachines(view, model.UID) {
			if m.Provider != localProvider {
				continue
			}
			command := &droverv1.Delta{Key: "power_off", Value: &droverv1.Delta_PowerOff{PowerOff: &droverv1.PowerOffCommand{Epoch: epoch}}}
			if err := c.hub.Send(registry.MachineKey(model.UID, m.ID), command); err == nil {
				out.Machines++
			}
		}
	}
	return connect.NewResponse(out), nil
}

// localProvider is the provider whose machines live on this host and go down
// with the cluster.
const localProvider = "local"

// whereIsLog is the machine whose agent has the log of a target.
func (c *serverService) whereIsLog(modelName, target string) (string, error) {
	view := c.cfg.Store.View()
	model, err := c.model(view, modelName)
	if err != nil {
		return "", err
	}
	t, err := parseTarget(target)
	if err != nil {
		return "", err
	}
	missing := fault.New(fault.NotFound, "there is no log of %q", target)
	switch {
	case t.machine != "":
		if _, ok := c.cfg.Registry.Machine(view, model, t.machine); ok {
			return registry.MachineKey(model, t.machine), nil
		}
		return "", missing.Why("there is no machine %s", t.machine).Try("drover status")
	case t.task != "":
		task, ok := c.cfg.Board.Task(view, t.task)
		if !ok {
			return "", missing.Why("there is no task %s", t.task).Try("drover task list")
		}
		if cell, ok := c.cfg.Board.Cell(view, task.Cell); ok {
			return cell.Machine, nil
		}
		return "", missing.Why("the task is on no cell").Try("drover why task:" + string(t.task))
	}
	if u, ok := c.cfg.Registry.Unit(view, model, entity.UnitName(target)); ok {
		m, ok := c.cfg.Registry.MachineOf(view, model, u)
		if !ok {
			return "", missing.Why("the unit has no machine yet").Try("drover why " + target)
		}
		return registry.MachineKey(model, m.ID), nil
	}
	for a := range c.cfg.Board.ActualsOf(view, t.lrp.ProcessGUID) {
		if a.Index == t.lrp.Index {
			if cell, ok := c.cfg.Board.Cell(view, a.Holder.Cell); ok {
				return cell.Machine, nil
			}
			return "", missing.Why("instance %d is on no cell", a.Index).Try("drover why " + target)
		}
	}
	return "", missing.Why("there is no such unit and no such instance").Try("drover status")
}
