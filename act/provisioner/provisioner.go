package provisioner

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/internal/loop"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

const (
	listEvery      = 30 * time.Second
	goneAgain      = time.Second // a machine may end a little later than its agent
	unmatchedGrace = 10 * time.Minute
	machinePrefix  = "machine/"
	listPrefix     = "list/"
)

// Config is what a Provisioner needs. JoinToken makes the secret with which a
// machine's agent joins; nil means that the provider needs none.
type Config struct {
	Store     *store.Store
	Registry  *registry.Registry
	Providers map[string]Provider // by the name that machines carry
	Epoch     uint64              // of the reign it serves
	JoinToken func(ctx context.Context, m entity.Machine) (string, error)
	// WatchGone rings after an agent has gone: with its machine perhaps, so the
	// providers are asked at once. Nil: they are asked at their time.
	WatchGone func() (bell <-chan struct{}, stop func())
	Now       func() time.Time
	Log       *slog.Logger
	Workers   int // machines at once; 0: 4
}

// Provisioner steps machines, under the keys "machine/<model>/<id>", and
// providers' lists, under "list/<provider>". One serves one reign.
type Provisioner struct {
	cfg  Config
	loop *loop.Loop

	mu        sync.Mutex              // guards unmatched
	unmatched map[string]when.Instant // "provider/instance" to first seen
}

// New makes a provisioner; nothing runs until Run or Step.
func New(cfg Config) *Provisioner {
	p := &Provisioner{cfg: cfg, unmatched: map[string]when.Instant{}}
	workers := cfg.Workers
	if workers == 0 {
		workers = 4
	}
	p.loop = loop.New(loop.Config{Name: "provisioner", Actor: p, Now: cfg.Now, Log: cfg.Log, Workers: workers})
	return p
}

// Loop is the provisioner's loop, for a simulation that steps it.
func (p *Provisioner) Loop() *loop.Loop { return p.loop }

// Keys are all keys that there may be something to do for.
func (p *Provisioner) Keys() []string {
	keys := p.listKeys()
	v := p.cfg.Store.View()
	for _, model := range p.cfg.Registry.ListModels(v) {
		for _, m := range p.cfg.Registry.ListMachines(v, model.UID) {
			keys = append(keys, string(registry.MachineTopic(m.Model, m.ID)))
		}
	}
	return keys
}

func (p *Provisioner) listKeys() []string {
	var keys []string
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Providers)) {
		keys = append(keys, listPrefix+name)
	}
	return keys
}

// Unmatched are the instances that no machine row matches, as
// "provider/instance", sorted; they are released ten minutes after they were
// first seen.
func (p *Provisioner) Unmatched() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.unmatched))
}

// Step does what the machine, or the provider's list, needs now.
func (p *Provisioner) Step(ctx context.Context, key string) (loop.Next, error) {
	if name, ok := strings.CutPrefix(key, listPrefix); ok {
		return p.stepList(ctx, name)
	}
	model, id, ok := strings.Cut(strings.TrimPrefix(key, machinePrefix), "/")
	if !ok {
		return loop.Next{}, nil
	}
	return p.stepMachine(ctx, entity.ModelUID(model), entity.MachineID(id))
}

func (p *Provisioner) now() when.Instant { return when.Of(p.cfg.Now()) }

func (p *Provisioner) stepMachine(ctx context.Context, model entity.ModelUID, id entity.MachineID) (loop.Next, error) {
	v := p.cfg.Store.View()
	m, ok := p.cfg.Registry.Machine(v, model, id)
	if !ok {
		return loop.Next{}, nil
	}
	onIt := len(p.cfg.Registry.UnitsOn(v, model, id))
	d, until := next(m, onIt, p.now())
	switch d {
	case launch:
		return p.launch(ctx, m)
	case release:
		return loop.Next{}, p.release(ctx, m)
	case remove:
		return loop.Next{}, p.remove(ctx, m)
	case find:
		return loop.Next{}, p.find(ctx, m)
	case settle:
		return loop.Next{}, p.update(ctx, m, "set dead: its instance is gone", func(tx *store.Txn) error {
			return p.cfg.Registry.SetMachineDead(tx, p.now(), m.Model, m.ID)
		})
	case nothing:
	}
	return loop.Next{At: until.Time()}, nil
}

// update runs a transaction on the machine; a refusal means that the machine
// changed meanwhile, and its change wakes the key again.
func (p *Provisioner) update(ctx context.Context, m entity.Machine, what string, fn func(*store.Txn) error) error {
	_, err := p.cfg.Store.Update(ctx, fn)
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		p.cfg.Log.Debug("machine changed meanwhile", "machine", m.ID, "err", err)
		return nil
	}
	if err == nil {
		p.cfg.Log.Info("machine "+what, "machine", m.ID, "uid", m.UID, "instance", m.Instance)
	}
	return err
}

// launch commits "starting", calls the provider, then records what came of it.
// Machines of a provider that is not served here ("manual") come by themselves.
func (p *Provisioner) launch(ctx context.Context, m entity.Machine) (loop.Next, error) {
	provider, ok := p.cfg.Providers[m.Provider]
	if !ok {
		return loop.Next{}, nil
	}
	if _, err := p.cfg.Store.Update(ctx, func(tx *store.Txn) error {
		return p.cfg.Registry.InstanceStarting(tx, p.now(), m.Model, m.ID, m.UID)
	}); err != nil {
		if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
			return loop.Next{Again: true}, nil
		}
		return loop.Next{}, err
	}
	instance, err := p.start(ctx, provider, m)
	if err != nil {
		if ctx.Err() != nil {
			return loop.Next{}, err
		}
		return p.failed(ctx, m, err)
	}
	return loop.Next{}, p.update(ctx, m, "started as "+instance.ID, func(tx *store.Txn) error {
		return p.cfg.Registry.InstanceRunning(tx, p.now(), m.Model, m.ID, m.UID, instance.ID, instance.Address)
	})
}

func (p *Provisioner) start(ctx context.Context, provider Provider, m entity.Machine) (Instance, error) {
	req := StartRequest{Model: m.Model, Machine: m.ID, MachineUID: m.UID, Epoch: p.cfg.Epoch, Constraints: m.Constraints}
	if p.cfg.JoinToken != nil {
		token, err := p.cfg.JoinToken(ctx, m)
		if err != nil {
			return Instance{}, err
		}
		req.JoinToken = token
	}
	return provider.Start(ctx, req)
}

func (p *Provisioner) failed(ctx context.Context, m entity.Machine, cause error) (loop.Next, error) {
	retry := p.now().Add(backoff(m.LaunchTries + 1))
	p.cfg.Log.Warn("machine not started", "machine", m.ID, "tries", m.LaunchTries+1, "retry", retry, "err", cause)
	_, err := p.cfg.Store.Update(ctx, func(tx *store.Txn) error {
		return p.cfg.Registry.InstanceFailed(tx, p.now(), m.Model, m.ID, m.UID, cause.Error(), retry)
	})
	if fault.Is(err, fault.NotFound) {
		return loop.Next{}, nil
	}
	return loop.Next{At: retry.Time()}, err
}

// release ends the instance, then removes the Dead machine: in this order, or a
// crash would leave an instance that nothing names.
func (p *Provisioner) release(ctx context.Context, m entity.Machine) error {
	if provider, ok := p.cfg.Providers[m.Provider]; ok {
		if err := p.stopAll(ctx, provider, m); err != nil {
			return err
		}
	}
	return p.update(ctx, m, "released and removed", func(tx *store.Txn) error {
		if err := p.cfg.Registry.InstanceGone(tx, p.now(), m.Model, m.ID, m.UID); err != nil {
			return err
		}
		return p.cfg.Registry.RemoveDeadMachine(tx, p.now(), m.Model, m.ID)
	})
}

// stopAll stops the machine's instance; while it was only starting, the one that
// the provider lists for it, if any.
func (p *Provisioner) stopAll(ctx context.Context, provider Provider, m entity.Machine) error {
	if m.Instance != "" {
		return provider.Stop(ctx, m.Instance, p.cfg.Epoch)
	}
	instances, err := provider.List(ctx)
	if err != nil {
		return err
	}
	for _, i := range instances {
		if i.MachineUID == m.UID {
			if err := provider.Stop(ctx, i.ID, p.cfg.Epoch); err != nil {
				return err
			}
		}
	}
	return nil
}

// find records the instance of a machine that was being started, or that there
// is none.
func (p *Provisioner) find(ctx context.Context, m entity.Machine) error {
	var instances []Instance
	if provider, ok := p.cfg.Providers[m.Provider]; ok {
		found, err := provider.List(ctx)
		if err != nil {
			return err
		}
		instances = found
	}
	for _, i := range instances {
		if i.MachineUID == m.UID {
			return p.update(ctx, m, "found as "+i.ID, func(tx *store.Txn) error {
				return p.cfg.Registry.InstanceRunning(tx, p.now(), m.Model, m.ID, m.UID, i.ID, i.Address)
			})
		}
	}
	return p.update(ctx, m, "has no instance", func(tx *store.Txn) error {
		return p.cfg.Registry.InstanceGone(tx, p.now(), m.Model, m.ID, m.UID)
	})
}

func (p *Provisioner) remove(ctx context.Context, m entity.Machine) error {
	return p.update(ctx, m, "removed", func(tx *store.Txn) error {
		return p.cfg.Registry.RemoveUnprovisioned(tx, p.now(), m.Model, m.ID)
	})
}

// Run provisions until the context ends. It is run by the leader only.
func (p *Provisioner) Run(ctx context.Context) error {
	sub := p.cfg.Store.Subscribe()
	defer sub.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { _ = p.loop.Run(ctx) })
	p.loop.Wake(p.Keys()...)
	var gone <-chan struct{}
	if p.cfg.WatchGone != nil {
		bell, stop := p.cfg.WatchGone()
		defer stop()
		gone = bell
	}
	again := time.NewTimer(goneAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-gone:
			p.loop.Wake(p.listKeys()...)
			again.Reset(goneAgain)
		case <-again.C:
			p.loop.Wake(p.listKeys()...)
		case <-sub.C():
			p.loop.Wake(machineKeys(sub.Take())...)
		}
	}
}

func machineKeys(topics []store.Topic) []string {
	var keys []string
	for _, t := range topics {
		if strings.HasPrefix(string(t), machinePrefix) {
			keys = append(keys, string(t))
		}
	}
	slices.Sort(keys)
	return keys
}
