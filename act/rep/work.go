package rep

import (
	"fmt"

	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// Work reserves what the auctioneer placed here, or refuses it with a reason,
// and returns the answer to send: the auctioneer is not kept waiting for claims.
// Work sent twice is reserved once.
// Spec: 002 "Starting ActualLRPs", "Harmonizing during evacuation".
func (r *Rep) Work(b *droverv1.WorkBatch) *droverv1.AckWorkRequest {
	refuse := r.admit(b)
	ack := &droverv1.AckWorkRequest{Batch: b.GetId()}
	for _, item := range b.GetItems() {
		reason := refuse
		if reason == "" {
			reason = r.reserve(item)
		}
		if reason != "" {
			r.cfg.Log.Info("work refused", "lrp", item.GetProcessGuid(), "index", item.GetIndex(), "task", item.GetTaskGuid(), "why", reason)
			ack.Refused = append(ack.Refused, &droverv1.Refusal{
				ProcessGuid: item.GetProcessGuid(), Index: item.GetIndex(), TaskGuid: item.GetTaskGuid(), Reason: reason,
			})
		}
	}
	ack.Epoch, ack.Cell = r.Epoch(), r.Report()
	return ack
}

// admit says why no work of the batch is taken, or "".
func (r *Rep) admit(b *droverv1.WorkBatch) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b.GetEpoch() < r.epoch {
		return fmt.Sprintf("sent by a leader of epoch %d, the cell follows %d", b.GetEpoch(), r.epoch)
	}
	if b.GetEpoch() > r.epoch {
		r.epoch, r.lastWork = b.GetEpoch(), 0
	}
	r.lastWork = max(r.lastWork, b.GetId())
	switch {
	case r.draining:
		return "the cell is evacuating"
	case r.unfit != "":
		return "the cell is unfit: " + r.unfit
	}
	return ""
}

func (r *Rep) reserve(item *droverv1.WorkItem) string {
	c := work.Container{
		Domain: work.Domain(item.GetDomain()), Incarnation: work.Incarnation(item.GetIncarnation()),
		Spec: convert.SpecFromWire(item.GetSpec()), ResultFile: item.GetResultFile(),
	}
	hint := &records{}
	if item.GetTaskGuid() != "" {
		c.Task, c.GUID = work.TaskGUID(item.GetTaskGuid()), work.ContainerGUID(item.GetIncarnation())
		hint.task, hint.taskRev = &work.Task{GUID: c.Task, Incarnation: c.Incarnation, State: work.TaskPending}, item.GetRevision()
	} else {
		c.LRP = &work.LRPKey{ProcessGUID: work.ProcessGUID(item.GetProcessGuid()), Index: int(item.GetIndex())}
		c.GUID = work.ContainerGUID(item.GetInstanceGuid())
		hint.instance = &work.ActualLRP{LRPKey: *c.LRP, Domain: c.Domain, Incarnation: c.Incarnation, State: work.Unclaimed}
		hint.instanceRev = item.GetRevision()
	}
	if c.Spec.Stack != "" && c.Spec.Stack != r.cfg.Stack {
		return fmt.Sprintf("the cell's stack is %q, not %q", r.cfg.Stack, c.Spec.Stack)
	}
	key := keyOf(&c)
	r.mu.Lock()
	if r.mirror.rows[key] == nil && item.GetRevision() != 0 {
		r.mirror.hints[key] = hint
	}
	r.mu.Unlock()
	if err := r.cfg.Containers.Reserve(c); err != nil {
		r.mu.Lock()
		delete(r.mirror.hints, key)
		r.mu.Unlock()
		if fault.KindOf(err) == fault.Internal {
			r.cfg.Log.Warn("cannot reserve", "key", key, "err", err)
			return "the cell failed to reserve"
		}
		return err.Error()
	}
	r.mu.Lock()
	r.note(&c)
	r.mu.Unlock()
	r.loop.Wake(key)
	return ""
}

// SetUnfit says why the cell can take no work; "" when it can.
// Spec: 002 "Detecting Cell Failures".
func (r *Rep) SetUnfit(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unfit = why
}

// Report is the cell's state for heartbeats and acknowledgements.
func (r *Rep) Report() *droverv1.CellReport {
	capacity, taken := r.cfg.Containers.Resources()
	r.mu.Lock()
	defer r.mu.Unlock()
	return &droverv1.CellReport{
		Capacity: convert.ResourcesToWire(capacity), Reserved: convert.ResourcesToWire(taken),
		Runtimes: r.cfg.Runtimes, Stack: r.cfg.Stack, Zone: r.cfg.Zone, Tags: r.cfg.Tags, Volumes: r.cfg.Volumes,
		Evacuating: r.draining, Unfit: r.unfit, LastWork: r.lastWork,
	}
}
