package executor

import (
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"

	"drover/noun/work"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is a process's whole environment. Later ones win:
//
//	the executor's own (Config.BaseEnv), HOME
//	DROVER_CELL, DROVER_ADDRESS (listen here), DROVER_LRP and DROVER_INDEX, or DROVER_TASK
//	INSTANCE_GUID, INSTANCE_INDEX
//	PORT (of the first port), PORT_<container port>
//	CF_INSTANCE_GUID, _INDEX, _IP, _INTERNAL_IP, _PORT, _ADDR, _PORTS
//	the spec's, the action's
//
// Spec: 002 "Diego Dev Notes" leaves it open; the CF names are what programs
// written for Diego's cells expect.
func (s *step) environment(action []work.EnvVar) []string {
	c := &s.m.Container
	var env environ
	for _, e := range s.e.cfg.BaseEnv {
		name, value, _ := strings.Cut(e, "=")
		env.set(name, value)
	}
	env.set("HOME", s.dataDir())
	env.set("DROVER_CELL", string(s.e.cfg.Cell))
	env.set("DROVER_ADDRESS", s.e.cfg.Address)
	if c.LRP != nil {
		index := strconv.Itoa(c.LRP.Index)
		env.set("DROVER_LRP", string(c.LRP.ProcessGUID))
		env.set("DROVER_INDEX", index)
		env.set("INSTANCE_INDEX", index)
		env.set("CF_INSTANCE_INDEX", index)
	} else {
		env.set("DROVER_TASK", string(c.Task))
	}
	env.set("INSTANCE_GUID", string(c.GUID))
	env.set("CF_INSTANCE_GUID", string(c.GUID))
	env.network(&c.Net)
	for _, list := range [][]work.EnvVar{c.Spec.Env, action} {
		for _, v := range list {
			env.set(v.Name, v.Value)
		}
	}
	return env.list
}

// environ is a list without repeated names, in the order of their first setting.
type environ struct{ list []string }

func (e *environ) set(name, value string) {
	if i := slices.IndexFunc(e.list, func(have string) bool { return strings.HasPrefix(have, name+"=") }); i >= 0 {
		e.list[i] = name + "=" + value
		return
	}
	e.list = append(e.list, name+"="+value)
}

func (e *environ) network(n *work.NetInfo) {
	e.set("CF_INSTANCE_IP", n.Address)
	e.set("CF_INSTANCE_INTERNAL_IP", n.InstanceAddress)
	type mapping struct {
		External int `json:"external"`
		Internal int `json:"internal"`
	}
	ports := []mapping{}
	for i, p := range n.Ports {
		host := strconv.Itoa(p.Host)
		e.set("PORT_"+strconv.Itoa(p.Container), host)
		// Plain processes share the host's network: inside and outside are the same.
		ports = append(ports, mapping{p.Host, p.Host})
		if i == 0 {
			e.set("PORT", host)
			e.set("CF_INSTANCE_PORT", host)
			e.set("CF_INSTANCE_ADDR", net.JoinHostPort(n.Address, host))
		}
	}
	if text, err := json.Marshal(ports); err == nil {
		e.set("CF_INSTANCE_PORTS", string(text))
	}
}
