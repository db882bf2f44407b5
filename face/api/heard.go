package api

import (
	"context"

	"drover/act/presence"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// tracker is the leader's soft state of who was heard.
func (s *Server) tracker() (*presence.Tracker, error) {
	if t := s.cfg.Presence(); t != nil {
		return t, nil
	}
	l := s.cfg.Store.Leadership()
	if l.Leading {
		return nil, fault.New(fault.Unavailable, "this server has just begun to lead").Why("it takes a moment")
	}
	return nil, store.NotLeader(l.Leader, l.Address)
}

// maxList bounds the lists of a cell's report.
const maxList = 64

// heard takes a sign of life, with the cell's report if the machine is one. The
// row comes before the report: nobody reads a report of a cell that is not there.
func (a *agentService) heard(ctx context.Context, report *droverv1.CellReport) error {
	tracker, err := a.tracker()
	if err != nil {
		return err
	}
	m := a.machine(ctx)
	tracker.Heard(m.Key())
	if report == nil {
		return nil
	}
	if len(report.GetRuntimes()) > maxList || len(report.GetTags()) > maxList || len(report.GetVolumes()) > maxList {
		return fault.New(fault.Invalid, "the report of cell %s is too long", m.Cell).Why("its lists may have %d entries", maxList)
	}
	facts := work.Cell{
		ID: m.Cell, Machine: m.Key(), MachineUID: string(m.UID), Zone: report.GetZone(), Stack: report.GetStack(),
		Runtimes: report.GetRuntimes(), Tags: report.GetTags(), Volumes: report.GetVolumes(),
		Capacity: convert.ResourcesFromWire(report.GetCapacity()), Evacuating: report.GetEvacuating(), Unfit: report.GetUnfit(),
	}
	if row, ok := a.cfg.Registry.Machine(a.cfg.Store.View(), m.Model, m.ID); ok {
		facts.Address = row.Address
	}
	if a.cfg.Board.CellChanged(a.cfg.Store.View(), facts) {
		if _, err := a.cfg.Store.Update(ctx, func(tx *store.Txn) error {
			row, ok := a.cfg.Registry.Machine(tx, m.Model, m.ID)
			if !ok || row.UID != m.UID || row.Life == entity.Dead || !row.HasJob(entity.HostUnits) {
				return fault.New(fault.Conflict, "machine %s is no cell", m.ID).Why("it is gone, or it has no job to host units")
			}
			return a.cfg.Board.UpsertCell(tx, a.now(), facts)
		}); err != nil {
			return err
		}
	}
	a.hub.Acknowledge(m.Key(), report.GetLastWork())
	tracker.Report(m.Cell, presence.Report{
		Reserved: convert.ResourcesFromWire(report.GetReserved()), Capacity: facts.Capacity,
		Evacuating: facts.Evacuating, Unfit: facts.Unfit, LastWork: report.GetLastWork(),
	})
	return nil
}
