package sim

import (
	"bytes"
	"context"
	"embed"

	"connectrpc.com/connect"

	"drover/face/api"
	"drover/internal/charmdir"
	"drover/internal/pki"
	"drover/keep/blob"
	"drover/keep/identity"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/wire/droverv1"
)

//go:embed charms
var charms embed.FS

// charmNames are the charms of the simulation; an application is called after
// its charm, with a number behind it or not.
var charmNames = []string{"store", "page", "watch", "ring"}

// users ask for things at random, as people and programs do.
type users struct {
	sim  *Sim
	sha  map[string]entity.CharmSHA
	done bool // no more requests
}

func newUsers(s *Sim) *users { return &users{sim: s, sha: map[string]entity.CharmSHA{}} }

// found brings the charms into the store.
func (u *users) found(blobs *blob.Store) error {
	for _, name := range charmNames {
		packed, err := charmdir.PackEmbedded(charms, "charms/"+name)
		if err != nil {
			return err
		}
		if _, _, err := blobs.Put(bytes.NewReader(packed.Archive), charmdir.MaxArchive, string(packed.Charm.SHA)); err != nil {
			return err
		}
		u.sha[name] = packed.Charm.SHA
		if _, err := u.sim.server.store.Update(u.sim.ctx, func(tx *store.Txn) error {
			_, err := u.sim.server.registry.AddCharm(tx, when.Of(u.sim.clock.now), packed.Charm)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// populate asks for the world in which most rules meet: a provider with peers, a
// requirer, a subordinate beside it, and the relations between them.
func (u *users) populate() {
	m := u.sim.server.api.Model()
	for _, name := range charmNames {
		q := &droverv1.DeployRequest{RequestId: u.sim.newID(), CharmSha: string(u.sha[name])}
		if name != "watch" {
			n := int32(1 + u.sim.rng.IntN(2))
			q.NumUnits = &n
		}
		if _, err := m.Deploy(u.as(), connect.NewRequest(q)); err != nil {
			u.sim.fail("deploy %s: %v", name, err)
		}
	}
	for _, pair := range [][2]string{{"store", "page"}, {"watch", "page"}} {
		q := &droverv1.IntegrateRequest{RequestId: u.sim.newID(), A: pair[0], B: pair[1]}
		if _, err := m.Integrate(u.as(), connect.NewRequest(q)); err != nil {
			u.sim.fail("integrate %s: %v", pair, err)
		}
	}
}

// as is a context in which the first user calls.
func (u *users) as() context.Context {
	return api.WithCaller(u.sim.ctx, pki.UserIdentity("sim", identity.Admin))
}

// request is a kind of request with its weight and what makes one.
type request struct {
	name   string
	weight int
	make   func() error
}

func (u *users) events() []event {
	if u.done || u.sim.server.reign == nil {
		return nil
	}
	return []event{{"a user asks", 4, u.ask}}
}

func (u *users) ask() {
	requests := append(u.modelRequests(), u.workRequests()...)
	sum := 0
	for _, r := range requests {
		sum += r.weight
	}
	pick := u.sim.rng.IntN(sum)
	for _, r := range requests {
		if pick -= r.weight; pick >= 0 {
			continue
		}
		if err := r.make(); err != nil {
			u.sim.line("  %s refused: %v", r.name, err)
			if fault.KindOf(err) == fault.Internal {
				u.sim.fail("%s failed unexpectedly: %v", r.name, err)
			}
		} else {
			u.sim.line("  %s", r.name)
		}
		return
	}
}

// pick chooses one of the list; ok is false when it is empty.
func pick[T any](s *Sim, from []T) (one T, ok bool) {
	if len(from) == 0 {
		return one, false
	}
	return from[s.rng.IntN(len(from))], true
}

func (u *users) name() (charm, app string) {
	charm, _ = pick(u.sim, charmNames)
	app = charm
	if u.sim.rng.IntN(4) == 0 {
		app += "2"
	}
	return charm, app
}

func (u *users) someUnit() string {
	units := u.sim.server.registry.ListUnits(u.sim.server.store.View(), u.model())
	unit, ok := pick(u.sim, units)
	if !ok {
		return "nobody/0"
	}
	return string(unit.Name)
}

func (u *users) model() entity.ModelUID {
	m, _ := u.sim.server.registry.FindModel(u.sim.server.store.View(), "")
	return m.UID
}

func (u *users) force() bool { return u.sim.rng.IntN(8) == 0 }

func (u *users) modelRequests() []request {
	m := u.sim.server.api.Model()
	id := u.sim.newID
	remove := func(name string) *connect.Request[droverv1.RemoveRequest] {
		return connect.NewRequest(&droverv1.RemoveRequest{RequestId: id(), Name: name, Force: u.force()})
	}
	return []request{
		{"deploy", 10, func() error {
			charm, app := u.name()
			q := &droverv1.DeployRequest{RequestId: id(), Application: app, CharmSha: string(u.sha[charm])}
			if charm != "watch" {
				n := int32(u.sim.rng.IntN(3))
				q.NumUnits = &n
			}
			_, err := m.Deploy(u.as(), connect.NewRequest(q))
			return err
		}},
		{"add-unit", 4, func() error {
			_, app := u.name()
			_, err := m.AddUnit(u.as(), connect.NewRequest(&droverv1.AddUnitRequest{RequestId: id(), Application: app, NumUnits: 1}))
			return err
		}},
		{"integrate", 10, func() error {
			_, a := u.name()
			_, b := u.name()
			_, err := m.Integrate(u.as(), connect.NewRequest(&droverv1.IntegrateRequest{RequestId: id(), A: a, B: b}))
			return err
		}},
		{"remove-application", 3, func() error {
			_, app := u.name()
			_, err := m.RemoveApplication(u.as(), remove(app))
			return err
		}},
		{"remove-unit", 4, func() error {
			_, err := m.RemoveUnit(u.as(), remove(u.someUnit()))
			return err
		}},
		{"remove-relation", 3, func() error {
			rels := u.sim.server.registry.ListRelations(u.sim.server.store.View(), u.model())
			rel, ok := pick(u.sim, rels)
			if !ok {
				return nil
			}
			_, err := m.RemoveRelation(u.as(), connect.NewRequest(&droverv1.RemoveRelationRequest{
				RequestId: id(), A: rel.Endpoints[0].String(), B: rel.Endpoints[len(rel.Endpoints)-1].String(), Force: u.force(),
			}))
			return err
		}},
		{"remove-machine", 2, func() error {
			all := u.sim.server.registry.ListMachines(u.sim.server.store.View(), u.model())
			machine, _ := pick(u.sim, all)
			_, err := m.RemoveMachine(u.as(), remove(string(machine.ID)))
			return err
		}},
		{"resolve", 2, func() error {
			q := &droverv1.ResolveRequest{RequestId: id(), Unit: u.someUnit(), NoRetry: u.sim.rng.IntN(2) == 0}
			_, err := m.Resolve(u.as(), connect.NewRequest(q))
			if q.NoRetry {
				u.sim.oracle.maySkip(q.Unit)
			}
			return err
		}},
	}
}
