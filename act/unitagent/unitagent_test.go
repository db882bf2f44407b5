package unitagent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/decide/uniter"
	"drover/noun/entity"
	"drover/wire/droverv1"
)

const (
	blogMeta  = "name: blog\nrequires: {db: store}\n"
	storeMeta = "name: store\nprovides: {server: store}\n"

	storeHooks = `#!/bin/bash -e
case "$JUJU_HOOK_NAME" in
server-relation-joined) relation-set password="for $JUJU_REMOTE_UNIT" port=7000;;
config-changed) status-set active; open-port 7000; application-version-set 1.2;;
esac
echo "$JUJU_HOOK_NAME" >> "$DROVER_UNIT_DIR/trace"
`
	blogHooks = `#!/bin/bash -e
case "$JUJU_HOOK_NAME" in
config-changed) config-get title > "$DROVER_UNIT_DIR/title";;
db-relation-changed)
	password=$(relation-get password)
	[ -n "$password" ] || exit 0
	echo "$(relation-list) $password $(relation-get port) $(relation-ids db) $JUJU_RELATION" > "$DROVER_UNIT_DIR/config"
	status-set active "connected";;
esac
`
)

func pair(t *testing.T) *world {
	w := newWorld(t)
	w.add("store/0", w.charmOf(t, storeMeta, storeHooks))
	w.add("blog/0", w.charmOf(t, blogMeta, blogHooks))
	w.rels = []*relation{{id: 7, life: "alive", requirer: "blog:db", provider: "store:server", members: map[string]bool{}}}
	w.start("store/0")
	w.start("blog/0")
	return w
}

// Two units find each other, talk through a relation, and go in order.
//
// Rule: H-001 H-002 H-007 H-008 H-031 H-032 H-034 H-036 H-081 H-088 H-090 H-092
// Rule: E-056 E-058 E-075 E-141 E-144 W-003 W-005 W-007 W-021 W-041
func TestTwoUnitsAndARelation(t *testing.T) {
	w := pair(t)
	w.settle()
	if got, want := w.hooks["blog/0"].names(), "install start config-changed db-relation-joined db-relation-changed db-relation-changed"; got != want &&
		got != strings.TrimSuffix(want, " db-relation-changed") {
		t.Errorf("blog/0 ran %s", got)
	}
	if got, want := w.read("blog/0", "data/config"), "store/0 for blog/0 7000 db:7 db\n"; got != want {
		t.Errorf("blog/0 has read %q, want %q", got, want)
	}
	if got := w.settings["7 blog/0"]; got["private-address"] != "127.0.0.3" || got["egress-subnets"] != "127.0.0.3/32" || got["ingress-address"] != "127.0.0.3" {
		t.Errorf("blog/0 published %v", got)
	}
	if w.status["blog/0"] != "active: connected" || w.status["store/0"] != "active: " {
		t.Errorf("status %v", w.status)
	}
	if first := w.commits[0]; first.Hook != "config-changed" || len(first.Open) != 1 || first.Version != "1.2" {
		t.Errorf("first commit %v", first)
	}
	if r := w.reports["blog/0"]; r.Workflow != "running" || r.Agent.Value != "idle" || r.LastHook != "db-relation-changed" {
		t.Errorf("blog/0 reports %v", r)
	}

	w.change(func() { w.rels[0].life = "dying" })
	w.settle()
	if len(w.rels) != 0 {
		t.Error("the last unit to leave did not end the relation")
	}
	w.change(func() { w.units["blog/0"].Life = "dying" })
	w.settle()
	if !strings.HasSuffix(w.hooks["blog/0"].names(), "db-relation-departed db-relation-broken stop remove") {
		t.Errorf("blog/0 ran %s", w.hooks["blog/0"].names())
	}
	if w.units["blog/0"].Life != "dead" || !w.agents["blog/0"].Done() {
		t.Error("blog/0 is not dead, or its agent goes on")
	}
	if l := w.agents["blog/0"].Local(); l.Workflow != entity.WorkflowReady {
		t.Errorf("after stop the workflow is %s", l.Workflow)
	}
	w.check("blog/0")
	w.check("store/0")
}

// Rule: H-004 H-020 H-021 H-022 H-023 H-024 H-056 H-057 H-063
func TestEnvironmentIsExact(t *testing.T) {
	w := newWorld(t)
	t.Setenv("HOME", "/nowhere")
	w.add("blog/0", w.charmOf(t, blogMeta, "#!/bin/bash\necho \"$# $PWD\" > $DROVER_UNIT_DIR/args; env > $DROVER_UNIT_DIR/env-$JUJU_HOOK_NAME\n"))
	w.add("store/0", "")
	w.rels = []*relation{{id: 7, life: "alive", requirer: "blog:db", provider: "store:server", members: map[string]bool{"store/0": true}}}
	w.start("blog/0")
	w.settle()
	dir := w.unitDir("blog/0")
	if got := w.read("blog/0", "data/args"); got != "0 "+dir+"/charm\n" {
		t.Errorf("arguments and folder: %q", got)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(w.read("blog/0", "data/env-db-relation-joined")), "\n") {
		// Bash adds these by itself.
		if !slices.Contains([]string{"PWD", "SHLVL", "_", "OLDPWD"}, strings.Split(line, "=")[0]) {
			got = append(got, strings.ReplaceAll(line, dir, "UNIT"))
		}
	}
	slices.Sort(got)
	want := []string{
		"APT_LISTCHANGES_FRONTEND=none", "CHARM_DIR=UNIT/charm", "CLOUD_API_VERSION=", "DEBIAN_FRONTEND=noninteractive",
		"DROVER_ADDRESS=127.0.0.2", "DROVER_UNIT_DIR=UNIT/data", "JUJU_AGENT_SOCKET=SOCKET", "JUJU_AGENT_SOCKET_ADDRESS=SOCKET",
		"JUJU_AGENT_SOCKET_NETWORK=unix", "JUJU_API_ADDRESSES=127.0.0.1:7443", "JUJU_AVAILABILITY_ZONE=", "JUJU_CHARM_DIR=UNIT/charm",
		"JUJU_CHARM_FTP_PROXY=", "JUJU_CHARM_HTTPS_PROXY=", "JUJU_CHARM_HTTP_PROXY=", "JUJU_CHARM_NO_PROXY=",
		"JUJU_CONTEXT_ID=blog-0-db-relation-joined-4", "JUJU_DISPATCH_PATH=hooks/db-relation-joined", "JUJU_HOOK_NAME=db-relation-joined",
		"JUJU_MACHINE_ID=3", "JUJU_MODEL_NAME=default", "JUJU_MODEL_UUID=m-1", "JUJU_PRINCIPAL_UNIT=", "JUJU_RELATION=db", "JUJU_RELATION_ID=db:7",
		"JUJU_REMOTE_APP=store", "JUJU_REMOTE_UNIT=store/0", "JUJU_SLA=unsupported", "JUJU_UNIT_NAME=blog/0", "JUJU_VERSION=3.6.0",
		"LANG=C.UTF-8", "PATH=UNIT/tools:/opt/drover/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=screen",
	}
	for i, line := range got {
		if name, value, _ := strings.Cut(line, "="); strings.HasPrefix(name, "JUJU_AGENT_SOCKET") && strings.HasSuffix(value, "hook.sock") {
			got[i] = name + "=SOCKET"
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Contains(w.read("blog/0", "data/env-install"), "JUJU_RELATION") {
		t.Error("a unit hook has variables of a relation")
	}
}

// Rule: H-006 H-010 H-012 H-037 H-048 W-004 W-012 W-013 W-014 W-015
func TestAFailingHookIsRetriedAndResolved(t *testing.T) {
	w := newWorld(t)
	w.add("blog/0", w.charmOf(t, blogMeta, `#!/bin/bash
echo "trying $JUJU_HOOK_NAME"
open-port 80
[ -e "$DROVER_UNIT_DIR/works" ] || { [ $JUJU_HOOK_NAME = start ] && exit 3; }
exit 0
`))
	w.start("blog/0")
	w.settle()
	local := func() uniter.Local { l := w.agents["blog/0"].Local(); return l }
	for i, wait := range []time.Duration{5 * time.Second, 10 * time.Second} {
		f := local().Failure
		if f == nil || f.Tries != i+1 || f.NextRetry.Time().Sub(w.now) != wait || f.Exit != 3 || f.Reason != "exit status 3" || f.LastOutput != "trying start" {
			t.Fatalf("after try %d: %+v", i+1, f)
		}
		w.now = w.now.Add(wait)
		w.settle()
	}
	if l := local(); l.Workflow != entity.WorkflowStartError || !l.Failure.NextRetry.IsZero() {
		t.Fatalf("after the last try: %s, %+v", l.Workflow, l.Failure)
	}
	r := w.reports["blog/0"]
	if r.Agent.Value != "failed" || r.Failure.Hook != "start" || r.Failure.Tries != 3 || r.Workflow != "start-error" {
		t.Errorf("reported %v", r)
	}
	if n := len(w.commits); n != 1 || w.commits[0].Hook != "install" {
		t.Errorf("a failed hook's writes were committed: %v", w.commits)
	}
	w.change(func() { w.units["blog/0"].Resolve = "retry" })
	w.settle()
	if f := local().Failure; f == nil || f.Tries != 1 {
		t.Fatalf("a retry that failed again: %+v", f)
	}
	if w.units["blog/0"].Resolve != "" {
		t.Error("the resolve was not cleared")
	}
	w.change(func() { w.units["blog/0"].Resolve = "skip" })
	w.settle()
	if l := local(); l.Failure != nil || l.Workflow != entity.WorkflowRunning || !l.Configured {
		t.Errorf("after the skip: %+v", l)
	}
	if got := w.hooks["blog/0"].names(); got != "install start! start! start! start! config-changed" {
		t.Errorf("it ran %s", got)
	}
}

// Rule: W-020 W-022 H-036
func TestServerAwayAndLaterOnce(t *testing.T) {
	w := pair(t)
	w.settle()
	before := len(w.commits)
	w.change(func() { w.units["store/0"].ConfigHash = "c2" })
	w.away = true
	w.settle()
	if got := w.hooks["store/0"].names(); !strings.HasSuffix(got, "config-changed") {
		t.Fatalf("the hook did not run without a server: %s", got)
	}
	if len(w.commits) != before {
		t.Fatal("committed without a server")
	}
	w.start("store/0") // the agent is restarted meanwhile
	w.settle()
	w.change(func() { w.away, w.deaf = false, true })
	for range 3 {
		w.settle()
	}
	w.change(func() { w.deaf = false })
	w.settle()
	if n := len(w.commits) - before; n != 1 {
		t.Errorf("committed %d times", n)
	}
	w.now = w.now.Add(time.Minute)
	w.settle()
	if w.status["store/0"] != "active: " || w.reports["store/0"].LastHook != "config-changed" {
		t.Errorf("status %q, report %v", w.status["store/0"], w.reports["store/0"])
	}
	w.check("store/0")
}

// Rule: H-003 H-005 H-026
func TestOutputAndMissingHooks(t *testing.T) {
	w := newWorld(t)
	w.add("blog/0", w.charmOf(t, blogMeta, "#!/bin/bash\necho out; echo err >&2; juju-log -l ERROR said; printf tail\n"))
	w.start("blog/0")
	w.settle()
	log := w.read("blog/0", "log/unit.log")
	for _, want := range []string{
		" DEBUG unit.blog/0.install out\n", " WARNING unit.blog/0.install err\n", " ERROR unit.blog/0.install.juju-log said\n",
		" DEBUG unit.blog/0.install tail\n", " INFO unit.blog/0.install hook begins\n", " INFO unit.blog/0.install hook ended: ok in 0s\n",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no line %q:\n%s", want, log)
		}
	}
	for _, h := range []string{"stop", "remove"} {
		if err := os.Remove(filepath.Join(w.unitDir("blog/0"), "charm", "hooks", h)); err != nil {
			t.Fatal(err)
		}
	}
	w.change(func() { w.units["blog/0"].Life = "dying" })
	w.settle()
	if w.units["blog/0"].Life != "dead" {
		t.Error("missing hooks must count as success")
	}
	if !strings.Contains(w.read("blog/0", "log/unit.log"), "skipped stop hook (missing)") {
		t.Error("the log does not say that stop is missing")
	}
}

// Rule: H-013
func TestJujuFailSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.add("blog/0", w.charmOf(t, blogMeta, "#!/bin/bash\njuju-fail 'no disk at /srv'\n"))
	w.start("blog/0")
	w.settle()
	if f := w.reports["blog/0"].Failure; f.GetReason() != "no disk at /srv" || f.GetExit() != 1 {
		t.Errorf("reported %v", f)
	}
}

func TestAHookThatCannotBeStarted(t *testing.T) {
	w := newWorld(t)
	w.add("blog/0", w.charmOf(t, blogMeta, "#!/no/such/shell\n"))
	w.start("blog/0")
	w.settle()
	f := w.reports["blog/0"].Failure
	if f.GetExit() != 126 || !strings.Contains(f.GetLastOutput(), "the interpreter in its first line, does not exist") {
		t.Errorf("reported %v", f)
	}
}

// Rule: E-088 E-142 E-061 E-112
func TestDeployerOfSubordinates(t *testing.T) {
	w := newWorld(t)
	w.add("blog/0", w.charmOf(t, blogMeta, "#!/bin/bash\n"))
	sub := w.add("log/0", "")
	sub.Deployed, sub.Principal = false, "blog/0"
	w.units["blog/0"].Subordinates = []*droverv1.SubordinateState{{Name: "log/0", Life: "alive"}}
	w.start("blog/0")
	w.settle()
	if !w.units["log/0"].Deployed {
		t.Fatal("the subordinate was not deployed")
	}
	w.change(func() { w.units["blog/0"].ApplicationLife = "dying" })
	w.settle()
	if w.units["blog/0"].Life != "dying" || w.units["log/0"].Life != "dying" {
		t.Fatalf("blog/0 is %s, log/0 is %s", w.units["blog/0"].Life, w.units["log/0"].Life)
	}
	w.change(func() { w.units["log/0"].Life = "dead" })
	w.settle()
	if !slices.Equal(w.recalled, []string{"log/0"}) || w.units["log/0"] != nil || w.units["blog/0"].Life != "dead" {
		t.Errorf("recalled %v, units %v", w.recalled, w.units)
	}
}
