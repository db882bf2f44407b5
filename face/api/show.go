package api

import (
	"drover/act/presence"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/when"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// maxMembersShown bounds the units listed of a relation's scope.
const maxMembersShown = 20

func (s *Server) relation(r store.Reader, rel entity.Relation) *droverv1.Relation {
	out := &droverv1.Relation{
		Id: uint64(rel.ID), Uid: string(rel.UID), Life: rel.Life.String(), Endpoints: convert.EndpointsToWire(rel.Endpoints),
		Scope: rel.Scope().String(), InScopeCount: int32(s.cfg.Registry.ScopeCount(r, rel.Model, rel.ID)),
		Since: int64(rel.Since), Revision: uint64(s.cfg.Registry.RelationRevision(r, rel.Model, rel.ID)), Name: rel.CanonicalName(),
	}
	for _, m := range s.cfg.Registry.Members(r, rel.Model, rel.ID, maxMembersShown) {
		out.InScope = append(out.InScope, string(m.Unit))
	}
	return out
}

// The words for an agent's presence.
const (
	agentAlive   = "alive"
	agentAway    = "away"    // said goodbye until a time
	agentAwaited = "awaited" // this leader is new and has not heard it yet
	agentSilent  = "silent"
	agentNever   = "never"
)

// agentShown is how a machine's agent is there, and when it was last heard by
// this leader.
func (s *Server) agentShown(key string, everSeen bool) (state string, heard when.Instant) {
	t, err := s.tracker()
	if err != nil {
		return agentSilent, 0
	}
	if at, ok := t.LastHeard(key); ok {
		heard = when.Of(at)
	}
	switch st, _ := t.State(key); {
	case heard.IsZero() && !everSeen:
		return agentNever, 0
	case st == presence.Here && !heard.IsZero():
		return agentAlive, heard
	case st == presence.Away:
		return agentAway, heard
	case st == presence.Here:
		return agentAwaited, heard
	}
	return agentSilent, heard
}

func (s *Server) machineShown(r store.Reader, m entity.Machine) *droverv1.Machine {
	key := registry.MachineKey(m.Model, m.ID)
	agent, heard := s.agentShown(key, m.BootID != "")
	out := &droverv1.Machine{
		Id: string(m.ID), Uid: string(m.UID), Life: m.Life.String(), Provider: m.Provider, Instance: m.Instance,
		InstanceState: m.InstanceState.String(), InstanceError: m.InstanceError, Address: m.Address,
		Agent: agent, LastHeard: int64(heard), Since: int64(m.Since),
		Cpus: int32(m.Hardware.CPUs), MemoryMb: m.Hardware.MemoryMB, Arch: m.Hardware.Arch,
		Revision: uint64(s.cfg.Registry.MachineRevision(r, m.Model, m.ID)),
	}
	for _, j := range m.Jobs {
		out.Jobs = append(out.Jobs, j.String())
	}
	return out
}

// unitShown is the unit with its agent's status as it is to be taken: that of an
// agent whose machine is silent is "lost".
func (s *Server) unitShown(r store.Reader, u entity.Unit, app entity.Application) *droverv1.Unit {
	m, placed := s.cfg.Registry.MachineOf(r, u.Model, u)
	agent := u.Agent
	if placed && u.Deployed {
		key := registry.MachineKey(m.Model, m.ID)
		if state, heard := s.agentShown(key, true); state == agentSilent {
			agent = entity.Status{Value: entity.AgentLost, Message: "the agent of machine " + string(m.ID) + " is silent", Since: heard}
		}
	}
	return &droverv1.Unit{
		Name: string(u.Name), Uid: string(u.UID), Life: u.Life.String(), Application: string(u.App),
		Machine: string(m.ID), Principal: string(u.Principal),
		Workload: convert.StatusToWire(effective(u)), Agent: convert.StatusToWire(agent), Workflow: string(u.Workflow),
		Failure: convert.FailureToWire(u.Failure), Address: m.Address, Ports: convert.PortsToWire(u.Ports),
		Since: int64(u.Since), Leader: app.Leader == u.Name, Hook: u.Hook, LastHook: u.LastHook, LastHookMs: u.LastHookMS,
		Resolved: u.Failure != nil && u.Resolve != entity.ResolveNone,
		Revision: uint64(s.cfg.Registry.UnitRevision(r, u.Model, u.Name)),
	}
}

// statusOrder ranks workload statuses from the worst.
var statusOrder = []entity.StatusValue{
	entity.StatusError, entity.StatusBlocked, entity.StatusWaiting, entity.StatusMaintenance,
	entity.StatusUnknown, entity.StatusTerminated, entity.StatusActive,
}

// worst is the status of an application without one of its own: that of its
// worst unit.
func worst(units []entity.Unit) entity.Status {
	rank := func(v entity.StatusValue) int {
		for i, o := range statusOrder {
			if o == v {
				return i
			}
		}
		return len(statusOrder)
	}
	var out entity.Status
	for i, u := range units {
		st := effective(u)
		if i == 0 || rank(st.Value) < rank(out.Value) {
			out = st
		}
	}
	return out
}

// effective is a unit's workload status, or its failed hook.
func effective(u entity.Unit) entity.Status {
	if u.Failure != nil {
		return entity.Status{Value: entity.StatusError, Message: "hook failed: " + u.Failure.Hook, Since: u.Failure.Since}
	}
	return u.Workload
}

func (s *Server) applicationShown(r store.Reader, a entity.Application, units []entity.Unit) *droverv1.Application {
	out := &droverv1.Application{
		Name: string(a.Name), Uid: string(a.UID), Life: a.Life.String(), Charm: a.CharmName, CharmRevision: int32(a.CharmRev),
		Subordinate: a.Subordinate, Status: convert.StatusToWire(worst(units)), Units: int32(len(units)), Exposed: a.Exposed,
		Since: int64(a.Since), Revision: uint64(s.cfg.Registry.AppRevision(r, a.Model, a.Name)), Endpoints: convert.EndpointsToWire(a.Endpoints),
	}
	for _, u := range units {
		if u.Workload.Value == entity.StatusActive && u.Failure == nil {
			out.ActiveUnits++
		}
		if u.Version != "" {
			out.Version = u.Version
		}
	}
	return out
}
