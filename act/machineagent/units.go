package machineagent

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"drover/act/unitagent"
	"drover/internal/loop"
	"drover/noun/entity"
)

// slot is the place of one unit's agent.
type slot struct {
	turn   sync.Mutex // held during a step of the agent and during its recall
	agent  *unitagent.Agent
	cancel context.CancelFunc // ends the step under way; guarded by Agent.mu
}

func (a *Agent) unitDir(unit entity.UnitName) string {
	return filepath.Join(a.cfg.DataDir, "units", unit.Tag())
}

// hasState reports whether there is more of a unit here than its log.
func (a *Agent) hasState(unit entity.UnitName) bool {
	_, err := os.Stat(filepath.Join(a.unitDir(unit), "state"))
	return err == nil
}

// stepUnit does one step of a unit's agent. Every unit of the machine that is
// deployed and not Dead has one; it is made with its first step.
func (a *Agent) stepUnit(ctx context.Context, unit entity.UnitName) (loop.Next, error) {
	w := a.mirror.look(string(unit))
	if !w.Synced || w.Unit == nil || !w.Unit.GetDeployed() || w.Unit.GetLife() == entity.Dead.String() {
		return loop.Next{}, nil
	}
	s, ctx, done := a.enter(ctx, unit)
	defer done()
	s.turn.Lock()
	defer s.turn.Unlock()
	if ctx.Err() != nil {
		return loop.Next{}, ctx.Err() // recalled meanwhile
	}
	if s.agent == nil {
		agent, err := a.newUnit(&w, unit)
		if err != nil {
			return loop.Next{}, err
		}
		s.agent = agent
	}
	next, err := s.agent.Step(ctx)
	if s.agent.Done() {
		_ = s.agent.Close()
		s.agent = nil
	}
	return next, err
}

// enter finds the unit's slot and a context that its recall ends.
func (a *Agent) enter(ctx context.Context, unit entity.UnitName) (*slot, context.Context, func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.units[unit]
	if s == nil {
		s = &slot{}
		a.units[unit] = s
	}
	ctx, s.cancel = context.WithCancel(ctx)
	return s, ctx, s.cancel
}

func (a *Agent) newUnit(w *unitagent.World, unit entity.UnitName) (*unitagent.Agent, error) {
	return unitagent.New(unitagent.Config{
		Unit: unit, UID: entity.UID(w.Unit.GetUid()), Machine: a.cfg.Machine, Dir: a.unitDir(unit),
		HookBinary: a.cfg.HookBinary, BinDir: a.cfg.BinDir, BootID: a.cfg.BootID,
		Server: a.cfg.Server, Host: a, Lock: a.lock, Runner: a.cfg.Runner,
		Now: a.cfg.Now, NewID: a.cfg.NewID, Log: a.cfg.Log, ReadWait: a.cfg.ReadWait,
	})
}

// Look is the world of one of the machine's units.
func (a *Agent) Look(unit entity.UnitName) unitagent.World { return a.mirror.look(string(unit)) }

// Recall ends a unit's agent, with the hook that it perhaps runs, and removes
// the unit's folder; its log stays. Recalling twice is no error.
func (a *Agent) Recall(_ context.Context, unit entity.UnitName) error {
	a.mu.Lock()
	s := a.units[unit]
	if s == nil {
		s = &slot{}
		a.units[unit] = s
	}
	if s.cancel != nil {
		s.cancel()
	}
	a.mu.Unlock()
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.agent != nil {
		_ = s.agent.Close()
		s.agent = nil
	}
	dir := a.unitDir(unit)
	if err := unitagent.EndUnit(dir); err != nil {
		return err
	}
	// State last: while it is there, the unit is known to be recalled yet.
	for _, part := range []string{"charm.new", "charm", "tools", "data", "state"} {
		if err := os.RemoveAll(filepath.Join(dir, part)); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.units, unit)
	return nil
}

// closeUnits ends the agents of all units when the machine's agent stops.
func (a *Agent) closeUnits() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.units { // order-free: each by itself
		if s.agent != nil {
			_ = s.agent.Close()
			s.agent = nil
		}
	}
}
