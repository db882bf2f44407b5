package lifecycle

import (
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/fault"
)

// Endpoints are the charm's endpoints as the application offers them, with the
// implicit juju-info (SEMANTICS 22).
func Endpoints(app entity.AppName, meta charm.Meta) []entity.Endpoint {
	out := make([]entity.Endpoint, 0, len(meta.Endpoints)+1)
	for _, e := range meta.Endpoints {
		e.App = app
		out = append(out, e)
	}
	return append(out, entity.Endpoint{
		App: app, Name: entity.JujuInfo, Role: entity.Provider, Interface: entity.JujuInfo,
		Scope: entity.ScopeGlobal, Implicit: true,
	})
}

// PeerRelations are the endpoints for which deploy creates a relation.
// Spec: 000 "juju deploy".
func PeerRelations(endpoints []entity.Endpoint) [][]entity.Endpoint {
	var out [][]entity.Endpoint
	for _, e := range endpoints {
		if e.Role == entity.Peer {
			out = append(out, []entity.Endpoint{e})
		}
	}
	return out
}

// MayDeploy refuses a name in use, and a model that is not Alive.
// Spec: 000 "Applications"; SEMANTICS 53.
func MayDeploy(w Entities, name entity.AppName) error {
	refused := fault.New(fault.Conflict, "cannot deploy %q", string(name)).Coded(fault.CodeLifeForbids)
	if err := modelAlive(w, refused); err != nil {
		return err
	}
	// "Applications with duplicate names are not allowed"; "she may not create new
	// applications with the same name … until those entities have been removed".
	app, ok := w.Application(name)
	switch {
	case !ok:
		return nil
	case app.Life == entity.Alive:
		return refused.Why("an application of this name exists").
			Try("drover add-unit "+string(name), "drover deploy CHARM OTHER-NAME")
	default:
		return refused.Why("an application of this name is still %s", app.Life).
			Try("drover why "+string(name), "drover wait app/"+string(name)+" --for removed")
	}
}

func modelAlive(w Entities, refused *fault.Error) error {
	if m := w.Model(); m.Life != entity.Alive {
		return refused.Why("the model %q is %s", m.Name, m.Life)
	}
	return nil
}

// UnitsToDeploy is how many units deploy creates: one by default, none for a
// subordinate. Spec: 000 "juju deploy"; SEMANTICS 45.
func UnitsToDeploy(subordinate bool, asked *int) (int, error) {
	switch {
	case subordinate && asked != nil:
		return 0, fault.New(fault.Invalid, "--num-units does not apply to a subordinate").
			Why("its units come with those of the applications it is related to")
	case subordinate:
		return 0, nil
	case asked == nil:
		return 1, nil
	case *asked < 0:
		return 0, fault.New(fault.Invalid, "--num-units is %d", *asked).Why("it cannot be negative")
	}
	return *asked, nil
}

// MayAddUnits refuses an application that is not Alive, and subordinates.
// Spec: 000 "juju add-unit".
func MayAddUnits(w Entities, name entity.AppName) (entity.Application, error) {
	app, ok := w.Application(name)
	if !ok {
		return app, NoApplication(name)
	}
	refused := fault.New(fault.Conflict, "cannot add a unit to %q", string(name)).Coded(fault.CodeLifeForbids)
	if err := modelAlive(w, refused); err != nil {
		return app, err
	}
	// "New units can only be added to Alive applications."
	if app.Life != entity.Alive {
		return app, refused.Why("the application is %s", app.Life).
			Try("drover why "+string(name), "drover wait app/"+string(name)+" --for removed")
	}
	// "The juju add-unit command applies only to principal applications."
	if app.Subordinate {
		return app, refused.Why("it is a subordinate: its units come with those of the applications it is related to").
			Try("drover integrate " + string(name) + " APPLICATION")
	}
	return app, nil
}

// NoApplication is the refusal of a name that no application has.
func NoApplication(name entity.AppName) error {
	return fault.New(fault.NotFound, "there is no application %q", string(name)).Coded(fault.CodeNoSuchApplication).Try("drover status")
}

// MayAssign refuses a machine that cannot take a new principal.
// Spec: 000 "Machines", "Units".
func MayAssign(m entity.Machine) error {
	refused := fault.New(fault.Conflict, "cannot place a unit on machine %s", m.ID).Coded(fault.CodeLifeForbids)
	switch {
	// "principal units can be assigned to it while it is Alive"
	case m.Life != entity.Alive:
		return refused.Why("the machine is %s", m.Life)
	// "If a machine has the JobHostUnits job, principal units can be assigned"
	case !m.HasJob(entity.HostUnits):
		return refused.Why("it does not have the host-units job")
	}
	return nil
}

// Place is a machine as the default placement looks at it.
type Place struct {
	Machine  entity.Machine
	Units    int
	Children int
	Busy     bool // its cell holds instances or tasks
}

// Suits reports whether default placement may put a unit there: an Alive
// machine with the host-units job, clean and empty, that meets the constraints
// (SEMANTICS 46). The lowest-numbered one that suits is taken, else a new one.
func (p Place) Suits(c entity.Constraints) bool {
	return MayAssign(p.Machine) == nil && p.Units == 0 && p.Children == 0 && !p.Busy && meets(p.Machine, c)
}

// meets compares with what the agent found, or before it reported with what the
// machine was asked for.
func meets(m entity.Machine, c entity.Constraints) bool {
	has := entity.Constraints{MemoryMB: m.Hardware.MemoryMB, DiskMB: m.Hardware.DiskMB, MilliCPU: int64(m.Hardware.CPUs) * 1000, Arch: m.Hardware.Arch}
	if m.Hardware == (entity.Hardware{}) {
		has = m.Constraints
	}
	return has.MemoryMB >= c.MemoryMB && has.DiskMB >= c.DiskMB && has.MilliCPU >= c.MilliCPU && (c.Arch == "" || c.Arch == has.Arch)
}
