package unitagent

import (
	"os"
	"strings"

	"drover/internal/proc"
	"drover/noun/charm"
	"drover/noun/entity"
)

// jujuVersion is what charms are told: a lower one switches their features off.
const jujuVersion = "3.6.0"

// environment is all that a hook finds in its environment; nothing is inherited.
// Spec: 003 "Execution environment", "Relation hooks".
func (a *Agent) environment(w *World, h charm.Hook, id, socket string) []string {
	m, u := w.Machine, w.Unit
	path := []string{a.toolsDir()}
	if a.cfg.BinDir != "" {
		path = append(path, a.cfg.BinDir)
	}
	env := []string{
		"PATH=" + strings.Join(append(path, a.cfg.Path), ":"),
		"CHARM_DIR=" + a.charmDir(),
		"JUJU_CHARM_DIR=" + a.charmDir(),
		"JUJU_CONTEXT_ID=" + id,
		"JUJU_HOOK_NAME=" + h.Name(),
		"JUJU_DISPATCH_PATH=" + charm.HooksFolder + "/" + h.Name(),
		"JUJU_AGENT_SOCKET=" + socket,
		"JUJU_AGENT_SOCKET_ADDRESS=" + socket,
		"JUJU_AGENT_SOCKET_NETWORK=unix",
		"JUJU_UNIT_NAME=" + string(a.cfg.Unit),
		"JUJU_PRINCIPAL_UNIT=" + u.GetPrincipal(),
		"JUJU_MODEL_NAME=" + m.GetModelName(),
		"JUJU_MODEL_UUID=" + m.GetModelUid(),
		"JUJU_MACHINE_ID=" + string(a.cfg.Machine),
		"JUJU_API_ADDRESSES=" + strings.Join(m.GetServers(), " "),
		"JUJU_AVAILABILITY_ZONE=",
		"JUJU_SLA=unsupported",
		"JUJU_VERSION=" + jujuVersion,
		"CLOUD_API_VERSION=",
		"JUJU_CHARM_HTTP_PROXY=",
		"JUJU_CHARM_HTTPS_PROXY=",
		"JUJU_CHARM_FTP_PROXY=",
		"JUJU_CHARM_NO_PROXY=",
		"APT_LISTCHANGES_FRONTEND=none",
		"DEBIAN_FRONTEND=noninteractive",
		"LANG=C.UTF-8",
		"TERM=screen",
		"DROVER_UNIT_DIR=" + a.dataDir(),
		"DROVER_ADDRESS=" + u.GetAddress(),
	}
	if !h.Kind.IsRelation() {
		return env
	}
	env = append(env,
		"JUJU_RELATION="+h.Endpoint,
		"JUJU_RELATION_ID="+h.RelationName(),
		"JUJU_REMOTE_UNIT="+string(h.Remote),
		"JUJU_REMOTE_APP="+string(h.RemoteApp))
	if h.Kind == charm.RelationDeparted {
		env = append(env, "JUJU_DEPARTING_UNIT="+a.departing(w, h))
	}
	return env
}

// departing is the unit that goes: this one, when it or its application does.
func (a *Agent) departing(w *World, h charm.Hook) string {
	alive := entity.Alive.String()
	if w.Unit.GetLife() != alive || w.Unit.GetApplicationLife() != alive {
		return string(a.cfg.Unit)
	}
	return string(h.Remote)
}

// EndUnit removes what a unit's agent left outside the unit's folder dir.
func EndUnit(dir string) error {
	return os.RemoveAll(proc.ShortFolder(proc.UnitSocket(dir)))
}
