package machineagent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"drover/internal/loop"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/droverv1"
)

const machineKey = "machine"

func unitKey(name string) string { return "unit/" + name }

// The waits before a duty is looked at again that the feed does not show done.
const (
	dutyAgain   = time.Second
	notYetAgain = 2 * time.Second
)

// Step does the machine's duties, or one step of a unit's agent.
func (a *Agent) Step(ctx context.Context, key string) (loop.Next, error) {
	if name, ok := strings.CutPrefix(key, "unit/"); ok {
		return a.stepUnit(ctx, entity.UnitName(name))
	}
	m, units, synced, connected := a.mirror.machine()
	if !synced {
		return loop.Next{}, nil
	}
	if m == nil || m.GetLife() == entity.Dead.String() {
		a.cfg.Log.Info("the machine is dead: its agent ends and will not run again")
		a.die()
		a.end(ErrDead)
		return loop.Next{}, nil
	}
	dying := m.GetLife() != entity.Alive.String()
	if a.cfg.Cell != nil {
		a.cfg.Cell.Evacuate(m.GetCellEvacuating() || dying)
	}
	if a.cfg.Hold != nil {
		a.cfg.Hold(reserved(units))
	}
	if !connected {
		return loop.Next{}, nil
	}
	called, err := a.deploy(ctx, units)
	err = errors.Join(err, a.recallStrangers(ctx, units))
	if err != nil {
		return loop.Next{}, err
	}
	if dying && len(units) == 0 {
		return a.setDead(ctx)
	}
	if called {
		return loop.Next{At: a.cfg.Now().Add(dutyAgain)}, nil
	}
	return loop.Next{}, nil
}

// reserved is what the machine's units set aside of its cell: their constraints
// (SEMANTICS 38). Subordinates live in what their principals have.
func reserved(units []*droverv1.UnitState) (sum work.Resources) {
	for _, u := range units {
		if c := u.GetConstraints(); u.GetPrincipal() == "" {
			sum = sum.Add(work.Resources{MemoryMB: c.GetMemoryMb(), DiskMB: c.GetDiskMb()})
		}
	}
	return sum
}

// deploy does a host's duties for its principals; those for subordinates are
// their principals'. Spec: 000 "Agents".
func (a *Agent) deploy(ctx context.Context, units []*droverv1.UnitState) (called bool, err error) {
	for _, u := range units {
		if u.GetPrincipal() != "" {
			continue
		}
		req := &droverv1.UnitRequest{Unit: u.GetName(), Uid: u.GetUid()}
		life := entity.ParseLife(u.GetLife())
		var failed error
		switch {
		case life == entity.Alive && !u.GetDeployed():
			a.cfg.Log.Info("deploy", "unit", u.GetName(), "why", "it is alive and not deployed")
			failed = a.cfg.Server.SetUnitDeployed(ctx, req)
		case life != entity.Alive && !u.GetDeployed():
			a.cfg.Log.Info("remove", "unit", u.GetName(), "why", "it is not alive and was never deployed")
			failed = a.cfg.Server.RemoveUnit(ctx, req)
		case life == entity.Dead:
			a.cfg.Log.Info("recall and remove", "unit", u.GetName(), "why", "it is dead")
			if failed = a.Recall(ctx, entity.UnitName(u.GetName())); failed == nil {
				failed = a.cfg.Server.RemoveUnit(ctx, req)
			}
		default:
			continue
		}
		called = true
		// Conflict and NotFound: it is no longer as the feed has shown it.
		if failed != nil && !fault.Is(failed, fault.Conflict) && !fault.Is(failed, fault.NotFound) {
			err = errors.Join(err, failed)
		}
	}
	return called, err
}

// recallStrangers recalls units that have a folder here and are not assigned to
// the machine. The feed was complete, so they are not only late.
func (a *Agent) recallStrangers(ctx context.Context, units []*droverv1.UnitState) error {
	entries, err := os.ReadDir(filepath.Join(a.cfg.DataDir, "units"))
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for _, u := range units {
		here[entity.UnitName(u.GetName()).Tag()] = true
	}
	for _, e := range entries {
		name, ok := unitOfTag(e.Name())
		if !ok || here[e.Name()] || !a.hasState(name) {
			continue
		}
		a.cfg.Log.Info("recall", "unit", name, "why", "it is not assigned to this machine")
		if err := a.Recall(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// unitOfTag is the inverse of UnitName.Tag.
func unitOfTag(tag string) (entity.UnitName, bool) {
	i := strings.LastIndexByte(tag, '-')
	if i < 0 {
		return "", false
	}
	name := entity.UnitName(tag[:i] + "/" + tag[i+1:])
	return name, name.Validate() == nil
}

// setDead ends a Dying machine that holds nothing any more. The server has the
// last word: its cell may hold work yet.
func (a *Agent) setDead(ctx context.Context) (loop.Next, error) {
	err := a.cfg.Server.SetMachineDead(ctx)
	if fault.Is(err, fault.Conflict) {
		a.cfg.Log.Debug("the machine is not dead yet", "err", err)
		return loop.Next{At: a.cfg.Now().Add(notYetAgain)}, nil
	}
	return loop.Next{At: a.cfg.Now().Add(notYetAgain)}, err
}
