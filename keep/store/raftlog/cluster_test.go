package raftlog

import (
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"drover/keep/store"
	"drover/keep/store/storetest"
)

// tcp is a Layer of plain connections on the loopback.
type tcp struct{ net.Listener }

func (tcp) Dial(address string, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", address, timeout)
}

func listen(t testing.TB, address string) tcp {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return tcp{l}
}

// servers is a cluster in folders of the test.
type servers struct {
	dir     string
	members []Server
	layers  []Layer
	logs    []*Log
	patient time.Duration // heartbeat
}

func newServers(t *testing.T, n int) storetest.Cluster {
	c := &servers{dir: t.TempDir(), layers: make([]Layer, n), logs: make([]*Log, n), patient: 2 * time.Second}
	for i := range n {
		l := listen(t, "127.0.0.1:0")
		c.layers[i] = l
		c.members = append(c.members, Server{string(rune('a' + i)), l.Addr().String()})
	}
	return c
}

func (c *servers) Name(i int) string { return c.members[i].Name }

func (c *servers) Open(t *testing.T, i int) store.Log {
	t.Helper()
	if c.logs[i] != nil {
		c.layers[i] = listen(t, c.members[i].Address)
	}
	l, err := New(Config{
		Dir: filepath.Join(c.dir, c.members[i].Name), Name: c.members[i].Name, Address: c.members[i].Address,
		Layer: c.layers[i], Servers: c.members, Logger: slog.New(slog.DiscardHandler),
		Heartbeat: c.patient,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.logs[i] = l
	return l
}

// Elect asks whoever leads to hand over until the server leads. A cluster that
// has no leader yet need not wait for the heartbeat.
func (c *servers) Elect(t *testing.T, server int) {
	t.Helper()
	for try := 0; t.Context().Err() == nil; try++ {
		nobody := true
		for i, l := range c.logs {
			lead := l.known()
			nobody = nobody && lead.Leader == ""
			switch {
			case lead.Leading && i == server:
				return
			case lead.Leading:
				_ = l.Transfer(c.members[server]) // not while the member is behind: asked again
			}
		}
		if nobody && try%100 == 0 {
			c.logs[server].stand(t)
		}
		<-time.After(time.Millisecond)
	}
	t.Fatal("nobody leads")
}

// stand makes a server that hears of no leader a candidate at once.
func (l *Log) stand(t *testing.T) {
	t.Helper()
	conf := l.node().ReloadableConfig()
	for _, timeout := range []time.Duration{l.cfg.Heartbeat + time.Millisecond, l.cfg.Heartbeat} {
		if conf.HeartbeatTimeout = timeout; l.node().ReloadConfig(conf) != nil {
			t.Fatal("raft refuses its timeouts")
		}
	}
}

func (l *Log) known() store.Leadership {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lead
}

func (c *servers) Compact(t *testing.T, i int) {
	t.Helper()
	if err := c.logs[i].node().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
}

func TestRaftLogKeepsTheContract(t *testing.T) { storetest.Log(t, newServers) }

func TestTheStoreKeepsItsPromisesOverTheRaftLog(t *testing.T) { storetest.Store(t, newServers) }
