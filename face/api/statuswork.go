package api

import (
	"fmt"
	"strings"

	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// showWork adds the LRPs, tasks and cells of the whole cluster.
func (s *Server) showWork(view *store.View, out *droverv1.StatusResponse) {
	out.Lrps = s.lrpsShown(view)
	for t := range s.cfg.Board.AllTasks(view) {
		out.Tasks = append(out.Tasks, s.taskShown(view, t))
	}
	for c := range s.cfg.Board.AllCells(view) {
		out.Cells = append(out.Cells, s.cellShown(view, c))
	}
}

// lrpsShown are the desired LRPs, then those that are only left in records.
func (s *Server) lrpsShown(view *store.View) []*droverv1.LRPStatus {
	b := s.cfg.Board
	var out []*droverv1.LRPStatus
	byGUID := map[work.ProcessGUID]*droverv1.LRPStatus{}
	for d := range b.AllDesired(view) {
		st := &droverv1.LRPStatus{
			ProcessGuid: string(d.ProcessGUID), Domain: string(d.Domain), Instances: int32(d.Instances), Uid: string(d.Incarnation),
			Life: entity.Alive.String(), Revision: uint64(b.DesiredRevision(view, d.ProcessGUID)),
		}
		byGUID[d.ProcessGUID] = st
		out = append(out, st)
	}
	for _, a := range board.Readers(b.AllActual(view)) {
		st, ok := byGUID[a.ProcessGUID]
		if !ok {
			st = &droverv1.LRPStatus{ProcessGuid: string(a.ProcessGUID), Domain: string(a.Domain), Instances: -1, Life: entity.Dying.String()}
			byGUID[a.ProcessGUID] = st
			out = append(out, st)
		}
		index := s.indexShown(a)
		index.Revision = uint64(b.ActualRevision(view, a.LRPKey, a.Evacuating))
		if a.Stopping || int(st.Instances) <= a.Index {
			index.Life = entity.Dying.String()
		}
		if st.Instances < 0 {
			st.Revision = max(st.Revision, index.Revision)
		}
		st.Indexes = append(st.Indexes, index)
	}
	return out
}

func (s *Server) indexShown(a work.ActualLRP) *droverv1.LRPIndexStatus {
	st := &droverv1.LRPIndexStatus{
		Index: int32(a.Index), State: a.State.String(), Cell: string(a.Holder.Cell), Since: int64(a.Since), CrashCount: int32(a.CrashCount),
		Uid: string(a.Holder.Instance), Life: entity.Alive.String(),
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
	if a.State == work.Crashed {
		if at, again := s.cfg.Board.Crashes.RestartAt(&a); again {
			st.RestartAt = int64(at)
		}
	}
	if len(a.Net.Ports) > 0 {
		st.Address = fmt.Sprintf("%s:%d", a.Net.Address, a.Net.Ports[0].Host)
	}
	return st
}

func (s *Server) taskShown(view *store.View, t work.Task) *droverv1.TaskStatus {
	st := &droverv1.TaskStatus{
		Guid: string(t.GUID), Domain: string(t.Domain), State: t.State.String(), Cell: string(t.Cell), Since: int64(t.Updated), Failed: t.Failed,
		Note: t.PlacementError, Uid: string(t.Incarnation), Life: entity.Alive.String(), Revision: uint64(s.cfg.Board.TaskRevision(view, t.GUID)),
	}
	if t.Failed {
		st.Note = t.FailureReason
	}
	if t.State == work.TaskResolving {
		st.Life = entity.Dying.String()
	}
	return st
}

func (s *Server) cellShown(view *store.View, c work.Cell) *droverv1.CellStatus {
	st := &droverv1.CellStatus{
		Id: string(c.ID), Presence: c.Presence.String(), Evacuating: c.Evacuating, Unfit: c.Unfit, Uid: c.MachineUID,
		Life: entity.Dead.String(), Revision: uint64(s.cfg.Board.CellRevision(view, c.ID)),
	}
	model, id, _ := strings.Cut(c.Machine, "/") // as registry.MachineKey joins them
	st.Machine = id
	if m, ok := s.cfg.Registry.Machine(view, entity.ModelUID(model), entity.MachineID(id)); ok && string(m.UID) == c.MachineUID {
		st.Life = m.Life.String()
	}
	st.Instances, st.Tasks = s.countOn(view, c.ID)
	return st
}
