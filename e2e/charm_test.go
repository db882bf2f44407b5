package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"drover/noun/charm"
	"drover/noun/entity"
)

// hookScript is every hook of the tests' charms. It writes its beginning and its
// end into the unit's trace, and does what the test wants done in between.
const hookScript = `#!/bin/sh
unit=$(echo "$JUJU_UNIT_NAME" | tr / -)
say() { echo "$1 $JUJU_HOOK_NAME ${JUJU_RELATION_ID:--} ${JUJU_REMOTE_UNIT:--} ${JUJU_REMOTE_APP:--}" >>"@DIR@/trace/$unit"; }
trap 'say end:$?' EXIT
say begin
case $JUJU_HOOK_NAME in start) status-set active ;; esac
for script in "@DIR@/control/$JUJU_HOOK_NAME" "@DIR@/control/$unit.$JUJU_HOOK_NAME"; do
	if [ -e "$script" ]; then . "$script"; fi
done
`

var unitHooks = []string{"install", "start", "config-changed", "stop"}

var relationHooks = []string{"relation-joined", "relation-changed", "relation-departed", "relation-broken"}

// charm writes a charm's folder. The endpoints are YAML of metadata.yaml.
func (c *cluster) charm(name, endpoints string, endpoint ...string) string {
	c.t.Helper()
	dir := c.path("charm-" + name)
	if err := os.MkdirAll(filepath.Join(dir, "hooks"), 0o755); err != nil {
		c.fatal(err)
	}
	files := map[string]string{
		"metadata.yaml": "name: " + name + "\nsummary: a charm of a test\ndescription: it writes what it runs\n" + endpoints,
		"config.yaml":   "options:\n  word:\n    type: string\n    default: first\n    description: a word\n",
	}
	hooks := slices.Clone(unitHooks)
	for _, e := range endpoint {
		for _, h := range relationHooks {
			hooks = append(hooks, e+"-"+h)
		}
	}
	for _, h := range hooks {
		files["hooks/"+h] = strings.ReplaceAll(hookScript, "@DIR@", c.dir)
	}
	for file, text := range files { // order-free: each file by itself
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
			c.fatal(err)
		}
	}
	return dir
}

// plain is a charm without endpoints.
func (c *cluster) plain() string { return c.charm("plain", "") }

// provider and requirer are two charms that can be related.
func (c *cluster) provider() string {
	return c.charm("provider", "provides:\n  db:\n    interface: words\n", "db")
}

func (c *cluster) requirer() string {
	return c.charm("requirer", "requires:\n  db:\n    interface: words\n", "db")
}

// control has a hook do something: "start", or "plain-0.start" for one unit's.
func (c *cluster) control(hook, script string) {
	c.t.Helper()
	path := c.path("control/" + hook)
	if err := os.WriteFile(path+".new", []byte(script+"\n"), 0o600); err != nil {
		c.fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		c.fatal(err)
	}
}

// trace are the hooks that a unit ran, in order; one that began and has no end
// has failed, or runs yet.
func (c *cluster) trace(unit string) (runs []charm.Run) {
	pending := false
	for _, line := range c.lines("trace/" + entity.UnitName(unit).Tag()) {
		f := strings.Fields(line)
		if len(f) != 5 {
			continue
		}
		begins := f[0] == "begin"
		if begins {
			runs = append(runs, charm.Run{Hook: parseHook(f[1], f[2], f[3], f[4]), Outcome: charm.Failed, BootID: "boot"})
		} else if pending && f[0] == "end:0" {
			runs[len(runs)-1].Outcome = charm.Succeeded
		}
		pending = begins
	}
	return runs
}

func parseHook(name, relation, remote, app string) charm.Hook {
	h := charm.Hook{}
	for k := charm.Install; k.String() != "unset"; k++ {
		endpoint, isRelation := strings.CutSuffix(name, "-"+k.String())
		switch {
		case name == k.String() && !k.IsRelation():
			return charm.Hook{Kind: k}
		case isRelation && k.IsRelation():
			h.Kind, h.Endpoint = k, endpoint
		}
	}
	_, id, _ := strings.Cut(relation, ":")
	n, _ := strconv.ParseUint(id, 10, 64) // 0: the trace checker says so
	h.Relation = entity.RelationID(n)
	if remote != "-" {
		h.Remote = entity.UnitName(remote)
	}
	if app != "-" {
		h.RemoteApp = entity.AppName(app)
	}
	return h
}

// ran counts the runs of a hook that ended well.
func (c *cluster) ran(unit, hook string) (n int) {
	for _, r := range c.trace(unit) {
		if r.Hook.Name() == hook && r.Outcome == charm.Succeeded {
			n++
		}
	}
	return n
}

// inOrder checks a unit's trace against the seed's guarantees.
func (c *cluster) inOrder(unit string) {
	c.t.Helper()
	runs := c.trace(unit)
	if len(runs) == 0 {
		c.t.Errorf("%s ran no hook", unit)
	}
	if err := charm.CheckTrace(charm.SeedOrder, runs); err != nil {
		c.t.Errorf("%s: %v\n%s", unit, err, strings.Join(c.lines("trace/"+entity.UnitName(unit).Tag()), "\n"))
	}
}
