package convert

import (
	"drover/noun/when"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// DesiredToWire is the desired LRP as a message. What a face keeps in Opaque
// stays behind.
func DesiredToWire(d work.DesiredLRP) *droverv1.DesiredLRP {
	return &droverv1.DesiredLRP{
		ProcessGuid: string(d.ProcessGUID), Incarnation: string(d.Incarnation), Domain: string(d.Domain),
		Instances: int32(d.Instances), Spec: SpecToWire(d.Spec), Routes: RoutesToWire(d.Routes),
		Annotation: d.Annotation, ModTag: modTagToWire(d.ModTag), Created: int64(d.Created),
	}
}

// DesiredFromWire is the inverse of DesiredToWire.
func DesiredFromWire(m *droverv1.DesiredLRP) work.DesiredLRP {
	return work.DesiredLRP{
		ProcessGUID: work.ProcessGUID(m.GetProcessGuid()), Incarnation: work.Incarnation(m.GetIncarnation()), Domain: work.Domain(m.GetDomain()),
		Instances: int(m.GetInstances()), Spec: SpecFromWire(m.GetSpec()), Routes: RoutesFromWire(m.GetRoutes()),
		Annotation: m.GetAnnotation(), ModTag: modTagFromWire(m.GetModTag()), Created: when.Instant(m.GetCreated()),
	}
}

// HolderToWire is the pair of instance and cell as a message; nil for nobody.
func HolderToWire(h work.Holder) *droverv1.Holder {
	if h == (work.Holder{}) {
		return nil
	}
	return &droverv1.Holder{Instance: string(h.Instance), Cell: string(h.Cell)}
}

// HolderFromWire is the inverse of HolderToWire.
func HolderFromWire(m *droverv1.Holder) work.Holder {
	return work.Holder{Instance: work.InstanceGUID(m.GetInstance()), Cell: work.CellID(m.GetCell())}
}

// ActualToWire is the record as a message, with the revision of its row.
func ActualToWire(a work.ActualLRP, revision uint64) *droverv1.ActualLRP {
	return &droverv1.ActualLRP{
		ProcessGuid: string(a.ProcessGUID), Index: int32(a.Index), Evacuating: a.Evacuating, Domain: string(a.Domain),
		State: a.State.String(), Holder: HolderToWire(a.Holder), Incarnation: string(a.Incarnation),
		CrashCount: int32(a.CrashCount), CrashReason: a.CrashReason, Since: int64(a.Since), PlacementError: a.PlacementError,
		Net: NetToWire(a.Net), ModTag: modTagToWire(a.ModTag), Expires: int64(a.Expires),
		Routable: a.Routable, Stopping: a.Stopping, Revision: revision,
	}
}

// ActualFromWire is the inverse of ActualToWire.
func ActualFromWire(m *droverv1.ActualLRP) work.ActualLRP {
	return work.ActualLRP{
		LRPKey:     work.LRPKey{ProcessGUID: work.ProcessGUID(m.GetProcessGuid()), Index: int(m.GetIndex())},
		Evacuating: m.GetEvacuating(), Domain: work.Domain(m.GetDomain()), State: work.ParseLRPState(m.GetState()),
		Holder: HolderFromWire(m.GetHolder()), Incarnation: work.Incarnation(m.GetIncarnation()),
		CrashCount: int(m.GetCrashCount()), CrashReason: m.GetCrashReason(), Since: when.Instant(m.GetSince()),
		PlacementError: m.GetPlacementError(), Net: NetFromWire(m.GetNet()), ModTag: modTagFromWire(m.GetModTag()),
		Expires: when.Instant(m.GetExpires()), Routable: m.GetRoutable(), Stopping: m.GetStopping(),
	}
}

// TaskToWire is the task as a message, with the revision of its row.
func TaskToWire(t work.Task, revision uint64) *droverv1.Task {
	return &droverv1.Task{
		Guid: string(t.GUID), Incarnation: string(t.Incarnation), Domain: string(t.Domain), State: t.State.String(),
		Cell: string(t.Cell), Spec: SpecToWire(t.Spec), ResultFile: t.ResultFile, Failed: t.Failed,
		FailureReason: t.FailureReason, Result: t.Result, Callback: t.Callback, Annotation: t.Annotation,
		Created: int64(t.Created), Updated: int64(t.Updated), FirstCompleted: int64(t.FirstCompleted),
		PlacementError: t.PlacementError, Revision: revision,
	}
}

// TaskFromWire is the inverse of TaskToWire.
func TaskFromWire(m *droverv1.Task) work.Task {
	return work.Task{
		GUID: work.TaskGUID(m.GetGuid()), Incarnation: work.Incarnation(m.GetIncarnation()), Domain: work.Domain(m.GetDomain()), State: work.ParseTaskState(m.GetState()),
		Cell: work.CellID(m.GetCell()), Spec: SpecFromWire(m.GetSpec()), ResultFile: m.GetResultFile(), Failed: m.GetFailed(),
		FailureReason: m.GetFailureReason(), Result: m.GetResult(), Callback: m.GetCallback(), Annotation: m.GetAnnotation(),
		Created: when.Instant(m.GetCreated()), Updated: when.Instant(m.GetUpdated()), FirstCompleted: when.Instant(m.GetFirstCompleted()),
		PlacementError: m.GetPlacementError(),
	}
}

// TaskStateToWire is what a cell must know of a task.
func TaskStateToWire(t work.Task, revision uint64) *droverv1.TaskState {
	return &droverv1.TaskState{
		Guid: string(t.GUID), Incarnation: string(t.Incarnation), State: t.State.String(), Cell: string(t.Cell), Revision: revision,
	}
}

// TaskStateFromWire is the inverse of TaskStateToWire.
func TaskStateFromWire(m *droverv1.TaskState) work.Task {
	return work.Task{
		GUID: work.TaskGUID(m.GetGuid()), Incarnation: work.Incarnation(m.GetIncarnation()),
		State: work.ParseTaskState(m.GetState()), Cell: work.CellID(m.GetCell()),
	}
}
