package e2e

import (
	"fmt"
	"testing"
	"time"

	"drover/internal/proc"

	"google.golang.org/protobuf/proto"
)

func TestAKilledInstanceComesBackAndTheOthersAreUntouched(t *testing.T) {
	c := start(t)
	c.desire("web", 3)
	before := c.running(time.Second, "web", 3)
	killed, other, third := c.instance("web", 1), c.instance("web", 0), c.instance("web", 2)
	c.kill(killed)
	c.written(10*time.Second, "starts.web.1", 2)
	after := c.running(10*time.Second, "web", 3)
	if n := after[1].CrashCount; n != 1 {
		t.Errorf("the killed instance has crash count %d, want 1", n)
	}
	for _, i := range []int{0, 2} {
		if !proto.Equal(before[i], after[i]) {
			t.Errorf("instance %d was touched:\n%v\n%v", i, before[i], after[i])
		}
	}
	if !other.Alive() || !third.Alive() {
		t.Error("other instances were stopped")
	}
	if c.starts("web", 0)+c.starts("web", 2) != 2 {
		t.Error("other instances were started again")
	}
}

func TestTasksRunAtMostOnceUnderAnAgentKilledAgainAndAgain(t *testing.T) {
	c := start(t)
	c.desire("web", 2)
	first := []proc.ID{c.instance("web", 0), c.instance("web", 1)}
	c.task("long", true)
	c.written(10*time.Second, "ran.long", 1)
	agent := c.agent("0")
	const kills = 4
	for i := range kills {
		guid := fmt.Sprintf("short%d", i)
		c.task(guid, false)
		if i%2 == 0 {
			c.written(20*time.Second, "ran."+guid, 1) // else it is killed while it starts the task
		}
		c.kill(agent)
		agent = c.agent("0", agent)
	}
	c.touch("go")
	if long := c.completed(20*time.Second, "long"); long.Failed || long.Result != "done" {
		t.Errorf("the long task is %v", long)
	}
	if n := len(c.lines("ran.long")); n != 1 {
		t.Errorf("the long task ran %d times", n)
	}
	for i := range kills {
		guid := fmt.Sprintf("short%d", i)
		if i%2 != 0 {
			// Where the agent was killed between the record and the run, the task does
			// not run, and fails when its reservation is reaped, after a minute.
			if n := len(c.lines("ran." + guid)); n > 1 {
				t.Errorf("%s ran %d times", guid, n)
			}
			continue
		}
		task := c.completed(20*time.Second, guid)
		n := len(c.lines("ran." + guid))
		if n > 1 || !task.Failed && (n != 1 || task.Result != "done") || task.Failed && task.FailureReason == "" {
			t.Errorf("%s ran %d times: %v", guid, n, task)
		}
	}
	c.running(10*time.Second, "web", 2)
	for i, id := range first {
		if !id.Alive() || c.starts("web", i) != 1 {
			t.Errorf("instance %d did not live through it", i)
		}
	}
}

func TestAKilledAgentsInstancesAreAdopted(t *testing.T) {
	c := start(t)
	c.desire("web", 2)
	before := c.running(time.Second, "web", 2)
	agent := c.agent("0")
	c.kill(agent)
	c.agent("0", agent)
	id := c.instance("web", 0)
	if !id.Alive() || c.starts("web", 0) != 1 {
		t.Error("the instance did not live through it")
	}
	// Adopted means watched: its end is noticed.
	c.kill(id)
	c.written(10*time.Second, "starts.web.0", 2)
	after := c.running(10*time.Second, "web", 2)
	if after[0].CrashCount != 1 || !proto.Equal(before[1], after[1]) {
		t.Errorf("afterwards the records are %v", after)
	}
}

func TestAPlannedRestartOfAnAgentMovesNothing(t *testing.T) {
	c := start(t)
	c.must("deploy", c.plain(), "--to", "new")
	c.settled(20*time.Second, "plain/0")
	c.desire("web", 4)
	c.task("long", true)
	c.written(10*time.Second, "ran.long", 1)
	before := c.running(time.Second, "web", 4)
	held := 0
	for _, r := range before {
		if r.Holder.Cell == "c0" {
			held++
		}
	}
	if held == 0 || held == 4 {
		t.Fatalf("%d of 4 instances are on the cell to restart: the test sees nothing", held)
	}
	// With its supervisor stopped the agent is away for longer than the TTL, and
	// only its goodbye keeps the work in place.
	supervisor, agent := c.supervisor("0"), c.agent("0")
	if err := supervisor.Signal(stop); err != nil {
		t.Fatal(err)
	}
	if err := agent.Signal(term); err != nil {
		t.Fatal(err)
	}
	c.gone(agent)
	same := func() error {
		after, err := c.actual("web")
		if err != nil {
			return err
		}
		if len(after) != len(before) {
			return fmt.Errorf("%d records", len(after))
		}
		for i := range after {
			if !proto.Equal(before[i], after[i]) {
				return fmt.Errorf("record %d was\n%v\nand is\n%v", i, before[i], after[i])
			}
		}
		tasks, err := c.tasks()
		if err == nil && tasks["long"].GetState() != "RUNNING" {
			err = fmt.Errorf("the task is %v", tasks["long"])
		}
		return err
	}
	const longerThanTTL = 18 * time.Second
	c.holds(longerThanTTL, "nothing moves while the agent is away", same)
	if err := supervisor.Signal(cont); err != nil {
		t.Fatal(err)
	}
	c.agent("0", agent)
	c.cellIs(10*time.Second, "c0", "present")
	if err := same(); err != nil {
		c.fatal(err)
	}
	for i := range 4 {
		if c.starts("web", i) != 1 || !c.instance("web", i).Alive() {
			t.Errorf("instance %d did not live through it", i)
		}
	}
	c.touch("go")
	if task := c.completed(10*time.Second, "long"); task.Failed || task.Result != "done" {
		t.Errorf("the task is %v", task)
	}
}
