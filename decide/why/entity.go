package why

import (
	"fmt"

	"drover/noun/entity"
)

// mostChildren bounds the reasons that are listed under one.
const mostChildren = 20

// Application is why a Dying application is not gone: the units and relations
// that refer to it. An Alive one has no impediment of its own.
func (s Snapshot) Application(name entity.AppName) []Impediment {
	app, ok := s.World.Application(name)
	if !ok || app.Life == entity.Alive {
		return nil
	}
	blocked := Impediment{Entity: string(name), UID: string(app.UID), Blocks: Removal, LastChange: app.Since}
	var out []Impediment
	for _, u := range s.World.UnitsOf(name, mostChildren) {
		i := blocked
		i.Kind, i.Subject, i.Since = UnitExists, string(u.Name), u.Since
		i.Detail = fmt.Sprintf("unit %s still exists", u.Name)
		i.Children = s.unitRemoval(u)
		out = append(out, i)
	}
	for _, rel := range s.World.RelationsOf(name) {
		if len(out) >= 2*mostChildren {
			break
		}
		i := blocked
		i.Kind, i.Subject, i.Since = RelationHeld, rel.CanonicalName(), rel.Since
		i.Detail = fmt.Sprintf("relation %q still exists", rel.CanonicalName())
		i.Children = s.Relation(rel.ID)
		out = append(out, i)
	}
	return out
}

// UnitsOf is what holds the units of an Alive application, which has no
// impediment of its own.
func (s Snapshot) UnitsOf(name entity.AppName) []Impediment {
	app, ok := s.World.Application(name)
	if !ok || app.Life != entity.Alive {
		return nil
	}
	var out []Impediment
	for _, u := range s.World.UnitsOf(name, 0) {
		if found := s.Unit(u.Name); len(out) < mostChildren {
			out = append(out, found...)
		}
	}
	return out
}

// Relation is why a Dying relation is not gone: who is in its scope.
func (s Snapshot) Relation(id entity.RelationID) []Impediment {
	rel, ok := s.World.Relation(id)
	if !ok || rel.Life == entity.Alive {
		return nil
	}
	var out []Impediment
	for _, m := range s.World.MembersOf(id, mostChildren) {
		i := inScope(rel, m, rel.CanonicalName(), string(rel.UID))
		if u, ok := s.World.Unit(m.Unit); ok {
			i.Children = s.agentOf(u, Removal)
		}
		out = append(out, i)
	}
	return out
}

func inScope(rel entity.Relation, m entity.Member, blocked, uid string) Impediment {
	return Impediment{
		Entity: blocked, UID: uid, Blocks: Removal, Kind: UnitInScope, Subject: string(m.Unit), Since: rel.Since,
		Detail: fmt.Sprintf("unit %s is in scope of relation %q", m.Unit, rel.CanonicalName()), Owner: "agent of " + string(m.Unit),
	}
}

// Unit is why a unit is not gone, or not at work.
func (s Snapshot) Unit(name entity.UnitName) []Impediment {
	u, ok := s.World.Unit(name)
	switch {
	case !ok:
		return nil
	case u.Life != entity.Alive:
		return s.unitRemoval(u)
	case u.Failure != nil:
		return []Impediment{s.hookFailed(u, Ready)}
	case !u.Deployed:
		return s.agentOf(u, Start)
	case !s.heard(u):
		return s.agentOf(u, Ready)
	}
	if app, ok := s.World.Application(u.App); ok && app.Life != entity.Alive {
		return s.agentOf(u, Removal)
	}
	return nil
}

// unitRemoval is what keeps a unit that is to go: scopes and subordinates, and
// behind them the agent that has to act.
func (s Snapshot) unitRemoval(u entity.Unit) []Impediment {
	if u.Life != entity.Alive && !u.Deployed {
		return []Impediment{{
			Entity: string(u.Name), UID: string(u.UID), Blocks: Removal, Kind: WaitingCleaner, Subject: string(u.Name), Since: u.Since,
			Detail: "it was never deployed and is about to be removed", Owner: "cleaner", NextSteps: []string{waitRemoved("unit", string(u.Name))},
		}}
	}
	var out []Impediment
	for _, m := range s.World.ScopesOf(u.Name) {
		if rel, ok := s.World.Relation(m.Relation); ok {
			i := inScope(rel, m, string(u.Name), string(u.UID))
			i.Children = s.agentOf(u, Removal)
			out = append(out, i)
		}
	}
	for _, sub := range s.World.SubordinatesOf(u.Name) {
		out = append(out, Impediment{
			Entity: string(u.Name), UID: string(u.UID), Blocks: Removal, Kind: SubordinateExists, Subject: string(sub.Name), Since: sub.Since,
			Detail: fmt.Sprintf("its subordinate %s still exists", sub.Name), Owner: "agent of " + string(sub.Name), Children: s.unitRemoval(sub),
		})
	}
	if len(out) == 0 {
		return s.agentOf(u, Removal)
	}
	return out
}

// Machine is why a machine is not gone, or has no agent yet.
func (s Snapshot) Machine(id entity.MachineID) []Impediment {
	m, ok := s.World.Machine(id)
	if !ok {
		return nil
	}
	if m.Life == entity.Alive {
		return s.noAgent(m, string(m.ID), string(m.UID), Start)
	}
	blocked := Impediment{Entity: string(m.ID), UID: string(m.UID), Blocks: Removal, Since: m.Since}
	if m.Life == entity.Dead || m.Instance == "" && m.InstanceState != entity.InstanceStarting {
		blocked.Kind, blocked.Subject, blocked.Owner = InstanceHeld, m.Instance, "provisioner"
		blocked.Detail = "its instance is being released"
		blocked.NextSteps = []string{waitRemoved("machine", string(m.ID))}
		return []Impediment{blocked}
	}
	var out []Impediment
	for _, u := range s.World.PrincipalsOn(id) {
		i := blocked
		i.Kind, i.Subject, i.Since = UnitAssigned, string(u.Name), u.Since
		i.Detail = fmt.Sprintf("unit %s is assigned to it", u.Name)
		if i.Children = s.unitRemoval(u); len(out) < mostChildren {
			out = append(out, i)
		}
	}
	for _, child := range s.World.ChildMachines(id) {
		i := blocked
		i.Kind, i.Subject = ChildMachineExists, string(child)
		i.Detail = fmt.Sprintf("it hosts machine %s", child)
		i.Children = s.Machine(child)
		if len(i.Children) == 0 {
			i.NextSteps = []string{"drover remove-machine " + string(child)}
		}
		out = append(out, i)
	}
	if s.World.HoldsWork(id) {
		i := blocked
		i.Kind, i.Subject, i.Owner = ContainerExists, string(m.ID), "cell of machine "+string(m.ID)
		i.Detail = "its cell still holds instances or tasks"
		i.NextSteps = []string{"drover cells"}
		out = append(out, i)
	}
	if len(out) == 0 {
		out = s.noAgent(m, string(m.ID), string(m.UID), Removal)
	}
	if len(out) == 0 {
		blocked.Kind, blocked.Subject, blocked.Owner = AgentWorking, string(m.ID), "agent of machine "+string(m.ID)
		blocked.Detail = "its agent is about to set it dead"
		blocked.NextSteps = []string{"drover logs machine:" + string(m.ID)}
		out = append(out, blocked)
	}
	return out
}

func waitRemoved(kind, name string) string {
	return fmt.Sprintf("drover wait %s/%s --for removed", kind, name)
}
