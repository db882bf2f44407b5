package rep

import (
	"context"

	"drover/internal/loop"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// Stop obeys a command to stop an instance or to cancel a task. It only marks:
// the key's next step does it. Commands of older leaders than seen are ignored.
// Spec: 002 "Stopping ActualLRPs", "Cancelling Tasks".
func (r *Rep) Stop(cmd *droverv1.StopContainer) {
	guid := work.ContainerGUID(cmd.GetInstanceGuid())
	if t := cmd.GetTaskIncarnation(); t != "" {
		guid = work.ContainerGUID(t)
	}
	c, ok := r.cfg.Containers.Get(guid)
	r.mu.Lock()
	if cmd.GetEpoch() < r.epoch {
		r.mu.Unlock()
		r.cfg.Log.Warn("ignored a stop of an older leader", "container", guid, "epoch", cmd.GetEpoch())
		return
	}
	r.epoch = max(r.epoch, cmd.GetEpoch())
	key := lrpKey(work.LRPKey{ProcessGUID: work.ProcessGUID(cmd.GetProcessGuid()), Index: int(cmd.GetIndex())})
	if ok {
		key = keyOf(&c)
		if c.LRP != nil {
			r.stops[guid] = true
		}
	}
	if ok && c.LRP == nil || !ok && cmd.GetProcessGuid() != "" {
		r.mirror.doubt(key) // the board knows why: a cancelled task, a record without a container
	}
	r.mu.Unlock()
	if ok || cmd.GetProcessGuid() != "" {
		r.loop.Wake(key)
	}
}

// stop stops a container that was told to: first its record says that it is not
// routable, then the executor drains and ends it; the tables clean up when it is
// COMPLETED. stopped is true when the step ends here. Spec: SEMANTICS 43, 67.
func (l *look) stop(ctx context.Context, c *work.Container) (stopped bool, next loop.Next, err error) {
	a := l.seen.instance
	ours := a != nil && a.Holder == work.Holder{Instance: work.InstanceGUID(c.GUID), Cell: l.r.cfg.Cell}
	l.r.mu.Lock()
	told := l.r.stops[c.GUID]
	l.r.mu.Unlock()
	if !told && !(ours && a.Stopping) || c.State == work.Completed {
		return false, next, nil
	}
	if ours && a.State == work.Running && a.Routable {
		m := l.wire("unroutable")
		m.InstanceGuid, m.Incarnation, m.Seen = string(c.GUID), string(c.Incarnation), l.seen.instanceRev
		res, err := l.board(ctx, m)
		switch {
		case err != nil:
			return true, next, err
		case res.GetConflict():
			err := l.conflict(m, res)
			return true, loop.Next{Again: err == nil}, err
		case !res.GetOk():
			l.r.cfg.Log.Warn("the board refused", "key", l.key, "step", "unroutable", "err", res.GetError())
		}
	}
	if err := l.r.cfg.Containers.StopContainer(c.GUID); err != nil {
		return true, next, err
	}
	l.r.mu.Lock()
	delete(l.r.stops, c.GUID)
	l.r.mu.Unlock()
	return told, next, nil
}
