// Package provisioner gives machines their instances: it starts one for each
// Alive machine without, releases those of Dead machines and removes the
// machines, and removes machines that are not Alive and never had one.
//
// It commits "starting" before it calls a provider, so that a crash in between
// is found by what the provider lists and never repeated. It says nothing about
// units: what runs on a machine is its agent's.
//
// Invariants: a provider is called only by the leader, with its epoch; an
// instance that no machine row matches is shown, and released after ten minutes.
//
// Spec: 000 "Agents" (JobManageModel), "Machines"; SEMANTICS 19.
package provisioner

import (
	"context"

	"drover/noun/entity"
)

// Provider starts, stops and lists the instances of one cluster. Methods may be
// called concurrently. A call whose epoch is lower than one the provider has
// seen is refused with a fault of kind Conflict: its caller does not lead any
// more.
type Provider interface {
	// Start starts an instance for the machine that runs the machine's agent, and
	// returns when it was started, not when the agent is there. If one for the
	// machine's uid exists, it is returned, started again if it does not run: Start
	// repeated is Start once.
	Start(ctx context.Context, req StartRequest) (Instance, error)
	// Stop ends the instance and everything in it, and forgets what it kept. No
	// such instance is no error.
	Stop(ctx context.Context, instance string, epoch uint64) error
	// List names every instance of this cluster that exists, running or not, in
	// the order of their ids.
	List(ctx context.Context) ([]Instance, error)
}

// StartRequest is what a provider needs to start a machine's instance.
type StartRequest struct {
	Model       entity.ModelUID
	Machine     entity.MachineID
	MachineUID  entity.UID
	Epoch       uint64
	Constraints entity.Constraints
	JoinToken   string // a single-use secret for the agent's first start
}

// Instance is one instance as its provider knows it. It carries the uid of the
// machine it was started for, and the epoch of the leader that asked.
type Instance struct {
	ID         string
	Model      entity.ModelUID
	Machine    entity.MachineID
	MachineUID entity.UID
	Epoch      uint64
	Address    string // where its units are reached; empty: its agent will say
	Running    bool
}
