package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"drover/internal/proc"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"
)

// addServer joins one more server, which ends with the test.
func (c *cluster) addServer(name string) {
	c.t.Helper()
	token := c.path(name + ".token")
	if err := os.WriteFile(token, []byte(c.must("join-token", "--role", "server")), 0o600); err != nil {
		c.t.Fatal(err)
	}
	log, err := os.Create(c.path(name + ".log"))
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := c.command(context.Background(), "server", "--join", token, "--name", name, "--data", c.path(name), "--listen", freeAddress(c.t))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
		_ = log.Close()
		if c.t.Failed() {
			b, _ := os.ReadFile(filepath.Clean(log.Name()))
			c.t.Logf("%s:\n%s", name, b)
		}
	})
	c.serversAre(20*time.Second, name+" standby")
}

// serversAre waits until each of "name state" is so.
func (c *cluster) serversAre(within time.Duration, want ...string) {
	c.t.Helper()
	c.eventually(within, fmt.Sprint(want), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), commandTime)
		defer cancel()
		resp, err := c.client.Server.ListServers(ctx, connect.NewRequest(&emptypb.Empty{}))
		if err != nil {
			return err
		}
		var are []string
		for _, m := range resp.Msg.Servers {
			are = append(are, m.Name+" "+m.State)
		}
		for _, w := range want {
			name, gone := strings.CutSuffix(w, " gone")
			there := slices.ContainsFunc(are, func(a string) bool { return strings.HasPrefix(a, name+" ") })
			if gone && there || !gone && !slices.Contains(are, w) {
				return fmt.Errorf("they are %v", are)
			}
		}
		return nil
	})
}

func (c *cluster) leader(but string) (name string) {
	c.t.Helper()
	c.sees(20*time.Second, "another leader than "+but, func(st *droverv1.StatusResponse) error {
		if name = st.Leader; name == "" || name == but {
			return errors.New("there is none")
		}
		return nil
	})
	return name
}

// Invariants D1 and X4: three servers, the leading one killed.
func TestAnotherServerLeadsWhenTheLeaderIsKilled(t *testing.T) {
	c := start(t)
	c.addServer("s2")
	c.addServer("s3")
	c.must("deploy", c.plain(), "--to", "0", "--config", "word=kept")
	c.settled(20*time.Second, "plain/0")
	c.desire("web", 2)
	agent := c.agent("0")
	alive := []proc.ID{agent, c.instance("web", 0), c.instance("web", 1)}

	c.must("lrp", "scale", "web", "3") // acknowledged, and the leader gone before anything else
	c.kill(c.record("up"))
	c.kill(c.record("server"))
	began := time.Now()
	c.must("lrp", "list")
	t.Logf("the first answer came %s after the kill", time.Since(began).Round(time.Millisecond))
	if next := c.leader("s1"); next != "s2" && next != "s3" {
		t.Errorf("%q leads", next)
	}
	c.running(20*time.Second, "web", 3)
	c.must("config", "plain", "word=other") // the archive is there too, and the agent takes orders
	c.eventually(20*time.Second, "a config-changed under the next leader", func() error {
		if n := c.ran("plain/0", "config-changed"); n < 2 {
			return fmt.Errorf("%d ran", n)
		}
		return nil
	})
	for _, id := range alive {
		if !id.Alive() {
			t.Errorf("%s did not live through it", id)
		}
	}
	if n := c.ran("plain/0", "start"); n != 1 {
		t.Errorf("start ran %d times", n)
	}
	c.serversAre(20*time.Second, "s1 unreachable")
	c.must("up", "--detach", "--listen", c.listen)
	c.serversAre(20*time.Second, "s1 standby")
	c.shrink()
}

// shrink removes s2 and s3, the leader among them: s1 is left and goes on.
func (c *cluster) shrink() {
	c.t.Helper()
	for _, name := range []string{"s2", "s3"} {
		c.must("server", "remove", name)
		c.serversAre(20*time.Second, name+" gone")
	}
	c.serversAre(20*time.Second, "s1 leader")
	c.must("lrp", "scale", "web", "1")
	c.running(20*time.Second, "web", 1)
}

func TestAServerIsReplaced(t *testing.T) {
	c := start(t)
	c.addServer("s2")
	c.must("server", "remove", "s2")
	c.serversAre(20*time.Second, "s2 gone")
	c.eventually(20*time.Second, "the removed server says so and ends", func() error {
		b, err := os.ReadFile(c.path("s2.log"))
		if err == nil && !strings.Contains(string(b), "it was removed") {
			err = fmt.Errorf("it says %q", b)
		}
		return err
	})
	if err := os.RemoveAll(c.path("s2")); err != nil {
		t.Fatal(err)
	}
	c.addServer("s2")
	c.must("server", "remove", "s1") // the leader, which hands over first
	if next := c.leader("s1"); next != "s2" {
		t.Errorf("%q leads", next)
	}
	c.serversAre(20*time.Second, "s2 leader", "s1 gone")
}
