package feed

import (
	"strconv"

	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// maxHookRetries is the model setting and its default. Spec: SEMANTICS 24.
const (
	settingMaxHookRetries = "max-hook-retries"
	defaultMaxHookRetries = 5
)

// MaxHookRetries is the model's setting, or the default.
func MaxHookRetries(m entity.Model) int {
	if n, err := strconv.Atoi(m.Settings[settingMaxHookRetries]); err == nil && n >= 0 {
		return n
	}
	return defaultMaxHookRetries
}

func (s *Source) unitPart(v *store.View, m Machine, name entity.UnitName) part {
	p := part{
		deps: []store.Topic{
			registry.UnitTopic(m.Model, name), registry.ModelTopic(m.Model),
			registry.AppTopic(m.Model, name.App()), registry.ConfigTopic(m.Model, name.App()),
		},
		values: map[string]value{},
	}
	u, ok := s.Registry.Unit(v, m.Model, name)
	if !ok {
		return p
	}
	if u.IsSubordinate() {
		p.deps = append(p.deps, registry.UnitTopic(m.Model, u.Principal), registry.AppTopic(m.Model, u.Principal.App()))
	}
	p.values["unit/"+string(name)] = stamped(&droverv1.Delta{Value: &droverv1.Delta_Unit{Unit: s.unitState(v, m, u)}})
	for _, ur := range s.Registry.UnitRelations(v, m.Model, name) {
		p.children = append(p.children, group{kind: "relation", unit: name, rel: ur.Relation.ID})
	}
	return p
}

func (s *Source) unitState(v *store.View, m Machine, u entity.Unit) *droverv1.UnitState {
	app, _ := s.Registry.Application(v, m.Model, u.App)
	model, _ := s.Registry.Model(v, m.Model)
	machine, _ := s.Registry.Machine(v, m.Model, m.ID)
	state := &droverv1.UnitState{
		Name: string(u.Name), Uid: string(u.UID), Life: u.Life.String(),
		Application: string(u.App), Principal: string(u.Principal),
		CharmSha: string(app.Charm), CharmName: app.CharmName, CharmRevision: int32(app.CharmRev),
		Deployed: u.Deployed, Incarnation: int32(u.Incarnation), Commits: u.Commits, Resolve: convert.ResolveToWire(u.Resolve),
		Leader: app.Leader == u.Name, Forced: u.Forced, Workflow: string(u.Workflow), Address: machine.Address,
		MaxHookRetries: int32(MaxHookRetries(model)), Failure: convert.FailureToWire(u.Failure),
		Workload: convert.StatusToWire(u.Workload), Ports: convert.PortsToWire(u.Ports),
		Constraints: convert.ConstraintsToWire(app.Constraints),
	}
	if app.Life != 0 {
		state.ApplicationLife = app.Life.String()
	}
	if values, err := s.Registry.Config(v, m.Model, u.App); err == nil {
		for _, c := range values {
			if c.IsSet {
				state.Config = append(state.Config, &droverv1.ConfigValue{Name: c.Name, Type: c.Type, Value: c.Value})
			}
		}
		state.ConfigHash = s.Registry.ConfigHash(values)
	}
	if u.IsSubordinate() {
		if p, ok := s.Registry.Unit(v, m.Model, u.Principal); ok {
			state.PrincipalLife = p.Life.String()
		}
		state.SubordinateWanted = s.Registry.SubordinateWanted(v, m.Model, u)
	}
	for _, sub := range s.Registry.Subordinates(v, m.Model, u.Name) {
		state.Subordinates = append(state.Subordinates, &droverv1.SubordinateState{Name: string(sub.Name), Life: sub.Life.String()})
	}
	return state
}
