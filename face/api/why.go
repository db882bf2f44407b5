package api

import (
	"context"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"drover/decide/why"
	"drover/keep/board"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// whyAgents tells decide/why who was heard by this leader.
type whyAgents struct {
	s     *Server
	model entity.ModelUID
}

func (a whyAgents) Heard(id entity.MachineID) (when.Instant, bool) {
	state, heard := a.s.agentShown(registry.MachineKey(a.model, id), false)
	return heard, state == agentAlive || state == agentAway || state == agentAwaited
}

// whyBoard is the board of a view as decide/why reads it.
type whyBoard struct {
	s    *Server
	view *store.View
}

func (b whyBoard) Desired(g work.ProcessGUID) (work.DesiredLRP, bool) {
	return b.s.cfg.Board.Desired(b.view, g)
}

func (b whyBoard) Actual(k work.LRPKey) (work.ActualLRP, bool) {
	return b.s.cfg.Board.Actual(b.view, k, false)
}

func (b whyBoard) Task(g work.TaskGUID) (work.Task, bool) { return b.s.cfg.Board.Task(b.view, g) }

func (b whyBoard) Fresh(d work.Domain) bool { return b.s.cfg.Board.Fresh(b.view, b.s.now(), d) }

func (b whyBoard) RestartAt(a *work.ActualLRP) (when.Instant, bool) {
	return b.s.cfg.Board.Crashes.RestartAt(a)
}

func (b whyBoard) Cells() []why.Cell {
	var out []why.Cell
	t, _ := b.s.tracker()
	for c := range b.s.cfg.Board.AllCells(b.view) {
		cell := why.Cell{Cell: c}
		if t != nil {
			if used, ok := t.Used(c.ID); ok {
				cell.Free, cell.Known = c.Capacity.Sub(used), true
			}
		}
		out = append(out, cell)
	}
	return out
}

func (s *Server) reasons(view *store.View, model entity.ModelUID) why.Snapshot {
	return why.Snapshot{
		World: s.cfg.Registry.World(view, model), Agents: whyAgents{s, model}, Board: whyBoard{s, view}, Now: s.now(),
	}
}

func impediments(in []why.Impediment) []*droverv1.Impediment {
	out := make([]*droverv1.Impediment, 0, len(in))
	for _, i := range in {
		out = append(out, &droverv1.Impediment{
			Entity: i.Entity, Uid: i.UID, Blocks: string(i.Blocks), Kind: string(i.Kind), Subject: i.Subject, Detail: i.Detail,
			Since: int64(i.Since), Owner: i.Owner, NextSteps: i.NextSteps, Children: impediments(i.Children),
		})
	}
	return out
}

// explain adds to a status what holds each entity, and counts those held.
func (s *Server) explain(view *store.View, model entity.ModelUID, out *droverv1.StatusResponse) {
	r := s.reasons(view, model)
	held := func(found []why.Impediment) []*droverv1.Impediment {
		if len(found) > 0 {
			out.Problems++
		}
		return impediments(found)
	}
	for _, m := range out.Machines {
		m.Impediments = held(r.Machine(entity.MachineID(m.Id)))
	}
	for _, a := range out.Applications {
		a.Impediments = held(r.Application(entity.AppName(a.Name)))
	}
	for _, u := range out.Units {
		u.Impediments = held(r.Unit(entity.UnitName(u.Name)))
	}
	for _, rel := range out.Relations {
		rel.Impediments = held(r.Relation(entity.RelationID(rel.Id)))
	}
	for _, l := range out.Lrps {
		for _, i := range l.Indexes {
			i.Impediments = held(r.LRP(work.LRPKey{ProcessGUID: work.ProcessGUID(l.ProcessGuid), Index: int(i.Index)}))
		}
		l.Impediments = impediments(r.Process(work.ProcessGUID(l.ProcessGuid), keysOf(l)))
	}
	for _, c := range out.Cells {
		c.Impediments = impediments(r.Cell(work.CellID(c.Id)))
	}
	for _, t := range out.Tasks {
		t.Impediments = held(r.Task(work.TaskGUID(t.Guid)))
	}
}

func keysOf(l *droverv1.LRPStatus) []work.LRPKey {
	keys := make([]work.LRPKey, len(l.Indexes))
	for n, i := range l.Indexes {
		keys[n] = work.LRPKey{ProcessGUID: work.ProcessGUID(l.ProcessGuid), Index: int(i.Index)}
	}
	return keys
}

// Why tells what holds an entity, an instance or a task, or with all everything
// that is held.
func (m *modelService) Why(_ context.Context, req *connect.Request[droverv1.WhyRequest]) (*connect.Response[droverv1.WhyResponse], error) {
	view := m.cfg.Store.View()
	model, err := m.model(view, req.Msg.GetModel())
	if err != nil {
		return nil, err
	}
	if req.Msg.GetAll() {
		return connect.NewResponse(m.whyAll(view, model)), nil
	}
	r := m.reasons(view, model)
	r.AllCells = req.Msg.GetCells()
	a, err := m.whyOne(view, model, r, strings.TrimSpace(req.Msg.GetEntity()))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&droverv1.WhyResponse{
		Impediments: impediments(a.found), Summary: r.Summary(a.name+" ("+a.kind+")", a.life, a.since, a.found),
	}), nil
}

func (m *modelService) whyAll(view *store.View, model entity.ModelUID) *droverv1.WhyResponse {
	st := &droverv1.StatusResponse{}
	m.showModel(view, model, st)
	m.showWork(view, st)
	m.explain(view, model, st)
	out := &droverv1.WhyResponse{Summary: "nothing is held"}
	if st.Problems > 0 {
		out.Summary = strconv.Itoa(int(st.Problems)) + " things are held"
	}
	for _, x := range st.Machines {
		out.Impediments = append(out.Impediments, x.Impediments...)
	}
	for _, x := range st.Applications {
		out.Impediments = append(out.Impediments, x.Impediments...)
	}
	for _, x := range st.Units {
		out.Impediments = append(out.Impediments, x.Impediments...)
	}
	for _, x := range st.Relations {
		out.Impediments = append(out.Impediments, x.Impediments...)
	}
	for _, l := range st.Lrps {
		for _, x := range l.Indexes {
			out.Impediments = append(out.Impediments, x.Impediments...)
		}
	}
	for _, x := range st.Tasks {
		out.Impediments = append(out.Impediments, x.Impediments...)
	}
	return out
}

// answer is what is known about one thing that somebody asked about.
type answer struct {
	name, kind string
	life       entity.Life // of an entity
	since      when.Instant
	found      []why.Impediment
}

// whyOne finds what the text names: "mysql", "mysql/0", "3", "web", "web/3",
// "task:hello", or the ends of a relation.
func (m *modelService) whyOne(view *store.View, model entity.ModelUID, r why.Snapshot, text string) (answer, error) {
	reg := m.cfg.Registry
	missing := fault.New(fault.NotFound, "there is nothing called %q", text).Coded(fault.CodeNoSuchThing).
		Why("no application, unit, machine, relation, process or task has this name").Try("drover status")
	if guid, ok := strings.CutPrefix(text, "task:"); ok {
		t, ok := m.cfg.Board.Task(view, work.TaskGUID(guid))
		if !ok {
			return answer{}, missing
		}
		return answer{text, "task, " + t.State.String(), 0, t.Updated, r.Task(t.GUID)}, nil
	}
	if a, b, two := strings.Cut(text, " "); two {
		rel, err := reg.FindRelation(view, model, a, strings.TrimSpace(b))
		if err != nil {
			return answer{}, err
		}
		return answer{rel.CanonicalName(), "relation", rel.Life, rel.Since, r.Relation(rel.ID)}, nil
	}
	if app, ok := reg.Application(view, model, entity.AppName(text)); ok {
		return answer{text, "application", app.Life, app.Since, append(r.Application(app.Name), r.UnitsOf(app.Name)...)}, nil
	}
	if u, ok := reg.Unit(view, model, entity.UnitName(text)); ok {
		return answer{text, "unit", u.Life, u.Since, r.Unit(u.Name)}, nil
	}
	id := entity.MachineID(strings.TrimPrefix(text, "machine:"))
	if mach, ok := reg.Machine(view, model, id); ok {
		return answer{text, "machine", mach.Life, mach.Since, r.Machine(id)}, nil
	}
	if t, err := parseTarget(text); err == nil && t.lrp.ProcessGUID != "" {
		if a, ok := m.cfg.Board.Actual(view, t.lrp, false); ok {
			return answer{text, "instance, " + a.State.String(), 0, a.Since, r.LRP(t.lrp)}, nil
		}
		if d, ok := m.cfg.Board.Desired(view, t.lrp.ProcessGUID); ok && t.lrp.Index < d.Instances {
			return answer{text, "instance", 0, d.Created, r.LRP(t.lrp)}, nil
		}
		return answer{}, missing
	}
	return m.whyProcess(view, r, text, missing)
}

// whyProcess finds a process, desired or only left in records, or a cell.
func (m *modelService) whyProcess(view *store.View, r why.Snapshot, text string, missing error) (answer, error) {
	guid := work.ProcessGUID(text)
	d, desired := m.cfg.Board.Desired(view, guid)
	a := answer{name: text, kind: "process", since: d.Created}
	var left []work.LRPKey
	for _, row := range board.Readers(m.cfg.Board.ActualsOf(view, guid)) {
		left = append(left, row.LRPKey)
		if desired {
			a.found = append(a.found, r.LRP(row.LRPKey)...)
		}
	}
	switch {
	case desired:
		return a, nil
	case len(left) > 0:
		a.life, a.found = entity.Dying, r.Process(guid, left)
		return a, nil
	}
	if c, ok := m.cfg.Board.Cell(view, work.CellID(text)); ok {
		return answer{text, "cell, " + c.Presence.String(), 0, c.Since, r.Cell(c.ID)}, nil
	}
	return answer{}, missing
}
