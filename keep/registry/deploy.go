package registry

import (
	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// Deploy creates an application with its config, its peer relations, its units
// and the machines they need, all in this transaction (SEMANTICS 15, 41). As
// with every method here, an error means that the transaction must be given up.
// Spec: 000 "juju deploy".
func (r *Registry) Deploy(tx *store.Txn, now when.Instant, m entity.ModelUID, q DeployRequest) (Created, error) {
	ch, ok := r.Charm(tx, q.Charm)
	if !ok {
		return Created{}, fault.New(fault.NotFound, "the charm was not uploaded").Why("no charm has digest %q", string(q.Charm))
	}
	name := q.App
	if name == "" {
		name = entity.AppName(ch.Meta.Name)
	}
	if err := name.Validate(); err != nil {
		return Created{}, err
	}
	c := r.change(tx, now, m)
	if err := lifecycle.MayDeploy(c, name); err != nil {
		return Created{}, err
	}
	units, err := lifecycle.UnitsToDeploy(ch.Meta.Subordinate, q.NumUnits)
	if err != nil {
		return Created{}, err
	}
	values, err := setConfig(name, ch.Options, nil, q.Config, nil)
	if err != nil {
		return Created{}, err
	}
	app := entity.Application{
		Model: m, Name: name, UID: entity.UID(r.NewID()), Life: entity.Alive,
		Charm: ch.SHA, CharmName: ch.Meta.Name, CharmRev: ch.Revision, Subordinate: ch.Meta.Subordinate,
		Endpoints: lifecycle.Endpoints(name, ch.Meta), Constraints: q.Constraints, Since: now, Created: now,
	}
	r.apps.Put(tx, app)
	r.configs.Put(tx, entity.AppConfig{Model: m, App: name, Values: values})
	created := Created{App: app}
	for _, peer := range lifecycle.PeerRelations(app.Endpoints) {
		created.Relations = append(created.Relations, c.addRelation(peer).ID)
	}
	return c.addUnits(created, units, q.To)
}

// AddUnits adds units to an Alive principal application, placing them as q.To
// says and otherwise by default. Spec: 000 "juju add-unit".
func (r *Registry) AddUnits(tx *store.Txn, now when.Instant, m entity.ModelUID, q AddUnitsRequest) (Created, error) {
	c := r.change(tx, now, m)
	app, err := lifecycle.MayAddUnits(c, q.App)
	if err != nil {
		return Created{}, err
	}
	if q.Count == 0 {
		q.Count = max(1, len(q.To))
	}
	return c.addUnits(Created{App: app}, q.Count, q.To)
}

func (c change) addUnits(out Created, count int, to []string) (Created, error) {
	if count < 0 || count > MaxUnitsWanted {
		return out, fault.New(fault.Invalid, "cannot create %d units", count).Why("at most %d can be asked for at once", MaxUnitsWanted)
	}
	if len(to) > count || len(to) > MaxUnitsAtOnce {
		return out, fault.New(fault.Invalid, "%d placements were given for %d unit(s)", len(to), count)
	}
	places := &placement{c: c}
	for i := range min(count, MaxUnitsAtOnce) {
		directive := ""
		if i < len(to) {
			directive = to[i]
		}
		unit, err := c.addUnit(&out, places, directive)
		if err != nil {
			return out, err
		}
		out.Units = append(out.Units, unit)
	}
	out.Later = count - len(out.Units)
	c.want(&out, count)
	return out, nil
}

// want records how many units there are to be, while the cleaner creates some.
func (c change) want(out *Created, count int) {
	app, _ := c.Application(out.App.Name)
	switch {
	case app.WantUnits > 0:
		app.WantUnits += count
	case out.Later > 0:
		app.WantUnits = c.UnitCount(app.Name) + out.Later
		c.cleanup(entity.Cleanup{Kind: entity.CleanAddUnits, Target: string(app.Name), UID: app.UID})
	default:
		return
	}
	c.r.apps.Put(c.tx, app)
	out.App = app
}

func (c change) addUnit(out *Created, places *placement, directive string) (entity.UnitName, error) {
	app := out.App
	name := app.Name.Unit(int(c.r.next(c.tx, c.m, "unit:"+string(app.Name), 0)))
	machine, made, err := places.take(name, app.Constraints, directive)
	if err != nil {
		return "", err
	}
	if made {
		out.Machines = append(out.Machines, machine)
	}
	c.putUnit(entity.Unit{Name: name, App: app.Name, Machine: machine})
	return name, nil
}

// putUnit stores a new Alive unit.
func (c change) putUnit(u entity.Unit) {
	u.Model, u.UID, u.Life, u.Since, u.Created = c.m, entity.UID(c.r.NewID()), entity.Alive, c.now, c.now
	u.Workload = entity.Status{Value: entity.StatusWaiting, Message: "waiting for machine", Since: c.now}
	u.Agent = entity.Status{Value: entity.AgentAllocating, Since: c.now}
	u.Workflow = entity.WorkflowNew
	c.r.units.Put(c.tx, u)
}

// placement assigns the units of one request. Machines are looked at once, in
// the order of their numbers: one that did not suit, or was taken, will not suit
// later in the same request.
type placement struct {
	c       change
	waiting []entity.Machine
	looked  bool
}

func (p *placement) take(unit entity.UnitName, want entity.Constraints, directive string) (id entity.MachineID, made bool, err error) {
	switch directive {
	case "":
		if id, ok := p.clean(want); ok {
			return id, false, nil
		}
		return p.fresh(unit, want), true, nil
	case "new":
		return p.fresh(unit, want), true, nil
	}
	m, ok := p.c.Machine(entity.MachineID(directive))
	if !ok {
		return "", false, fault.New(fault.NotFound, "there is no machine %q", directive[:min(len(directive), 100)]).Coded(fault.CodeNoSuchMachine).
			Why("a placement is the id of a machine, or \"new\"").Try("drover status")
	}
	return m.ID, false, lifecycle.MayAssign(m)
}

// clean is the lowest-numbered machine that suits (SEMANTICS 46).
func (p *placement) clean(want entity.Constraints) (entity.MachineID, bool) {
	if !p.looked {
		p.waiting, p.looked = p.c.Machines(), true
	}
	for i, m := range p.waiting {
		place := lifecycle.Place{
			Machine:  m,
			Units:    p.c.r.unitByMachine.Count(p.c.tx, machineKey(p.c.m, m.ID)),
			Children: p.c.r.machineByParent.Count(p.c.tx, machineKey(p.c.m, m.ID)),
			Busy:     p.c.HoldsWork(m.ID),
		}
		if place.Suits(want) {
			p.waiting = p.waiting[i+1:]
			return m.ID, true
		}
	}
	p.waiting = nil
	return "", false
}

// fresh makes a machine for the unit, which goes with it (SEMANTICS 21).
func (p *placement) fresh(unit entity.UnitName, want entity.Constraints) entity.MachineID {
	model := p.c.Model()
	m := p.c.r.newMachine(p.c.tx, p.c.now, model, MachineSpec{Jobs: []entity.Job{entity.HostUnits}, Constraints: want}, unit)
	return m.ID
}
