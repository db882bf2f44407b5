package sim

import (
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"drover/act/presence"
	"drover/act/provisioner/fake"
	"drover/face/api"
	"drover/keep/blob"
	"drover/keep/board"
	"drover/keep/identity"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/when"
)

// server is the one server: the store and its handlers, and while it leads, the
// leader's loops.
type server struct {
	sim      *Sim
	log      *store.MemoryLog
	store    *store.Store
	registry *registry.Registry
	board    *board.Board
	api      *api.Server
	tracker  *presence.Tracker // of the reign; nil: nobody leads
	blobs    *blob.Store
	provider *fake.Provider
	changes  *store.Subscription
	checker  *checker
	reign    *reign // nil: nobody leads
}

func newServer(s *Sim) (*server, error) {
	schema := store.NewSchema()
	ids := identity.New(schema)
	v := &server{sim: s, registry: registry.New(schema), board: board.New(schema), provider: fake.New()}
	v.registry.NewID, v.board.NewID = s.newID, s.newID
	v.registry.Work = v.board
	s.server = v
	var err error
	if v.blobs, err = blob.Open(filepath.Join(s.opts.Dir, "blobs")); err != nil {
		return nil, err
	}
	v.log = store.NewMemoryLog()
	watched := &watchedLog{MemoryLog: v.log, committed: func() { v.check() }}
	if v.store, err = store.Open(store.Config{Schema: schema, Log: watched, Now: s.clock.Now}); err != nil {
		return nil, err
	}
	v.checker = newChecker(s, v.store)
	v.changes = v.store.Subscribe()
	v.api, err = api.New(api.Config{
		Store: v.store, Registry: v.registry, Board: v.board, Identity: ids, Blobs: v.blobs,
		Name: "s1", Address: "127.0.0.1:7443", Storage: "memory", Version: "sim", Presence: func() *presence.Tracker { return v.tracker },
		Answered: v.answered,
		Now:      s.clock.Now, NewID: s.newID, Random: newReader(s.rng), Log: quiet(),
	})
	if err != nil {
		return nil, err
	}
	if _, err = v.store.Update(s.ctx, func(tx *store.Txn) error {
		if err := ids.Found(tx, when.Of(s.clock.now), identity.Cluster{ID: "sim", Name: "sim"}, identity.Admin); err != nil {
			return err
		}
		_, _, err := v.registry.Bootstrap(tx, when.Of(s.clock.now), "fake")
		return err
	}); err != nil {
		return nil, err
	}
	if err := s.users.found(v.blobs); err != nil {
		return nil, err
	}
	v.lead()
	return v, nil
}

func (v *server) close() {
	v.changes.Close()
	_ = v.store.Close() // it is in memory
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// reader gives the bytes of the seeded source.
type reader struct{ rng *rand.Rand }

func newReader(rng *rand.Rand) *reader { return &reader{rng} }

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.rng.UintN(256))
	}
	return len(p), nil
}

// check looks at what was committed.
func (v *server) check() {
	if v.checker != nil {
		v.checker.look(v.store)
	}
}

// sync makes a machine of each instance that the provider started, and ends
// those that it stopped.
func (v *server) sync() {
	instances, err := v.provider.List(v.sim.ctx)
	if err != nil {
		v.sim.fail("the provider does not list its instances: %v", err)
	}
	have := map[string]*machine{}
	for _, m := range v.sim.machines {
		have[m.instance.ID] = m
	}
	v.sim.machines = nil
	for _, i := range instances {
		m := have[i.ID]
		if m == nil {
			m = newMachine(v.sim, i)
		}
		delete(have, i.ID)
		v.sim.machines = append(v.sim.machines, m)
	}
	for _, id := range slices.Sorted(maps.Keys(have)) {
		v.sim.line("  instance %s is gone", id)
		have[id].close()
	}
}

// events are what the server would do next.
func (v *server) events() []event {
	if v.reign == nil {
		return nil
	}
	return v.reign.events()
}

func (v *server) deadline() time.Time {
	if v.reign == nil {
		return time.Time{}
	}
	return v.reign.deadline()
}

// lose drops what changes would have said: only polls find it.
func (v *server) lose() {
	<-v.changes.C()
	v.sim.line("  %d topics are lost", len(v.changes.Take()))
}

// depose ends the reign; elect begins the next one.
func (v *server) depose() {
	v.log.Cluster().Depose()
	v.reign.stop()
	v.reign, v.tracker = nil, nil
}

func (v *server) elect() {
	v.log.Cluster().Elect("memory")
	v.lead()
	if v.reign == nil {
		v.sim.fail("the only server was elected and does not lead: %+v", v.store.Leadership())
	}
}

// lead begins a reign, if the server leads.
func (v *server) lead() {
	if l := v.store.Leadership(); l.Leading {
		v.tracker = presence.New(presence.Config{Now: v.sim.clock.Now})
		v.reign = newReign(v, l.Epoch)
	}
}
