package registry

import (
	"slices"
	"strconv"

	"drover/keep/store"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// SettingProvider is the model setting that names the provider of new machines.
const SettingProvider = "provider"

// Bootstrap makes the default model and machine 0 with both jobs, unless they
// exist. The provider is the one that new machines of the model come from.
func (r *Registry) Bootstrap(tx *store.Txn, now when.Instant, provider string) (entity.Model, entity.Machine, error) {
	model, err := r.FindModel(tx, DefaultModel)
	if err != nil {
		model = entity.Model{
			UID: entity.ModelUID(r.NewID()), Name: DefaultModel, Life: entity.Alive, Created: now,
			Settings: map[string]string{SettingProvider: provider},
		}
		r.models.Put(tx, model)
	}
	if m, ok := r.Machine(tx, model.UID, "0"); ok {
		return model, m, nil
	}
	m, err := r.AddMachine(tx, now, model.UID, MachineSpec{Jobs: []entity.Job{entity.ManageModel, entity.HostUnits}})
	return model, m, err
}

// FindModel is the model with the name; empty is "default". NotFound otherwise.
func (r *Registry) FindModel(rd store.Reader, name string) (entity.Model, error) {
	if name == "" {
		name = DefaultModel
	}
	for m := range r.modelByName.Rows(rd, name) {
		return m, nil
	}
	return entity.Model{}, fault.New(fault.NotFound, "there is no model %q", name).Coded(fault.CodeNoSuchModel)
}

// Model is the model's row.
func (r *Registry) Model(rd store.Reader, m entity.ModelUID) (entity.Model, bool) {
	return r.models.Get(rd, string(m))
}

// ListModels are the models in the order of their uids.
func (r *Registry) ListModels(rd store.Reader) []entity.Model {
	return slices.Collect(r.models.All(rd))
}

// AddMachine adds an Alive machine with the next number of the model.
func (r *Registry) AddMachine(tx *store.Txn, now when.Instant, m entity.ModelUID, spec MachineSpec) (entity.Machine, error) {
	model, ok := r.Model(tx, m)
	if !ok {
		return entity.Machine{}, fault.New(fault.NotFound, "there is no such model")
	}
	if model.Life != entity.Alive {
		return entity.Machine{}, fault.New(fault.Conflict, "cannot add a machine").Why("the model %q is %s", model.Name, model.Life)
	}
	return r.newMachine(tx, now, model, spec, ""), nil
}

func (r *Registry) newMachine(tx *store.Txn, now when.Instant, model entity.Model, spec MachineSpec, madeFor entity.UnitName) entity.Machine {
	machine := entity.Machine{
		Model: model.UID, ID: entity.MachineID(strconv.FormatUint(r.next(tx, model.UID, "machine", 0), 10)),
		UID: entity.UID(r.NewID()), Life: entity.Alive, Jobs: spec.Jobs, Provider: spec.Provider,
		Instance: spec.Instance, Address: spec.Address, Constraints: spec.Constraints,
		CreatedFor: madeFor, Since: now, Created: now,
	}
	if machine.Provider == "" {
		machine.Provider = model.Settings[SettingProvider]
	}
	if machine.Instance != "" {
		machine.InstanceState = entity.InstanceRunning
	}
	r.machines.Put(tx, machine)
	return machine
}

// AddCharm records a charm, giving it the next revision of its name; one that
// is known is returned as it is.
func (r *Registry) AddCharm(tx *store.Txn, _ when.Instant, c charm.Charm) (charm.Charm, error) {
	if known, ok := r.Charm(tx, c.SHA); ok {
		return known, nil
	}
	if c.SHA == "" || c.Meta.Name == "" {
		return charm.Charm{}, fault.New(fault.Invalid, "a charm needs a name and a digest")
	}
	c.Revision = int(r.next(tx, "", "charm:"+c.Meta.Name, 0))
	r.charms.Put(tx, c)
	return c, nil
}

// Charm is the charm with the sha.
func (r *Registry) Charm(rd store.Reader, sha entity.CharmSHA) (charm.Charm, bool) {
	return r.charms.Get(rd, string(sha))
}

// ListCharms are all charms in the order of their digests.
func (r *Registry) ListCharms(rd store.Reader) []charm.Charm {
	return slices.Collect(r.charms.All(rd))
}
