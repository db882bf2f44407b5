package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"
)

// fellows are members and peers by decree: those in away are not reached.
type fellows struct {
	all   []Member
	away  map[string]bool
	moved []string // leadership, to whom
	blobs map[string][]byte
}

func (f *fellows) List() ([]Member, error) { return slices.Clone(f.all), nil }

func (f *fellows) Add(m Member) error {
	_ = f.Remove(m.Name)
	f.all = append(f.all, m)
	return nil
}

func (f *fellows) Remove(name string) error {
	f.all = slices.DeleteFunc(f.all, func(m Member) bool { return m.Name == name })
	return nil
}

func (f *fellows) Transfer(to Member) error { f.moved = append(f.moved, to.Name); return nil }

func (f *fellows) Reach(_ context.Context, m Member) error {
	if f.away[m.Name] {
		return errors.New("nobody is there")
	}
	return nil
}

func (f *fellows) Info(_ context.Context, address string) (*droverv1.ServerInfo, error) {
	for _, m := range f.all {
		if m.Address == address && !f.away[m.Name] {
			return &droverv1.ServerInfo{Server: m.Name, Version: "theirs", Revision: 7}, nil
		}
	}
	return nil, fault.New(fault.Unavailable, "nobody is at %s", address)
}

func (f *fellows) Fetch(_ context.Context, address, sha string, put func([]byte) error) error {
	data, ok := f.blobs[sha]
	if !ok {
		return fault.New(fault.NotFound, "%s has no %s", address, sha)
	}
	return put(data)
}

// newHall is a lab whose server s1 has fellows.
func newHall(t *testing.T, others ...string) (*lab, *fellows) {
	f := &fellows{away: map[string]bool{}, blobs: map[string][]byte{}}
	l := newLab(t, option{members: f, peers: f})
	f.all = []Member{{"s1", l.addr}}
	for _, name := range others {
		f.all = append(f.all, Member{name, name + ":7443"})
	}
	return l, f
}

func (l *lab) joinServer(name string) (*client.JoinedServer, error) {
	l.Helper()
	return client.JoinServer(l.Context(), l.token(l.admin(), &droverv1.CreateTokenRequest{Role: "server"}), name, "host", client.Config{Now: l.clock.Now})
}

func enter(t *testing.T, c *client.Client, address string) error {
	t.Helper()
	_, err := c.Server.Enter(t.Context(), connect.NewRequest(&droverv1.EnterRequest{Address: address}))
	return err
}

func TestAServerJoinsAndEnters(t *testing.T) {
	l, f := newHall(t)
	j, err := l.joinServer("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := Adopt(dir, j); err != nil {
		t.Fatal(err)
	}
	got, err := Prepare(dir, "ignored", "ignored", l.clock.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if j.Name != "s2" || got.Seal != l.founding.Seal || got.Cluster.ID != l.founding.Cluster.ID || !slices.Equal(got.Joined, []string{l.addr}) {
		t.Errorf("joined as %s, the folder holds %+v", j.Name, got)
	}
	if _, err := got.AdminPair(l.clock.Now()); err != nil {
		t.Errorf("the key file does not open the authority: %v", err)
	}
	s2 := l.as(&j.Pair)
	check(t, enter(t, s2, "nonsense"), fault.Invalid, "HOST:PORT")
	check(t, enter(t, s2, l.addr), fault.Conflict, "s1", "drover server list")
	f.away["s2"] = true
	check(t, enter(t, s2, "s2:7443"), fault.Unavailable, "cannot reach server s2", "--advertise")
	f.away["s2"] = false
	for range 2 { // again changes nothing
		if err := enter(t, s2, "s2:7443"); err != nil || len(f.all) != 2 {
			t.Fatalf("entering: %v; the members are %v", err, f.all)
		}
	}
	_, err = l.joinServer("s2")
	check(t, err, fault.Conflict, "there is a server s2 already", "drover server remove s2")
	_, err = l.joinServer("No Name")
	check(t, err, fault.Invalid, "cannot be the name")
	resp, err := l.admin().Server.ListServers(t.Context(), connect.NewRequest(&emptypb.Empty{}))
	if err != nil {
		t.Fatal(err)
	}
	if s := resp.Msg.Servers; len(s) != 2 || s[0].Name != "s1" || s[1].State != "standby" || s[1].Version != "theirs" || s[1].Joined == 0 {
		t.Errorf("listed: %v", s)
	}
}

func TestAHalfWrittenIdentityIsNotTakenForANewCluster(t *testing.T) {
	dir := t.TempDir()
	if err := writeFile(dir+"/"+joinedFile, []byte(`["s1:7443"]`)); err != nil {
		t.Fatal(err)
	}
	_, err := Prepare(dir, "prod", "s1", time.Now(), nil)
	check(t, err, fault.Conflict, "was not completed", "drover join-token --role server")
}

// Invariants X1 and X2.
func TestATokenIsForItsRole(t *testing.T) {
	l, _ := newHall(t)
	machine := l.token(l.admin(), &droverv1.CreateTokenRequest{})
	server := l.token(l.admin(), &droverv1.CreateTokenRequest{Role: "server"})
	_, err := client.JoinServer(t.Context(), machine, "", "host", client.Config{Now: l.clock.Now})
	check(t, err, fault.Denied, "for a machine, not for a server", "--role server")
	_, err = l.spend(server)
	check(t, err, fault.Denied, "for a server, not for a machine", "drover join-token")
	if _, err := l.spend(machine); err != nil {
		t.Errorf("the refusal spent the token: %v", err)
	}
	for _, q := range []*droverv1.CreateTokenRequest{{Role: "king"}, {Role: "server", Machine: "0"}} {
		_, err := l.admin().Server.CreateToken(t.Context(), connect.NewRequest(q))
		check(t, err, fault.Invalid)
	}
}

// Invariant X4.
func TestARemovedServerIsRefused(t *testing.T) {
	l, f := newHall(t)
	j, err := l.joinServer("")
	if err != nil {
		t.Fatal(err)
	}
	s2 := l.as(&j.Pair)
	if err := enter(t, s2, "s2:7443"); err != nil {
		t.Fatal(err)
	}
	remove := func(name, request string) error {
		_, err := l.admin().Server.RemoveServer(t.Context(), connect.NewRequest(&droverv1.RemoveServerRequest{Name: name, RequestId: request}))
		return err
	}
	check(t, remove("s9", ""), fault.NotFound, "drover server list")
	for range 2 { // the same request again gets the same answer
		if err := remove("s2", "r"); err != nil {
			t.Fatal(err)
		}
	}
	check(t, enter(t, s2, "s2:7443"), fault.Denied, "revoked")
	check(t, remove("s1", ""), fault.Conflict, "the only one", "drover join-token --role server")
	if len(f.all) != 1 {
		t.Errorf("the members are %v", f.all)
	}
	again, err := l.joinServer("s2")
	if err != nil {
		t.Fatal(err)
	}
	if err := enter(t, l.as(&again.Pair), "s2:7443"); err != nil {
		t.Errorf("the next of the name: %v", err)
	}
	check(t, enter(t, s2, "s2:7443"), fault.Denied, "revoked")
}

func TestNoChangeOfMembersCostsTheMajority(t *testing.T) {
	l, f := newHall(t, "s2", "s3")
	remove := func(name string) error {
		_, err := l.admin().Server.RemoveServer(t.Context(), connect.NewRequest(&droverv1.RemoveServerRequest{Name: name}))
		return err
	}
	f.away["s3"] = true
	check(t, remove("s2"), fault.Conflict, "only 1 of the other 2 are reached", "drover server list")
	f.away["s2"] = true
	j, err := l.joinServer("s4")
	if err != nil {
		t.Fatal(err)
	}
	check(t, enter(t, l.as(&j.Pair), "s4:7443"), fault.Unavailable, "2 of then 4 servers")
	f.away["s2"] = false
	if err := remove("s3"); !slices.Equal(f.all, []Member{{"s1", l.addr}, {"s2", "s2:7443"}}) {
		t.Errorf("the dead one is removed: %v; the members are %v", err, f.all)
	}
	if err := remove("s1"); err == nil || len(f.moved) == 0 || f.moved[0] != "s2" || len(f.all) != 2 {
		t.Errorf("the leader removes itself: %v; handed over to %v", err, f.moved)
	}
}

func TestAnArchiveComesFromAnotherServer(t *testing.T) {
	l, f := newHall(t, "s2")
	data := archive(t, blogFiles)
	l.deployBlog(l.admin(), "0")
	charms := l.server.cfg.Registry.ListCharms(l.st.View())
	sha := string(charms[0].SHA)
	l.server.cfg.Blobs = l.emptyBlobs()
	_, agent := l.join("0")
	fetch := func() error {
		stream, err := l.as(&agent.Pair).Agent.FetchCharm(t.Context(), connect.NewRequest(&droverv1.FetchCharmRequest{Sha: sha}))
		if err != nil {
			return err
		}
		defer stream.Close()
		for stream.Receive() {
		}
		return stream.Err()
	}
	check(t, fetch(), fault.NotFound)
	f.blobs[sha] = []byte("something else")
	check(t, fetch(), fault.NotFound)
	f.blobs[sha] = data
	if err := fetch(); err != nil || !l.server.cfg.Blobs.Has(sha) {
		t.Errorf("the archive that s2 has: %v", err)
	}
}

func TestServersAreListedInEveryAnswer(t *testing.T) {
	l, _ := newHall(t, "s2", "s3")
	c := l.admin()
	if _, err := c.Server.Info(t.Context(), connect.NewRequest(&emptypb.Empty{})); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Servers(), " "); got != l.addr+" s2:7443 s3:7443" {
		t.Errorf("the client knows %s", got)
	}
}

// A server of the cluster is let in with the certificate that its row has.
func TestAnotherCertificateOfAServerIsRefused(t *testing.T) {
	l, _ := newHall(t)
	der, err := l.founding.Seal.Open(l.founding.Cluster.SealedKey, []byte(l.founding.Cluster.ID))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := pki.LoadAuthority(l.founding.Cluster.CA, der)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s1", "s7"} {
		p, err := issue(ca, pki.ServerIdentity(l.founding.Cluster.ID, name), l.clock.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		check(t, enter(t, l.as(p), "h:1"), fault.Denied, "not part of this cluster", "--role server")
	}
}
