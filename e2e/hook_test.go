package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drover/noun/charm"
	"drover/wire/droverv1"
)

func TestAHookOfAKilledAgentIsEndedThenFailedThenRetried(t *testing.T) {
	c := start(t)
	c.control("plain-0.start", daemon+`"`+c.path("daemon")+`"`)
	c.must("deploy", c.plain(), "--to", "0")
	c.settled(20*time.Second, "plain/0")
	c.desire("web", 1)
	// It holds on the first time only, with a child beside it in its group.
	c.control("plain-0.config-changed", `if [ ! -e "`+c.path("hook")+`" ]; then
	sleep 1000 & echo $! >>"`+c.path("child")+`"
	echo $$ >>"`+c.path("hook")+`"; `+until(c.path("never"))+`
fi
status-set active retried`)
	c.must("config", "plain", "word=second")
	hook, child, started, instance := c.pidIn("hook"), c.pidIn("child"), c.pidIn("daemon"), c.instance("web", 0)
	agent := c.agent("0")
	c.kill(agent)
	if !hook.Alive() {
		t.Error("the hook died with its agent: nobody had to end it")
	}
	c.gone(hook)
	c.gone(child)
	c.eventually(10*time.Second, "the failure is in the unit's log", func() error {
		if text := c.unitLog("0", "plain-0"); !strings.Contains(text, "failed: killed: the agent was restarted") {
			return fmt.Errorf("it says\n%s", text)
		}
		return nil
	})
	c.sees(20*time.Second, "the failure is recorded", func(st *droverv1.StatusResponse) error {
		u := unit(st, "plain/0")
		if f := u.Failure; f.GetHook() != "config-changed" && u.Workload.GetMessage() != "retried" {
			return fmt.Errorf("plain/0 is %v", u)
		}
		return nil
	})
	c.sees(20*time.Second, "it is retried by itself", func(st *droverv1.StatusResponse) error {
		u := unit(st, "plain/0")
		if u.Workload.GetMessage() != "retried" || u.Failure != nil || u.Agent.GetValue() != "idle" {
			return fmt.Errorf("plain/0 is %v", u)
		}
		return nil
	})
	if !started.Alive() || !instance.Alive() {
		t.Error("a daemon or an instance died with the agent")
	}
	var outcomes []string
	for _, r := range c.trace("plain/0") {
		if r.Hook.Kind == charm.ConfigChanged {
			outcomes = append(outcomes, r.Outcome.String())
		}
	}
	// The first of deploying, the killed one, its retry, and one config-changed
	// after the recovery (SEMANTICS 56) unless the retry was one itself.
	if got := strings.Join(outcomes, " "); !strings.HasPrefix(got, "succeeded failed succeeded") || len(outcomes) > 4 {
		t.Errorf("config-changed: %s", got)
	}
	c.inOrder("plain/0")
}

func TestAFailedHookWaitsForResolve(t *testing.T) {
	c := start(t)
	c.control("config-changed", `[ -e "`+c.path("go")+`" ] || exit 3`)
	c.must("deploy", c.plain(), "--to", "0")
	failed := func(st *droverv1.StatusResponse) error {
		if f := unit(st, "plain/0").Failure; f.GetHook() != "config-changed" || f.GetExit() != 3 {
			return fmt.Errorf("its failure is %v", f)
		}
		return nil
	}
	c.sees(20*time.Second, "it fails", failed)
	agent := c.agent("0")
	c.kill(agent)
	c.agent("0", agent)
	c.sees(10*time.Second, "the failure outlives the agent", failed)
	c.touch("go")
	c.must("resolve", "plain/0")
	c.settled(20*time.Second, "plain/0")
	c.inOrder("plain/0")
}

func (c *cluster) unitLog(machine, tag string) string {
	b, err := os.ReadFile(filepath.Join(c.data, "machines", machine, "units", tag, "log", "unit.log"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}
