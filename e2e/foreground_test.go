package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"drover/internal/proc"
)

const (
	stop      = syscall.SIGSTOP
	cont      = syscall.SIGCONT
	term      = syscall.SIGTERM
	interrupt = syscall.SIGINT
)

// foreground is drover up without --detach; ended waits for it.
func (c *cluster) foreground() (id proc.ID, ended func() error) {
	c.t.Helper()
	cmd := c.command(c.t.Context(), "up", "--listen", c.listen)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		c.t.Fatal(err)
	}
	c.eventually(20*time.Second, "it is up", func() error {
		if _, err := c.run("wait", "machine/0", "--timeout", "10s"); err != nil {
			return err
		}
		return nil
	})
	c.connect()
	return id, func() error { return <-done }
}

func TestUpAfterAKilledForegroundUpAdopts(t *testing.T) {
	c := folder(t)
	id, ended := c.foreground()
	c.desire("web", 1)
	if got := c.record("up"); got != id {
		t.Fatalf("recorded is %s, started %s", got, id)
	}
	c.adopts(id)
	var exit *exec.ExitError
	if err := ended(); !errors.As(err, &exit) {
		t.Errorf("the killed up ended with %v", err)
	}
}

func TestInterruptedForegroundUpStopsAllAndKeepsTheState(t *testing.T) {
	c := folder(t)
	id, ended := c.foreground()
	c.desire("web", 2)
	server, machine, instance := c.record("server"), c.supervisor("0"), c.instance("web", 0)
	if err := id.Signal(interrupt); err != nil {
		t.Fatal(err)
	}
	if err := ended(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, id := range []proc.ID{server, machine, instance} {
		if id.Alive() {
			t.Errorf("%s outlived up", id)
		}
	}
	if left := c.processes(); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	c.up()
	c.running(20*time.Second, "web", 2)
	c.written(5*time.Second, "starts.web.0", 2)
}

func TestDownThenUpIsABoot(t *testing.T) {
	c := start(t)
	c.control("plain-0.start", daemon+`"`+c.path("daemon")+`"`)
	c.must("deploy", c.plain(), "--to", "0", "--config", "word=kept")
	c.settled(20*time.Second, "plain/0")
	c.desire("web", 2)
	c.task("before", false)
	c.completed(10*time.Second, "before")
	d := c.pidIn("daemon")
	c.must("down")
	if left := c.processes(); len(left) > 0 {
		t.Errorf("after down there are %v", left)
	}
	if d.Alive() {
		t.Error("a hook's daemon outlived down")
	}
	c.up()
	c.written(20*time.Second, "daemon", 2)
	c.settled(20*time.Second, "plain/0")
	c.running(20*time.Second, "web", 2)
	for hook, want := range map[string]int{"install": 1, "start": 2} { // order-free: each by itself
		if n := c.ran("plain/0", hook); n != want {
			t.Errorf("%s ran %d times, want %d", hook, n, want)
		}
	}
	for i := range 2 {
		if n := len(c.written(5*time.Second, fmt.Sprintf("starts.web.%d", i), 2)); n != 2 {
			t.Errorf("instance %d was started %d times, want 2", i, n)
		}
	}
	if task := c.completed(time.Second, "before"); task.Failed || len(c.lines("ran.before")) != 1 {
		t.Errorf("the task of before is %v", task)
	}
	if word := c.must("config", "plain", "word"); word != "kept\n" {
		t.Errorf("the option is %q", word)
	}
	// Nothing stands in the way of the next one.
	c.must("down")
	if out, err := c.run("down"); err != nil {
		t.Errorf("down twice: %v %s", err, out)
	}
}

// cellIs waits for a cell's presence.
func (c *cluster) cellIs(within time.Duration, id, presence string) {
	c.t.Helper()
	c.eventually(within, "cell "+id+" is "+presence, func() error {
		st, err := c.status()
		if err != nil {
			return err
		}
		if got := cell(st, id).Presence; got != presence {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
}
