package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/internal/pki"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"
)

var empties = &emptypb.Empty{}

var removeNow = registry.RemoveOptions{Force: true}

func TestARetryGetsTheFirstAnswer(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	l.deployBlog(admin)
	add := func(id string) []string {
		resp, err := admin.Model.AddUnit(t.Context(), connect.NewRequest(&droverv1.AddUnitRequest{RequestId: id, Application: "blog", NumUnits: 1}))
		if err != nil {
			t.Fatal(err)
		}
		return resp.Msg.Units
	}
	first, again, other := add("a"), add("a"), add("b")
	if len(first) != 1 || len(again) != 1 || first[0] != again[0] || other[0] == first[0] {
		t.Errorf("first %v, retry %v, another request %v", first, again, other)
	}
	if n := len(l.server.cfg.Registry.ListUnits(l.st.View(), l.model)); n != 2 {
		t.Errorf("%d units, want 2", n)
	}
	// The same id in another method is another request.
	if _, err := admin.Work.UpsertDomain(t.Context(), connect.NewRequest(&droverv1.UpsertDomainRequest{RequestId: "a", Name: "d"})); err != nil {
		t.Errorf("the id of another method: %v", err)
	}
}

// endless is a body that must not be read far.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) { e.read += int64(len(p)); return len(p), nil }

func TestAHugeRequestIsRefusedUnread(t *testing.T) {
	l := newLab(t)
	pair, err := l.founding.AdminPair(l.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		length int64
	}{{"when it says its length", 100 << 20}, {"when it does not", -1}} {
		body := &endless{}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+l.addr+"/drover.v1.ModelService/Deploy", io.NopCloser(io.LimitReader(body, 100<<20)))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = tc.length
		req.Header.Set("Content-Type", "application/proto")
		resp, err := l.plain(pair).Do(req)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		data, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK || !strings.Contains(string(data), "resource_exhausted") {
			t.Errorf("%s: %d %s", tc.name, resp.StatusCode, data)
		}
		if body.read > 2*maxMessage {
			t.Errorf("%s: %d MiB of it were sent", tc.name, body.read>>20)
		}
	}
}

func TestWhatGoesWrongOnTheWayIsExplained(t *testing.T) {
	l, other := newLab(t), newLab(t)
	pair, err := l.founding.AdminPair(l.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert := pair.TLS()
	info := func(c *client.Client) error {
		_, err := c.Server.Info(t.Context(), connect.NewRequest(&emptypb.Empty{}))
		return err
	}
	at := func(now time.Time) *client.Client {
		c, err := client.Dial(client.Config{Servers: []string{l.addr}, CA: l.founding.Pair.CA, Cert: &cert, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := free.Addr().String()
	_ = free.Close()
	check(t, info(l.dial(client.Config{Servers: []string{nobody}, Cert: &cert})), fault.Unavailable, "cannot reach the server at "+nobody, "drover up")
	check(t, info(l.dial(client.Config{Servers: []string{other.addr}, Cert: &cert})), fault.Denied, "not of this cluster", "another authority")
	check(t, info(at(l.clock.Now().Add(-24*time.Hour))), fault.Denied, "clocks", "date")
	check(t, info(at(l.clock.Now().Add(2*pki.ServerLifetime))), fault.Denied, "has expired", "date")
	if err := info(l.dial(client.Config{Servers: []string{nobody, l.addr}, Cert: &cert})); err != nil {
		t.Errorf("the second server is not tried: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.as(pair).Server.Info(gone, connect.NewRequest(&emptypb.Empty{}))
	check(t, err, fault.Timeout)
	_, err = client.FromDir(t.TempDir())
	check(t, err, fault.Unavailable, "no cluster is known here", "drover up")
	_, err = client.Dial(client.Config{Servers: []string{"nonsense"}})
	check(t, err, fault.Invalid, "HOST:PORT")
}

func TestFaultsReachTheCallerAsTheyAre(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	_, err := admin.Model.AddUnit(t.Context(), connect.NewRequest(&droverv1.AddUnitRequest{Application: "none"}))
	check(t, err, fault.NotFound, "none")
	_, err = admin.Model.Status(t.Context(), connect.NewRequest(&droverv1.StatusRequest{Model: "none"}))
	check(t, err, fault.NotFound, "none")
	_, err = admin.Work.RemoveLRP(t.Context(), connect.NewRequest(&droverv1.RemoveLRPRequest{ProcessGuid: "none"}))
	check(t, err, fault.NotFound, "drover lrp list")
	stream, err := admin.Server.ReadLog(t.Context(), connect.NewRequest(&droverv1.ReadLogRequest{Target: "none/0"}))
	if err == nil {
		stream.Receive()
		err = stream.Err()
		_ = stream.Close()
	}
	check(t, err, fault.NotFound, "drover status")
}

func TestAFollowersCallersAreSentToTheLeader(t *testing.T) {
	var lns []net.Listener
	var addrs []string
	for range 2 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		lns, addrs = append(lns, ln), append(addrs, ln.Addr().String())
	}
	cluster := store.NewMemoryCluster(addrs...)
	a := newLab(t, option{log: cluster.Log(addrs[0]), listener: lns[0]})
	b := newLab(t, option{log: cluster.Log(addrs[1]), listener: lns[1], founding: a.founding})
	cluster.Elect(addrs[0])
	a.found()
	pair, err := a.founding.AdminPair(a.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert := pair.TLS()
	c := b.dial(client.Config{Cert: &cert, Servers: []string{addrs[1]}})
	if _, err := c.Work.UpsertDomain(t.Context(), connect.NewRequest(&droverv1.UpsertDomainRequest{Name: "d"})); err != nil {
		t.Fatalf("a call at the follower: %v", err)
	}
	if got := c.Servers(); got[0] != addrs[0] {
		t.Errorf("the client prefers %v, the leader is %s", got, addrs[0])
	}
	cluster.Elect(addrs[1])
	stream, err := c.Work.ListLRPs(t.Context(), connect.NewRequest(&droverv1.ListLRPsRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if stream.Receive(); stream.Err() != nil {
		t.Errorf("a stream after a change of leader: %v", stream.Err())
	}
	_ = stream.Close()
	cluster.Depose()
	_, err = c.Work.UpsertDomain(t.Context(), connect.NewRequest(&droverv1.UpsertDomainRequest{Name: "d"}))
	check(t, err, fault.Unavailable, "does not lead")
	if _, err := c.Server.Info(t.Context(), connect.NewRequest(&emptypb.Empty{})); err != nil {
		t.Errorf("Info without a leader: %v", err)
	}
}

func TestAPanicIsAnErrorOfOneCall(t *testing.T) {
	l := newLab(t)
	err := func() (err error) {
		defer l.server.recovered("/x", &err)
		panic("secret detail")
	}()
	var ce *connect.Error
	if !errors.As(err, &ce) || ce.Code() != connect.CodeInternal || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(l.logged.String(), "secret detail") {
		t.Error("the panic is not in the log")
	}
}
