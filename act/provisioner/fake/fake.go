// Package fake is a provider in memory: instances are rows, nothing runs.
//
// Tests and the simulation use it; faults are set from outside. It passes the
// same suite as every provider.
//
// Invariant: at most one instance for each machine uid.
//
// Spec: design of providers (ARCHITECTURE "Machines come from providers").
package fake

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"drover/act/provisioner"
	"drover/noun/fault"
)

// Provider is an in-memory provider. Methods may be called concurrently.
type Provider struct {
	mu        sync.Mutex // guards all below
	instances map[string]provisioner.Instance
	epoch     uint64
	next      int
	fail      error
	calls     []string
}

// New is a provider without instances.
func New() *Provider { return &Provider{instances: map[string]provisioner.Instance{}} }

// Start implements provisioner.Provider.
func (p *Provider) Start(_ context.Context, req provisioner.StartRequest) (provisioner.Instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, "start "+string(req.Machine))
	if err := p.admit(req.Epoch); err != nil {
		return provisioner.Instance{}, err
	}
	for id, i := range p.instances { // order-free: at most one matches
		if i.MachineUID == req.MachineUID {
			i.Running = true
			p.instances[id] = i
			return i, nil
		}
	}
	p.next++
	i := provisioner.Instance{
		ID: fmt.Sprintf("fake-%d", p.next), Model: req.Model, Machine: req.Machine, MachineUID: req.MachineUID,
		Epoch: req.Epoch, Address: fmt.Sprintf("10.0.0.%d", p.next), Running: true,
	}
	p.instances[i.ID] = i
	return i, nil
}

// Stop implements provisioner.Provider.
func (p *Provider) Stop(_ context.Context, instance string, epoch uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, "stop "+instance)
	if err := p.admit(epoch); err != nil {
		return err
	}
	delete(p.instances, instance)
	return nil
}

// List implements provisioner.Provider.
func (p *Provider) List(context.Context) ([]provisioner.Instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return nil, p.fail
	}
	return slices.SortedFunc(maps.Values(p.instances), func(a, b provisioner.Instance) int { return cmp.Compare(a.ID, b.ID) }), nil
}

func (p *Provider) admit(epoch uint64) error {
	if p.fail != nil {
		return p.fail
	}
	if epoch < p.epoch {
		return fault.New(fault.Conflict, "epoch %d is over", epoch).Why("epoch %d was seen", p.epoch)
	}
	p.epoch = epoch
	return nil
}

// Fail makes every call fail with the error until it is nil again.
func (p *Provider) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

// Kill makes an instance disappear, as if somebody ended it out of band.
func (p *Provider) Kill(instance string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.instances, instance)
}

// Halt stops an instance without forgetting it, as a host's reboot does.
func (p *Provider) Halt(instance string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, ok := p.instances[instance]; ok {
		i.Running = false
		p.instances[instance] = i
	}
}

// Calls are the calls of Start and Stop so far, in order.
func (p *Provider) Calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}
