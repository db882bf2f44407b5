package registry

import (
	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// ReportMachine records what the machine's agent found. An equal report changes
// nothing.
func (r *Registry) ReportMachine(tx *store.Txn, _ when.Instant, m entity.ModelUID, id entity.MachineID, rep MachineReport) error {
	machine, ok := r.Machine(tx, m, id)
	if !ok {
		return noMachine(id)
	}
	address := machine.Address
	if rep.Address != "" {
		address = short(rep.Address)
	}
	same := machine.Address == address && machine.Hardware == rep.Hardware && machine.BootID == rep.BootID && machine.AgentVersion == rep.Version
	if same {
		return nil
	}
	machine.Address, machine.Hardware = address, rep.Hardware
	machine.BootID, machine.AgentVersion = short(rep.BootID), short(rep.Version)
	r.machines.Put(tx, machine)
	return nil
}

// SetMachineKey records the hash of the public key of the machine's agent.
func (r *Registry) SetMachineKey(tx *store.Txn, m entity.ModelUID, id entity.MachineID, hash string) error {
	machine, ok := r.Machine(tx, m, id)
	if !ok {
		return noMachine(id)
	}
	if machine.KeyHash != hash {
		machine.KeyHash = hash
		r.machines.Put(tx, machine)
	}
	return nil
}

// SetMachineDead is what a Dying machine's agent does once nothing is on it.
// Conflict while it is Alive or not empty. Spec: 000 "juju remove-machine".
func (r *Registry) SetMachineDead(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID) error {
	c := r.change(tx, now, m)
	machine, ok := c.Machine(id)
	if !ok {
		return noMachine(id)
	}
	return c.decided(lifecycle.SetMachineDead(c, machine))
}

// RemoveDeadMachine deletes a Dead machine, after its instance was released. One
// that is gone already is no error.
func (r *Registry) RemoveDeadMachine(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID) error {
	c := r.change(tx, now, m)
	machine, ok := c.Machine(id)
	if !ok {
		return nil
	}
	return c.decided(lifecycle.RemoveDeadMachine(machine))
}

// RemoveUnprovisioned deletes a machine that is not Alive and has no instance
// (SEMANTICS 19). Conflict while something is on it.
func (r *Registry) RemoveUnprovisioned(tx *store.Txn, now when.Instant, m entity.ModelUID, id entity.MachineID) error {
	c := r.change(tx, now, m)
	machine, ok := c.Machine(id)
	if !ok {
		return nil
	}
	return c.decided(lifecycle.RemoveUnprovisioned(c, machine))
}

// instance changes the machine of this uid. NotFound when it is gone.
func (r *Registry) instance(tx *store.Txn, m entity.ModelUID, id entity.MachineID, uid entity.UID, set func(*entity.Machine)) error {
	machine, ok := r.Machine(tx, m, id)
	if !ok || machine.UID != uid {
		return noMachine(id)
	}
	set(&machine)
	r.machines.Put(tx, machine)
	return nil
}

// InstanceStarting commits that the provider is about to be called, so that a
// crash in between is found. Conflict for a machine that is not Alive, unless it
// had an instance and lost it.
func (r *Registry) InstanceStarting(tx *store.Txn, _ when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID) error {
	machine, ok := r.Machine(tx, m, id)
	if ok && machine.Life != entity.Alive && machine.InstanceState != entity.InstanceVanished && machine.InstanceState != entity.InstanceStarting {
		return fault.New(fault.Conflict, "machine %s is not provisioned", id).Why("it is %s", machine.Life)
	}
	return r.instance(tx, m, id, uid, func(machine *entity.Machine) {
		machine.InstanceState = entity.InstanceStarting
		machine.LaunchTries++
	})
}

// InstanceRunning records the provider's instance; an empty address leaves the
// one there is.
func (r *Registry) InstanceRunning(tx *store.Txn, _ when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID, instance, address string) error {
	return r.instance(tx, m, id, uid, func(machine *entity.Machine) {
		machine.Instance, machine.InstanceState, machine.InstanceError = instance, entity.InstanceRunning, ""
		machine.LaunchTries, machine.NextLaunch = 0, 0
		if address != "" {
			machine.Address = address
		}
	})
}

// InstanceFailed records a failure of the provider and when to try again.
func (r *Registry) InstanceFailed(tx *store.Txn, _ when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID, reason string, next when.Instant) error {
	return r.instance(tx, m, id, uid, func(machine *entity.Machine) {
		machine.InstanceState, machine.InstanceError, machine.NextLaunch = entity.InstanceFailed, short(reason), next
	})
}

// InstanceVanished records that the provider no longer has the instance.
func (r *Registry) InstanceVanished(tx *store.Txn, _ when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID) error {
	return r.instance(tx, m, id, uid, func(machine *entity.Machine) {
		machine.InstanceState = entity.InstanceVanished
	})
}

// InstanceGone records that the instance was released.
func (r *Registry) InstanceGone(tx *store.Txn, _ when.Instant, m entity.ModelUID, id entity.MachineID, uid entity.UID) error {
	return r.instance(tx, m, id, uid, func(machine *entity.Machine) {
		machine.Instance, machine.InstanceState = "", entity.InstanceNone
	})
}
