package api

import (
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// machineOf is the key of the machine that a cell is on.
func (s *Server) machineOf(cell work.CellID) (string, error) {
	c, ok := s.cfg.Board.Cell(s.cfg.Store.View(), cell)
	if !ok {
		return "", fault.New(fault.NotFound, "there is no cell %s", cell).Coded(fault.CodeNoSuchCell)
	}
	return c.Machine, nil
}

// SendWork puts a batch into the outbox of a cell's machine. It is sent again
// until the cell acknowledges it or the leadership ends; the answer comes to
// Config.Answered. Unavailable: its agent is not connected.
func (s *Server) SendWork(cell work.CellID, batch *droverv1.WorkBatch) error {
	key, err := s.machineOf(cell)
	if err != nil {
		return err
	}
	s.addRevisions(batch)
	return s.hub.SendWork(key, batch)
}

// addRevisions tells the cell which record each item stands for, so that it can
// claim without looking. An item whose record is not waiting any more gets none:
// the cell looks.
func (s *Server) addRevisions(batch *droverv1.WorkBatch) {
	view := s.cfg.Store.View()
	for _, item := range batch.GetItems() {
		if item.GetRevision() != 0 {
			continue
		}
		of := work.Incarnation(item.GetIncarnation())
		if guid := work.TaskGUID(item.GetTaskGuid()); guid != "" {
			if t, ok := s.cfg.Board.Task(view, guid); ok && t.State == work.TaskPending && t.Incarnation == of {
				item.Revision = uint64(s.cfg.Board.TaskRevision(view, guid))
			}
			continue
		}
		key := work.LRPKey{ProcessGUID: work.ProcessGUID(item.GetProcessGuid()), Index: int(item.GetIndex())}
		if a, ok := s.cfg.Board.Actual(view, key, false); ok && a.State == work.Unclaimed && a.Incarnation == of {
			item.Revision = uint64(s.cfg.Board.ActualRevision(view, key, false))
		}
	}
}

// SendStop tells a cell to stop a container. It is sent once: whoever wants the
// stop looks again. Unavailable: its agent is not connected.
func (s *Server) SendStop(cell work.CellID, stop *droverv1.StopContainer) error {
	key, err := s.machineOf(cell)
	if err != nil {
		return err
	}
	return s.hub.Send(key, &droverv1.Delta{Key: "stop", Value: &droverv1.Delta_Stop{Stop: stop}})
}
