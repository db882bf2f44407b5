package provisioner

import (
	"context"
	"maps"
	"slices"
	"strings"

	"drover/internal/loop"
	"drover/keep/store"
	"drover/noun/entity"
)

// stepList compares what the provider lists with the machines' rows: a machine
// whose instance is not there, or does not run, is marked as vanished; an
// instance that no machine matches is shown, and released after its grace.
func (p *Provisioner) stepList(ctx context.Context, name string) (loop.Next, error) {
	again := loop.Next{At: p.cfg.Now().Add(listEvery)}
	provider, ok := p.cfg.Providers[name]
	if !ok {
		return loop.Next{}, nil
	}
	// The rows are read before the list: an instance started in between is in the
	// list without its row, which only keeps it for the grace; the other way round
	// it would be taken for vanished.
	machines := p.machinesOf(name)
	instances, err := provider.List(ctx)
	if err != nil {
		return again, err
	}
	running := map[string]bool{}
	var strangers []Instance
	for _, i := range instances {
		if i.Running {
			running[i.ID] = true
		}
		if m, known := machines[i.MachineUID]; !known || m.Instance != "" && m.Instance != i.ID {
			strangers = append(strangers, i)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(machines)) {
		m := machines[uid]
		if m.Instance != "" && m.InstanceState == entity.InstanceRunning && m.Life != entity.Dead && !running[m.Instance] {
			if err := p.vanished(ctx, m); err != nil {
				return again, err
			}
		}
	}
	return again, p.strangers(ctx, name, provider, strangers)
}

func (p *Provisioner) machinesOf(provider string) map[entity.UID]entity.Machine {
	out := map[entity.UID]entity.Machine{}
	v := p.cfg.Store.View()
	for _, model := range p.cfg.Registry.ListModels(v) {
		for _, m := range p.cfg.Registry.ListMachines(v, model.UID) {
			if m.Provider == provider {
				out[m.UID] = m
			}
		}
	}
	return out
}

// vanished records that the instance is gone; the change wakes the machine,
// whose next step starts it again.
func (p *Provisioner) vanished(ctx context.Context, m entity.Machine) error {
	return p.update(ctx, m, "has lost its instance", func(tx *store.Txn) error {
		return p.cfg.Registry.InstanceVanished(tx, p.now(), m.Model, m.ID, m.UID)
	})
}

// strangers keeps account of instances that no machine matches.
func (p *Provisioner) strangers(ctx context.Context, name string, provider Provider, found []Instance) error {
	for _, i := range p.due(name, found) {
		p.cfg.Log.Warn("releasing an instance that no machine matches", "provider", name, "instance", i.ID, "machine", i.Machine, "uid", i.MachineUID)
		if err := provider.Stop(ctx, i.ID, p.cfg.Epoch); err != nil {
			return err
		}
		p.mu.Lock()
		delete(p.unmatched, name+"/"+i.ID)
		p.mu.Unlock()
	}
	return nil
}

// due notes which strangers the provider has now, and names those whose grace is
// over.
func (p *Provisioner) due(name string, found []Instance) []Instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	present := map[string]bool{}
	var due []Instance
	for _, i := range found {
		key := name + "/" + i.ID
		present[key] = true
		since, known := p.unmatched[key]
		switch {
		case !known:
			p.unmatched[key] = p.now()
			p.cfg.Log.Warn("an instance that no machine matches", "provider", name, "instance", i.ID, "machine", i.Machine, "uid", i.MachineUID)
		case p.now().Sub(since) >= unmatchedGrace:
			due = append(due, i)
		}
	}
	for key := range p.unmatched { // order-free: each key by itself
		if strings.HasPrefix(key, name+"/") && !present[key] {
			delete(p.unmatched, key)
		}
	}
	return due
}
