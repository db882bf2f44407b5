package lifecycle

import (
	"strings"

	"drover/noun/entity"
	"drover/noun/fault"
)

// RemoveMachine is the user's request. With force child machines do not hold it;
// whoever forces destroys the principals first. Spec: 000 "juju remove-machine", "Machines".
func RemoveMachine(w World, m entity.Machine, force bool) ([]Step, error) {
	// "If the machine is not Alive, abort without error."
	if m.Life != entity.Alive {
		return nil, nil
	}
	// "If the machine is the last one with JobManageModel … abort with an
	// appropriate error." Not even force ends the last one (L5).
	manager := m.HasJob(entity.ManageModel)
	if manager && w.AliveManagers() <= 1 {
		return nil, fault.New(fault.Conflict, "cannot remove machine %s", m.ID).
			Why("it is the last one that manages the model").
			Try("drover status")
	}
	if err := noAlivePrincipals(w, m); err != nil {
		return nil, err
	}
	// "When a machine has containers, remove-machine will fail, unless force is
	// used. However … destroy-model allows a machine to move to dying."
	children := w.ChildMachines(m.ID)
	if len(children) > 0 && !force && w.Model().Life == entity.Alive {
		return nil, fault.New(fault.Conflict, "cannot remove machine %s", m.ID).
			Why("it hosts machine %s", children[0]).
			Try("drover remove-machine " + string(children[0]))
	}
	// Departs from the seed, which lets no machine with the manage job go: any
	// but the last one is demoted first (SEMANTICS 20).
	var steps []Step
	if manager {
		steps = append(steps, onMachine(DropManageJob, m.ID))
	}
	// "Set the machine to Dying."
	steps = append(steps, onMachine(MachineDying, m.ID))
	if unprovisioned(m) && len(w.PrincipalsOn(m.ID)) == 0 && len(children) == 0 {
		// Without an instance there is no agent that could (SEMANTICS 19).
		steps = append(steps, onMachine(MachineDead, m.ID))
	}
	return steps, nil
}

// noAlivePrincipals refuses while an Alive principal is assigned. Principals
// that are not Alive hold nothing up (SEMANTICS 18).
func noAlivePrincipals(w World, m entity.Machine) error {
	var alive []string
	for _, u := range w.PrincipalsOn(m.ID) {
		if u.Life == entity.Alive {
			alive = append(alive, string(u.Name))
		}
	}
	// "… or has any assigned units, abort with an appropriate error."
	if len(alive) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "cannot remove machine %s", m.ID).
		Why("it hosts %s", strings.Join(alive, ", ")).
		Try("drover remove-unit "+strings.Join(alive, " "), "drover remove-machine "+string(m.ID)+" --force")
}

// unprovisioned reports whether no instance runs, or could run, for the machine.
func unprovisioned(m entity.Machine) bool {
	return m.Instance == "" && m.InstanceState != entity.InstanceStarting
}

// SetMachineDead is what a Dying machine's own agent does, whatever its jobs
// (SEMANTICS 51). Spec: 000 "juju remove-machine", "Machines".
func SetMachineDead(w World, m entity.Machine) ([]Step, error) {
	refused := fault.New(fault.Conflict, "machine %s cannot become dead", m.ID)
	switch m.Life {
	case entity.Dead:
		return nil, nil
	case entity.Alive:
		return nil, refused.Why("it is alive: nobody asked for its removal")
	}
	// "When Dying units are assigned, wait for them to become Dead and remove
	// them completely before making the machine Dead."
	if units := w.PrincipalsOn(m.ID); len(units) > 0 {
		return nil, refused.Why("unit %s is still assigned to it", units[0].Name).Try("drover why " + string(units[0].Name)).Coded(CodeNotYet)
	}
	// "A dying machine cannot transition to dead if there are containers."
	if children := w.ChildMachines(m.ID); len(children) > 0 {
		return nil, refused.Why("it still hosts machine %s", children[0]).Try("drover why " + string(children[0])).Coded(CodeNotYet)
	}
	// A cell evacuates before it is Dead (SEMANTICS 78).
	if w.HoldsWork(m.ID) {
		return nil, refused.Why("its cell still holds instances or tasks").Try("drover cells").Coded(CodeNotYet)
	}
	return []Step{onMachine(MachineDead, m.ID)}, nil
}

// RemoveDeadMachine is what the provisioner does once the instance is released.
// Spec: 000 "juju remove-machine".
func RemoveDeadMachine(m entity.Machine) ([]Step, error) {
	// "If the machine is not Dead, abort with an appropriate error."
	if m.Life != entity.Dead {
		return nil, fault.New(fault.Conflict, "cannot delete machine %s", m.ID).Why("it is %s, not dead", m.Life)
	}
	// "Delete the machine document."
	return []Step{onMachine(RemoveMachineRow, m.ID)}, nil
}

// RemoveUnprovisioned is the manager's duty of "detecting non-Alive machines
// without instance IDs and removing them". Spec: 000 "Agents".
func RemoveUnprovisioned(w World, m entity.Machine) ([]Step, error) {
	if m.Life == entity.Alive || !unprovisioned(m) {
		return nil, fault.New(fault.Conflict, "cannot delete machine %s", m.ID).
			Why("it is %s, its instance is %s", m.Life, m.InstanceState)
	}
	dead, err := SetMachineDead(w, m)
	if err != nil {
		return nil, err
	}
	return append(dead, onMachine(RemoveMachineRow, m.ID)), nil
}
