package convert

import (
	"drover/noun/entity"
	"drover/noun/when"
	"drover/wire/droverv1"
)

// StatusToWire is a status as a message.
func StatusToWire(s entity.Status) *droverv1.StatusValue {
	return &droverv1.StatusValue{Value: string(s.Value), Message: s.Message, Since: int64(s.Since)}
}

// StatusFromWire is the inverse of StatusToWire.
func StatusFromWire(m *droverv1.StatusValue) entity.Status {
	return entity.Status{Value: entity.StatusValue(m.GetValue()), Message: m.GetMessage(), Since: when.Instant(m.GetSince())}
}

// FailureToWire is a failed hook as a message; nil for none.
func FailureToWire(f *entity.HookFailure) *droverv1.HookFailure {
	if f == nil {
		return nil
	}
	return &droverv1.HookFailure{
		Hook: f.Hook, Exit: int32(f.Exit), Reason: f.Reason, Tries: int32(f.Tries), Since: int64(f.Since),
		NextRetry: int64(f.NextRetry), LastOutput: f.LastOutput, RelationId: uint64(f.RelationID), Remote: string(f.Remote),
	}
}

// FailureFromWire is the inverse of FailureToWire.
func FailureFromWire(m *droverv1.HookFailure) *entity.HookFailure {
	if m == nil {
		return nil
	}
	return &entity.HookFailure{
		Hook: m.GetHook(), Exit: int(m.GetExit()), Reason: m.GetReason(), Tries: int(m.GetTries()), Since: when.Instant(m.GetSince()),
		NextRetry: when.Instant(m.GetNextRetry()), LastOutput: m.GetLastOutput(), RelationID: entity.RelationID(m.GetRelationId()), Remote: entity.UnitName(m.GetRemote()),
	}
}

// PortsToWire are the ports as messages.
func PortsToWire(ps []entity.Port) []*droverv1.Port {
	return list(ps, func(p entity.Port) *droverv1.Port {
		return &droverv1.Port{From: int32(p.From), To: int32(p.To), Protocol: p.Protocol}
	})
}

// PortsFromWire is the inverse of PortsToWire.
func PortsFromWire(ps []*droverv1.Port) []entity.Port {
	return list(ps, func(p *droverv1.Port) entity.Port {
		return entity.Port{From: int(p.GetFrom()), To: int(p.GetTo()), Protocol: p.GetProtocol()}
	})
}

// EndpointsToWire are the endpoints as messages.
func EndpointsToWire(es []entity.Endpoint) []*droverv1.Endpoint {
	return list(es, func(e entity.Endpoint) *droverv1.Endpoint {
		return &droverv1.Endpoint{
			Application: string(e.App), Name: e.Name, Role: e.Role.String(), Interface: e.Interface, Scope: e.Scope.String(),
		}
	})
}

// ConstraintsToWire are the constraints as a message.
func ConstraintsToWire(c entity.Constraints) *droverv1.Constraints {
	return &droverv1.Constraints{MemoryMb: c.MemoryMB, DiskMb: c.DiskMB, MilliCpu: c.MilliCPU, Arch: c.Arch}
}

// ConstraintsFromWire is the inverse of ConstraintsToWire.
func ConstraintsFromWire(m *droverv1.Constraints) entity.Constraints {
	return entity.Constraints{MemoryMB: m.GetMemoryMb(), DiskMB: m.GetDiskMb(), MilliCPU: m.GetMilliCpu(), Arch: m.GetArch()}
}

// ResolveToWire is the resolve mode as feeds spell it.
func ResolveToWire(r entity.Resolve) string {
	switch r {
	case entity.ResolveRetry:
		return "retry"
	case entity.ResolveSkip:
		return "skip"
	case entity.ResolveNone:
		return ""
	default:
		return ""
	}
}

// ResolveFromWire is the inverse of ResolveToWire.
func ResolveFromWire(s string) entity.Resolve {
	switch s {
	case "retry":
		return entity.ResolveRetry
	case "skip":
		return entity.ResolveSkip
	default:
		return entity.ResolveNone
	}
}
