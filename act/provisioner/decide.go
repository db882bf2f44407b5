package provisioner

import (
	"time"

	"drover/noun/entity"
	"drover/noun/when"
)

// duty is what a machine needs of the provisioner now.
type duty uint8

const (
	nothing duty = iota
	launch       // call the provider, after recording that it will be called
	release      // end the instance, then remove the Dead machine
	remove       // the machine never had an instance, or has none any more
	find         // it was being started when it became Dying: is there an instance?
	settle       // nothing is on it and nobody is there to say so: it becomes Dead
)

// next decides a machine's duty; with nothing to do before a time, until says
// when to look again. Spec: 000 "Agents", JobManageModel.
func next(m entity.Machine, onIt int, now when.Instant) (d duty, until when.Instant) {
	has := m.Instance != "" || m.InstanceState == entity.InstanceStarting
	switch {
	// "detecting Dead machines with instance IDs, decommissioning the instance, and
	// removing the machine."
	case m.Life == entity.Dead && has:
		return release, 0
	case m.Life == entity.Dead:
		return remove, 0
	// A Dying machine is not provisioned; what a crash left may be there.
	case m.Life == entity.Dying && m.Instance == "" && m.InstanceState == entity.InstanceStarting:
		return find, 0
	// "detecting non-Alive machines without instance IDs and removing them."
	case m.Life == entity.Dying && !has:
		return remove, 0
	// An instance that vanished under a Dying machine is needed only by what is
	// still on it (SEMANTICS 19; V1).
	case m.Life == entity.Dying && m.InstanceState == entity.InstanceVanished && onIt == 0:
		return settle, 0
	}
	// "detecting Alive machines without instance IDs and provisioning provider
	// instances to run their agents."
	wants := m.InstanceState == entity.InstanceStarting || m.InstanceState == entity.InstanceVanished ||
		m.Instance == "" || m.InstanceState == entity.InstanceFailed
	if !wants {
		return nothing, 0
	}
	if now.Before(m.NextLaunch) {
		return nothing, m.NextLaunch
	}
	return launch, 0
}

const (
	firstRetry = 100 * time.Millisecond
	mostRetry  = time.Minute
)

// backoff is the wait after the n-th failure in a row, the first being 1.
func backoff(n int) time.Duration {
	return min(firstRetry<<min(max(n-1, 0), 20), mostRetry)
}
