package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/noun/charm"
	"drover/wire/droverv1"
)

// empty waits until no application, unit or relation is left, and every machine
// is Alive.
func (c *cluster) empty(within time.Duration) {
	c.t.Helper()
	c.sees(within, "nothing is left", func(st *droverv1.StatusResponse) error {
		if len(st.Applications)+len(st.Units)+len(st.Relations) > 0 {
			return fmt.Errorf("left are %v %v %v", st.Applications, st.Units, st.Relations)
		}
		for _, m := range st.Machines {
			if m.Life != "alive" {
				return fmt.Errorf("machine %s is %s", m.Id, m.Life)
			}
		}
		return nil
	})
}

// left checks that a unit ran its hooks in order, to the last one.
func (c *cluster) left(units ...string) {
	c.t.Helper()
	for _, u := range units {
		c.inOrder(u)
		runs := c.trace(u)
		if len(runs) == 0 || runs[len(runs)-1].Hook.Kind != charm.Stop || runs[len(runs)-1].Outcome != charm.Succeeded {
			c.t.Errorf("%s did not end with stop: %v", u, c.lines("trace/"+strings.ReplaceAll(u, "/", "-")))
		}
	}
}

// Rule: W-039 requirer/1 starts when provider/0 is established, and joins it.
func TestScalingGoesInOrderOverAKilledAgent(t *testing.T) {
	c := start(t)
	c.related("1")
	c.joined(20*time.Second, "requirer/0", 1)
	// The agent is killed in the middle of the new unit's first steps.
	c.control("requirer-1.start", `echo $$ >>"`+c.path("hook")+`"; [ -e "`+c.path("go")+`" ] || { `+until(c.path("go"))+`; }`)
	c.must("add-unit", "requirer", "--to", "0")
	hook := c.pidIn("hook")
	agent := c.agent("0")
	c.kill(agent)
	c.gone(hook)
	c.touch("go")
	// Resolved as soon as it has failed, unless its retry is there before.
	c.eventually(20*time.Second, "requirer/1 is resolved", func() error {
		if c.ran("requirer/1", "start") > 0 {
			return nil
		}
		_, err := c.run("resolve", "requirer/1")
		return err
	})
	c.joined(30*time.Second, "requirer/1", 1)
	c.joined(20*time.Second, "provider/0", 2)
	// And again while a unit leaves.
	c.control("provider-0.db-relation-departed", `if [ ! -e "`+c.path("departing")+`" ]; then echo $$ >>"`+c.path("departing")+`"; sleep 1000; fi`)
	agent = c.agent("0", agent)
	c.must("remove-unit", "requirer/0", "--yes")
	hook = c.pidIn("departing")
	c.kill(agent)
	c.gone(hook)
	c.agent("0", agent)
	c.sees(30*time.Second, "the unit leaves", func(st *droverv1.StatusResponse) error {
		if u := unit(st, "requirer/0"); u.Name != "" {
			return fmt.Errorf("it is %v", u)
		}
		return nil
	})
	c.left("requirer/0")
	c.settled(30*time.Second, "provider/0", "requirer/1")
	c.inOrder("provider/0")
	c.inOrder("requirer/1")
}

// Rule: H-071 in broken, after departed, a provider's settings can be read.
func TestRemovingAnApplicationGoesInOrderOverAKilledAgent(t *testing.T) {
	c := start(t)
	c.related("2")
	for _, u := range []string{"requirer/0", "requirer/1", "provider/0", "provider/1"} {
		c.joined(30*time.Second, u, 2)
	}
	c.control("requirer-0.db-relation-broken", `relation-get private-address provider/0 >>"`+c.path("addresses")+`"`)
	c.control("provider-1.db-relation-broken", `if [ ! -e "`+c.path("breaking")+`" ]; then echo $$ >>"`+c.path("breaking")+`"; sleep 1000; fi`)
	agent := c.agent("0")
	c.must("remove-application", "provider", "--yes")
	hook := c.pidIn("breaking")
	c.kill(agent)
	c.gone(hook)
	c.sees(40*time.Second, "the application goes", func(st *droverv1.StatusResponse) error {
		if len(st.Applications) != 1 || len(st.Units) != 2 || len(st.Relations) != 0 {
			return fmt.Errorf("there are %v %v %v", st.Applications, st.Units, st.Relations)
		}
		return nil
	})
	c.left("provider/0", "provider/1")
	if st, err := c.status(); err != nil || len(c.lines("addresses")) != 1 || c.lines("addresses")[0] != machine(st, "0").Address {
		t.Errorf("the settings of a unit that departed: %q, %v", c.lines("addresses"), err)
	}
	c.settled(10*time.Second, "requirer/0", "requirer/1")
	c.inOrder("requirer/0")
	c.inOrder("requirer/1")
	c.must("remove-application", "requirer", "--yes")
	c.empty(20 * time.Second)
	c.left("requirer/0", "requirer/1")
}

func TestEverythingCanBeRemovedInAnyOrder(t *testing.T) {
	apps := []string{"provider", "requirer", "plain"}
	orders := [][]int{{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}}
	c := start(t)
	provider, requirer, plain := c.provider(), c.requirer(), c.plain()
	for round, order := range orders {
		name := func(app string) string { return fmt.Sprintf("%s%c", app, 'a'+round) }
		c.must("deploy", provider, name("provider"), "--to", "0")
		c.must("deploy", requirer, name("requirer"), "--to", "0")
		c.must("deploy", plain, name("plain"), "--to", "0")
		c.must("integrate", name("provider"), name("requirer"))
		// Every other round while it is only coming up.
		if round%2 == 0 {
			c.joined(20*time.Second, name("requirer")+"/0", 1)
			c.joined(20*time.Second, name("provider")+"/0", 1)
			c.settled(20*time.Second, name("plain")+"/0")
		}
		for _, i := range order {
			c.must("remove-application", name(apps[i]), "--yes")
		}
		c.empty(30 * time.Second)
		for _, app := range apps {
			if u := name(app) + "/0"; round%2 == 0 {
				c.left(u)
			} else if len(c.trace(u)) > 0 {
				c.inOrder(u)
			}
		}
	}
}
