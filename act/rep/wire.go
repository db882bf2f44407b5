package rep

import (
	"drover/decide/harmony"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// step is a plan's step as it travels, with the revision of the record that the
// decision saw. Nil for a step that is not the board's.
func (l *look) step(s harmony.Step, d harmony.Decision, c *work.Container) *droverv1.Step {
	m := l.wire(stepKinds[s])
	if m.Kind == "" {
		return nil
	}
	l.identify(m, s, c)
	switch s {
	case harmony.StartTask, harmony.CompleteTask, harmony.FailTask:
		m.Seen = l.seen.taskRev
	case harmony.CreateEvacuating, harmony.RemoveEvacuating:
		m.Seen = l.seen.evacuatingRev
		m.TtlMs = l.r.cfg.Evacuation.Milliseconds()
	default:
		m.Seen = l.seen.instanceRev
	}
	switch s {
	case harmony.Start, harmony.CreateEvacuating:
		m.Net = convert.NetToWire(c.Net)
	case harmony.Crash:
		m.Reason = crashReason(&c.Result)
	case harmony.FailTask:
		m.Failed, m.Reason = true, d.Why
	case harmony.CompleteTask:
		m.Failed, m.Reason, m.Result = c.Result.Failed, c.Result.FailureReason, c.Result.Result
		if c.Result.Stopped {
			m.Failed, m.Reason = true, "it was stopped"
		}
	}
	return m
}

var stepKinds = map[harmony.Step]string{
	harmony.Claim:            "claim",
	harmony.Start:            "start",
	harmony.Crash:            "crash",
	harmony.RemoveRecord:     "remove",
	harmony.Unclaim:          "unclaim",
	harmony.CreateEvacuating: "create_evacuating",
	harmony.RemoveEvacuating: "remove_evacuating",
	harmony.StartTask:        "start_task",
	harmony.CompleteTask:     "complete_task",
	harmony.FailTask:         "complete_task",
}

// identify says who asks: the container, or without one the record's own holder.
func (l *look) identify(m *droverv1.Step, s harmony.Step, c *work.Container) {
	switch {
	case c != nil && c.LRP != nil:
		m.InstanceGuid = string(c.GUID)
		m.Incarnation, m.Domain = string(c.Incarnation), string(c.Domain)
	case c != nil:
		m.Incarnation, m.Domain = string(c.Incarnation), string(c.Domain)
	case l.seen.task != nil:
		m.Incarnation = string(l.seen.task.Incarnation)
	default:
		a := l.seen.instance
		if s == harmony.RemoveEvacuating {
			a = l.seen.evacuating
		}
		if a != nil {
			m.InstanceGuid = string(a.Holder.Instance)
			m.Incarnation, m.Domain = string(a.Incarnation), string(a.Domain)
		}
	}
}

// crashReason says why, also of a process that ended well when it should not
// have ended.
func crashReason(r *work.RunResult) string {
	if r.FailureReason != "" {
		return r.FailureReason
	}
	return "exited with status 0"
}
