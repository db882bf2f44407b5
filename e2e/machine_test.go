package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/internal/proc"
	"drover/wire/droverv1"
)

// spread is a cluster with a unit on machine 1, made for it, and an LRP on both
// cells.
func spread(t *testing.T) *cluster {
	t.Helper()
	c := start(t)
	c.must("deploy", c.plain(), "--to", "new")
	c.settled(20*time.Second, "plain/0")
	c.desire("web", 4)
	on := 0
	for _, r := range c.running(time.Second, "web", 4) {
		if r.Holder.Cell == "c1" {
			on++
		}
	}
	if on == 0 {
		t.Fatal("no instance is on machine 1")
	}
	return c
}

// machineGone waits until machine 1 is gone with everything of its cell.
func (c *cluster) machineGone(within time.Duration) {
	c.t.Helper()
	c.sees(within, "machine 1 is gone", func(st *droverv1.StatusResponse) error {
		if m := machine(st, "1"); m.Id != "" {
			return fmt.Errorf("it is %v", m)
		}
		if k := cell(st, "c1"); k.Id != "" {
			return fmt.Errorf("its cell is %v", k)
		}
		for _, l := range st.Lrps {
			for _, i := range l.Indexes {
				if i.Cell == "c1" {
					return fmt.Errorf("it holds %v", i)
				}
			}
		}
		return nil
	})
	for _, p := range c.processes() {
		if _, err := proc.Of(p.pid); err == nil && strings.Contains(p.what, c.data+"/machines/1") {
			c.t.Errorf("left of machine 1: %v", p)
		}
	}
}

func TestAMachineThatHoldsWorkIsNotRemovedWithItsLastUnit(t *testing.T) {
	c := spread(t)
	before := c.running(time.Second, "web", 4)
	c.must("remove-unit", "plain/0", "--yes")
	c.sees(20*time.Second, "the unit goes", func(st *droverv1.StatusResponse) error {
		if len(st.Units) > 0 {
			return fmt.Errorf("it is %v", st.Units)
		}
		return nil
	})
	c.holds(3*time.Second, "the machine stays", func() error {
		st, err := c.status()
		if err != nil {
			return err
		}
		if m := machine(st, "1"); m.Life != "alive" {
			return fmt.Errorf("it is %v", m)
		}
		return nil
	})
	after := c.running(time.Second, "web", 4)
	for i := range after {
		if after[i].Holder.Instance != before[i].Holder.Instance {
			t.Errorf("instance %d has moved", i)
		}
	}
	c.must("lrp", "remove", "web", "--yes")
	c.sees(15*time.Second, "its records go", func(st *droverv1.StatusResponse) error {
		if len(st.Lrps) > 0 {
			return fmt.Errorf("left is %v", st.Lrps)
		}
		return nil
	})
	c.must("remove-machine", "1", "--yes")
	c.machineGone(20 * time.Second)
}

func TestARemovedMachineIsEvacuatedFirst(t *testing.T) {
	c := spread(t)
	c.must("remove-unit", "plain/0", "--yes")
	c.sees(20*time.Second, "the unit goes", func(st *droverv1.StatusResponse) error {
		if len(st.Units) > 0 {
			return fmt.Errorf("it is %v", st.Units)
		}
		return nil
	})
	c.must("remove-machine", "1", "--yes")
	c.machineGone(40 * time.Second)
	for _, r := range c.running(10*time.Second, "web", 4) {
		if r.Holder.Cell != "c0" {
			t.Errorf("instance %d is on %s", r.Index, r.Holder.Cell)
		}
	}
	for i := range 4 {
		if !c.instance("web", i).Alive() {
			t.Errorf("the process of instance %d is gone", i)
		}
	}
}

func TestRemovingTheProcessLetsADyingMachineGoAtOnce(t *testing.T) {
	c := spread(t)
	c.must("lrp", "remove", "web", "--yes")
	c.must("remove-unit", "plain/0", "--yes")
	c.sees(15*time.Second, "the records go", func(st *droverv1.StatusResponse) error {
		if len(st.Lrps)+len(st.Units) > 0 {
			return fmt.Errorf("left is %v %v", st.Lrps, st.Units)
		}
		return nil
	})
	// Whether the machine went with its last unit or has to be removed depends on
	// which was first.
	if st, err := c.status(); err != nil || machine(st, "1").Life == "alive" {
		c.must("remove-machine", "1", "--yes")
	}
	c.machineGone(20 * time.Second)
}

func TestAMachineWhoseSupervisorIsKilledBootsAgain(t *testing.T) {
	c := spread(t)
	var onIt []int32
	for _, r := range c.running(time.Second, "web", 4) {
		if r.Holder.Cell == "c1" {
			onIt = append(onIt, r.Index)
		}
	}
	supervisor, agent, start := c.supervisor("1"), c.agent("1"), c.ran("plain/0", "start")
	c.kill(supervisor)
	c.gone(agent) // a machine's agent dies with it
	c.eventually(20*time.Second, "the machine boots again", func() error {
		if id := c.supervisor("1"); id == supervisor || !id.Alive() {
			return fmt.Errorf("it is %s", id)
		}
		return nil
	})
	for _, i := range onIt {
		c.written(20*time.Second, fmt.Sprintf("starts.web.%d", i), 2)
	}
	c.cellIs(20*time.Second, "c1", "present")
	c.running(20*time.Second, "web", 4)
	c.eventually(20*time.Second, "start runs for the boot", func() error {
		if n := c.ran("plain/0", "start"); n != start+1 {
			return fmt.Errorf("it ran %d times more", n-start)
		}
		return nil
	})
	c.settled(20*time.Second, "plain/0")
	if n := c.ran("plain/0", "install"); n != 1 {
		t.Errorf("install ran %d times", n)
	}
	for i := range 4 {
		c.onlyLast(fmt.Sprintf("starts.web.%d", i))
	}
}

func TestUnitsReserveTheirConstraintsOnTheCell(t *testing.T) {
	c := start(t)
	st, err := c.status()
	if err != nil {
		t.Fatal(err)
	}
	const little = 64
	c.must("deploy", c.plain(), "--to", "0", "--constraints", fmt.Sprintf("mem=%dM", machine(st, "0").MemoryMb-little))
	c.settled(20*time.Second, "plain/0")
	c.must("lrp", "desire", "big", "--memory", "100", "--", "/bin/sleep", "1000")
	c.sees(20*time.Second, "it finds no room", func(st *droverv1.StatusResponse) error {
		if len(st.Lrps) != 1 || st.Lrps[0].Indexes[0].State != "UNCLAIMED" || st.Lrps[0].Indexes[0].Note == "" {
			return fmt.Errorf("it is %v", st.Lrps)
		}
		return nil
	})
	c.must("remove-unit", "plain/0", "--yes")
	c.running(20*time.Second, "big", 1)
}

func TestALostCellsWorkMovesAndItsLeftoversGo(t *testing.T) {
	c := spread(t)
	before := c.running(time.Second, "web", 4)
	// Without its supervisor the agent does not come back, and says no goodbye.
	supervisor, agent := c.supervisor("1"), c.agent("1")
	if err := supervisor.Signal(stop); err != nil {
		t.Fatal(err)
	}
	c.kill(agent)
	for _, r := range before {
		if r.Holder.Cell == "c1" {
			c.written(40*time.Second, fmt.Sprintf("starts.web.%d", r.Index), 2)
		}
	}
	for _, r := range c.running(10*time.Second, "web", 4) {
		if r.Holder.Cell != "c0" {
			t.Errorf("instance %d is on %s", r.Index, r.Holder.Cell)
		}
		if was := before[r.Index]; was.Holder.Cell == "c0" && was.Holder.Instance != r.Holder.Instance {
			t.Errorf("instance %d of the other cell was moved", r.Index)
		}
	}
	if err := supervisor.Signal(cont); err != nil {
		t.Fatal(err)
	}
	c.agent("1", agent)
	c.cellIs(20*time.Second, "c1", "present")
	c.eventually(20*time.Second, "what ran there is stopped", func() error {
		for _, p := range c.processes() {
			if p.what == "sleep 1000 " && strings.Contains(p.cwd, "/machines/1/") {
				return fmt.Errorf("there is %v", p)
			}
		}
		return nil
	})
	for i := range 4 {
		c.onlyLast(fmt.Sprintf("starts.web.%d", i))
	}
	c.settled(10*time.Second, "plain/0")
}

func TestTheLastMachineThatManagesStays(t *testing.T) {
	c := start(t)
	if out, err := c.run("remove-machine", "0", "--yes"); err == nil {
		t.Errorf("it was removed: %s", out)
	}
	c.cellIs(time.Second, "c0", "present")
}

func TestDownFindsWhatLostAllWhoKnewIt(t *testing.T) {
	c := start(t)
	c.control("plain-0.start", daemon+`"`+c.path("daemon")+`"`)
	c.must("deploy", c.plain(), "--to", "0")
	c.settled(20*time.Second, "plain/0")
	c.desire("web", 2)
	agent := c.agent("0")
	for _, id := range []proc.ID{c.record("up"), c.record("server"), c.supervisor("0")} {
		c.kill(id)
	}
	c.gone(agent)
	if !c.pidIn("daemon").Alive() || !c.instance("web", 0).Alive() {
		t.Error("nothing is left for down to find")
	}
	// The end of every test does the rest.
}
