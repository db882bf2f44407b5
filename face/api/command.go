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
		return "", fault.New(fault.NotFound, "there is no cell %s", cell)
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
	return s.hub.SendWork(key, batch)
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
