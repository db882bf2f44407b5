package executor

import (
	"drover/noun/fault"
	"drover/noun/work"
)

// Limits of what a container may ask for.
const (
	maxActions = 64 // leaves of one action
	maxDepth   = 16
	maxPorts   = 64
)

// validate refuses what this executor can not run, before anything is reserved.
func validate(c *work.Container) error {
	if err := work.ValidateGUID("container guid", string(c.GUID)); err != nil {
		return err
	}
	if (c.LRP == nil) == (c.Task == "") {
		return fault.New(fault.Invalid, "container %s is for neither or both of an LRP and a task", c.GUID)
	}
	s := &c.Spec
	if s.RootFS != "" && s.RootFS != "process:" {
		return fault.New(fault.Invalid, "root file system %q can not be used here", s.RootFS).
			Why("this cell runs plain processes on the host's files only")
	}
	if len(s.Ports) > maxPorts {
		return fault.New(fault.Invalid, "%d ports are too many", len(s.Ports)).Why("a container has at most %d", maxPorts)
	}
	check := checker{}
	check.action("action", &s.Action, 0)
	if s.Setup != nil {
		check.action("setup", s.Setup, 0)
	}
	for i := range s.Sidecars {
		check.action("sidecar", &s.Sidecars[i].Action, 0)
	}
	if s.Monitor != nil {
		check.monitor = true
		check.ports = s.Ports
		check.action("monitor", s.Monitor, 0)
	}
	return check.err
}

type checker struct {
	err     error
	count   int
	monitor bool
	ports   []int
}

func (k *checker) refuse(where, why string, args ...any) {
	if k.err == nil {
		k.err = fault.New(fault.Invalid, "the %s can not be run", where).Why(why, args...)
	}
}

func (k *checker) action(where string, a *work.Action, depth int) {
	if depth > maxDepth {
		k.refuse(where, "actions are nested deeper than %d", maxDepth)
		return
	}
	if k.count++; k.count > maxActions {
		k.refuse(where, "there are more than %d actions", maxActions)
		return
	}
	if n := kinds(a); n != 1 {
		k.refuse(where, "an action must be of exactly one kind, one is of %d", n)
		return
	}
	below := func(as ...work.Action) {
		for i := range as {
			k.action(where, &as[i], depth+1)
		}
	}
	switch {
	case a.Run != nil && a.Run.Path == "":
		k.refuse(where, "a run action has no path")
	case a.Download != nil, a.Upload != nil:
		k.refuse(where, "download and upload actions are not supported by this version's cells")
	case a.TCPCheck != nil:
		k.check(where, a.TCPCheck.Port)
	case a.HTTPCheck != nil:
		k.check(where, a.HTTPCheck.Port)
	case a.Serial != nil:
		below(a.Serial.Actions...)
	case a.Parallel != nil:
		below(a.Parallel.Actions...)
	case a.Codependent != nil:
		below(a.Codependent.Actions...)
	case a.Try != nil:
		below(*a.Try)
	case a.Timeout != nil && a.Timeout.MS <= 0:
		k.refuse(where, "a timeout action has no time")
	case a.Timeout != nil:
		below(a.Timeout.Action)
	case a.EmitProgress != nil:
		below(a.EmitProgress.Action)
	}
}

func (k *checker) check(where string, port int) {
	if !k.monitor {
		k.refuse(where, "checks belong into the monitor")
		return
	}
	for _, p := range k.ports {
		if p == port {
			return
		}
	}
	k.refuse(where, "it checks port %d, which is not among the container's ports", port)
}

func kinds(a *work.Action) int {
	n := 0
	for _, set := range []bool{
		a.Run != nil, a.Download != nil, a.Upload != nil, a.Serial != nil, a.Parallel != nil, a.Codependent != nil,
		a.Try != nil, a.Timeout != nil, a.EmitProgress != nil, a.TCPCheck != nil, a.HTTPCheck != nil,
	} {
		if set {
			n++
		}
	}
	return n
}
