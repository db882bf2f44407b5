package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"drover/internal/proc"
	"drover/wire/droverv1"
)

// related deploys a provider and a requirer to machine 0 and relates them.
func (c *cluster) related(n string) {
	c.t.Helper()
	to := "0"
	if n == "2" {
		to = "0,0"
	}
	c.must("deploy", c.provider(), "-n", n, "--to", to)
	c.must("deploy", c.requirer(), "-n", n, "--to", to)
	c.must("integrate", "provider", "requirer")
}

// joined waits until every requirer has seen every provider.
func (c *cluster) joined(within time.Duration, unit string, n int) {
	c.t.Helper()
	c.eventually(within, unit+" has joined", func() error {
		if got := c.ran(unit, "db-relation-changed"); got < n {
			return fmt.Errorf("%d of %d db-relation-changed", got, n)
		}
		return nil
	})
}

const daemon = `sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >>`

func TestAKilledServerIsRestartedAndWorkGoesOn(t *testing.T) {
	c := start(t)
	c.control("plain-0.start", daemon+`"`+c.path("daemon")+`"`)
	c.must("deploy", c.plain(), "--to", "0", "--config", "word=kept")
	c.settled(20*time.Second, "plain/0")
	c.desire("web", 2)
	agent, server, keeper := c.agent("0"), c.record("server"), c.record("up")
	alive := []proc.ID{agent, keeper, c.pidIn("daemon"), c.instance("web", 0), c.instance("web", 1)}
	// Acknowledged, and the server killed before anything else can happen.
	c.must("lrp", "scale", "web", "3")
	c.kill(server)
	c.eventually(10*time.Second, "another server", func() error {
		if id := c.record("server"); id == server || !id.Alive() {
			return fmt.Errorf("it is %s", id)
		}
		return nil
	})
	c.running(20*time.Second, "web", 3)
	c.settled(20*time.Second, "plain/0")
	for _, id := range alive {
		if !id.Alive() {
			t.Errorf("%s did not live through it", id)
		}
	}
	for i := range 3 {
		if n := len(c.written(5*time.Second, fmt.Sprintf("starts.web.%d", i), 1)); n != 1 {
			t.Errorf("instance %d was started %d times", i, n)
		}
	}
	if n := c.ran("plain/0", "start"); n != 1 {
		t.Errorf("start ran %d times", n)
	}
	c.must("config", "plain", "word")
	c.cellIs(20*time.Second, "c0", "present")
}

func TestHooksAndProcessesGoOnWithoutAServerAndResultsArriveOnce(t *testing.T) {
	c := start(t)
	c.control("requirer-0.db-relation-changed", `echo "$(relation-get answer)" >>"`+c.path("answers")+`"`)
	c.related("1")
	c.joined(20*time.Second, "requirer/0", 1)
	c.joined(20*time.Second, "provider/0", 1)
	c.settled(20*time.Second, "provider/0", "requirer/0")
	c.desire("web", 2)
	c.task("slow", true)
	c.written(10*time.Second, "ran.slow", 1)
	// A hook that is under way when the server goes.
	c.control("provider-0.config-changed", `echo $$ >>"`+c.path("hook")+`"; `+until(c.path("go"))+`
relation-set -r "$(relation-ids db)" answer="$(config-get word)"
open-port 8080
status-set active answered`)
	c.must("config", "provider", "word=second")
	hook := c.pidIn("hook")
	keeper, server, untouched := c.record("up"), c.record("server"), c.instance("web", 1)
	c.kill(keeper)
	c.kill(server)
	c.kill(c.instance("web", 0))
	c.touch("go")
	c.gone(hook)
	c.eventually(10*time.Second, "the hook ends without a server", func() error {
		if n := c.ran("provider/0", "config-changed"); n != 2 {
			return fmt.Errorf("config-changed ran %d times", n)
		}
		return nil
	})
	c.up()
	c.sees(20*time.Second, "the hook's writes arrive", func(st *droverv1.StatusResponse) error {
		u := unit(st, "provider/0")
		if u.Workload.GetMessage() != "answered" || len(u.Ports) != 1 || u.Ports[0].From != 8080 {
			return fmt.Errorf("provider/0 is %v", u)
		}
		return nil
	})
	c.eventually(20*time.Second, "the counterpart sees the settings", func() error {
		lines := c.lines("answers")
		if len(lines) == 0 || lines[len(lines)-1] != "second" {
			return fmt.Errorf("it saw %q", lines)
		}
		return nil
	})
	c.written(20*time.Second, "starts.web.0", 2)
	after := c.running(20*time.Second, "web", 2)
	if after[0].CrashCount != 1 || after[1].CrashCount != 0 {
		t.Errorf("the crashes were accounted as %d and %d, want 1 and 0", after[0].CrashCount, after[1].CrashCount)
	}
	if !untouched.Alive() || c.starts("web", 1) != 1 || c.starts("web", 0) != 2 {
		t.Errorf("instances were started %d and %d times, want 2 and 1", c.starts("web", 0), c.starts("web", 1))
	}
	if task := c.completed(20*time.Second, "slow"); task.Failed || task.Result != "done" || len(c.lines("ran.slow")) != 1 {
		t.Errorf("the task is %v, it ran %d times", task, len(c.lines("ran.slow")))
	}
	c.settled(20*time.Second, "provider/0", "requirer/0")
	if n := c.ran("provider/0", "config-changed"); n != 2 {
		t.Errorf("config-changed ran %d times, want 2", n)
	}
	if n := len(c.lines("answers")); n != 2 {
		t.Errorf("the counterpart was told %d times, want 2: %q", n, c.lines("answers"))
	}
	c.inOrder("provider/0")
	c.inOrder("requirer/0")
}

func TestUpAfterAKilledKeeperAdopts(t *testing.T) {
	c := start(t)
	c.desire("web", 1)
	c.adopts(c.record("up"))
}

// adopts kills who keeps the server, and has the next up find all as it was.
func (c *cluster) adopts(keeper proc.ID) {
	c.t.Helper()
	server, machine, instance := c.record("server"), c.supervisor("0"), c.instance("web", 0)
	c.kill(keeper)
	c.must("status") // the server does not need its keeper
	c.up()
	c.running(10*time.Second, "web", 1)
	if c.record("server") != server || c.record("up") == keeper || !c.record("up").Alive() {
		c.t.Error("the server was not adopted by another keeper")
	}
	for _, id := range []proc.ID{server, machine, instance} {
		if !id.Alive() {
			c.t.Errorf("%s did not live through it", id)
		}
	}
	// Adopted means kept.
	c.kill(server)
	c.eventually(10*time.Second, "the adopted server is restarted", func() error {
		if id := c.record("server"); id == server || !id.Alive() {
			return fmt.Errorf("it is %s", id)
		}
		return nil
	})
	c.running(10*time.Second, "web", 1)
}

func TestAStartThatFailsLeavesWhatRunsAlone(t *testing.T) {
	c := start(t)
	c.desire("web", 1)
	machine, instance := c.supervisor("0"), c.instance("web", 0)
	c.kill(c.record("up"))
	c.kill(c.record("server"))
	key := c.data + "/server/identity/seal.key"
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	if out, err := c.run("up", "--detach"); err == nil {
		t.Errorf("it came up without a key: %s", out)
	}
	if !machine.Alive() || !instance.Alive() {
		t.Error("a failed start has stopped the machine")
	}
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	c.up()
	c.running(20*time.Second, "web", 1)
	if c.supervisor("0") != machine || c.instance("web", 0) != instance {
		t.Error("the machine was not found again")
	}
}
