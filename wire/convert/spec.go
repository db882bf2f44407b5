package convert

import (
	"drover/noun/work"
	"drover/wire/droverv1"
)

// EnvToWire is a list of variables as messages.
func EnvToWire(env []work.EnvVar) []*droverv1.EnvVar {
	return list(env, func(e work.EnvVar) *droverv1.EnvVar { return &droverv1.EnvVar{Name: e.Name, Value: e.Value} })
}

// EnvFromWire is the inverse of EnvToWire.
func EnvFromWire(env []*droverv1.EnvVar) []work.EnvVar {
	return list(env, func(e *droverv1.EnvVar) work.EnvVar {
		return work.EnvVar{Name: e.GetName(), Value: e.GetValue()}
	})
}

// SpecToWire is the spec as a message.
func SpecToWire(s work.Spec) *droverv1.Spec {
	return &droverv1.Spec{
		RootFs: s.RootFS, Stack: s.Stack, MemoryMb: s.MemoryMB, DiskMb: s.DiskMB, MaxPids: s.MaxPids,
		CpuWeight: s.CPUWeight, Action: ActionToWire(s.Action), Env: EnvToWire(s.Env),
		PlacementTags: s.PlacementTags, VolumeDrivers: s.VolumeDrivers, LogSource: s.LogSource,
		MetricTags: EnvToWire(s.MetricTags), StartTimeoutMs: s.StartTimeoutMS,
		Setup: optionalToWire(s.Setup), Monitor: optionalToWire(s.Monitor),
		Ports: list(s.Ports, func(p int) int32 { return int32(p) }),
		Sidecars: list(s.Sidecars, func(c work.Sidecar) *droverv1.Sidecar {
			return &droverv1.Sidecar{Action: ActionToWire(c.Action), MemoryMb: c.MemoryMB, DiskMb: c.DiskMB}
		}),
	}
}

// SpecFromWire is the inverse of SpecToWire.
func SpecFromWire(m *droverv1.Spec) work.Spec {
	return work.Spec{
		RootFS: m.GetRootFs(), Stack: m.GetStack(), MemoryMB: m.GetMemoryMb(), DiskMB: m.GetDiskMb(), MaxPids: m.GetMaxPids(),
		CPUWeight: m.GetCpuWeight(), Action: ActionFromWire(m.GetAction()), Env: EnvFromWire(m.GetEnv()),
		PlacementTags: m.GetPlacementTags(), VolumeDrivers: m.GetVolumeDrivers(), LogSource: m.GetLogSource(),
		MetricTags: EnvFromWire(m.GetMetricTags()), StartTimeoutMS: m.GetStartTimeoutMs(),
		Setup: optionalFromWire(m.GetSetup()), Monitor: optionalFromWire(m.GetMonitor()),
		Ports: list(m.GetPorts(), func(p int32) int { return int(p) }),
		Sidecars: list(m.GetSidecars(), func(c *droverv1.Sidecar) work.Sidecar {
			return work.Sidecar{Action: ActionFromWire(c.GetAction()), MemoryMB: c.GetMemoryMb(), DiskMB: c.GetDiskMb()}
		}),
	}
}

// ResourcesToWire are the amounts as a message.
func ResourcesToWire(r work.Resources) *droverv1.Resources {
	return &droverv1.Resources{MemoryMb: r.MemoryMB, DiskMb: r.DiskMB, Containers: r.Containers}
}

// ResourcesFromWire is the inverse of ResourcesToWire.
func ResourcesFromWire(m *droverv1.Resources) work.Resources {
	return work.Resources{MemoryMB: m.GetMemoryMb(), DiskMB: m.GetDiskMb(), Containers: m.GetContainers()}
}

// NetToWire is where an instance is reached, as a message.
func NetToWire(n work.NetInfo) *droverv1.NetInfo {
	return &droverv1.NetInfo{
		Address: n.Address, InstanceAddress: n.InstanceAddress,
		Ports: list(n.Ports, func(p work.PortMapping) *droverv1.PortMapping {
			return &droverv1.PortMapping{Container: int32(p.Container), Host: int32(p.Host)}
		}),
	}
}

// NetFromWire is the inverse of NetToWire.
func NetFromWire(m *droverv1.NetInfo) work.NetInfo {
	return work.NetInfo{
		Address: m.GetAddress(), InstanceAddress: m.GetInstanceAddress(),
		Ports: list(m.GetPorts(), func(p *droverv1.PortMapping) work.PortMapping {
			return work.PortMapping{Container: int(p.GetContainer()), Host: int(p.GetHost())}
		}),
	}
}

// RoutesToWire are the routes as messages.
func RoutesToWire(rs []work.Route) []*droverv1.Route {
	return list(rs, func(r work.Route) *droverv1.Route { return &droverv1.Route{Router: r.Router, Data: r.Data} })
}

// RoutesFromWire is the inverse of RoutesToWire.
func RoutesFromWire(rs []*droverv1.Route) []work.Route {
	return list(rs, func(r *droverv1.Route) work.Route {
		return work.Route{Router: r.GetRouter(), Data: r.GetData()}
	})
}

func modTagToWire(t work.ModTag) *droverv1.ModTag {
	return &droverv1.ModTag{Epoch: t.Epoch, Index: t.Index}
}

func modTagFromWire(m *droverv1.ModTag) work.ModTag {
	return work.ModTag{Epoch: m.GetEpoch(), Index: m.GetIndex()}
}

// list converts each element; no elements are a nil list.
func list[A, B any](in []A, f func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}
