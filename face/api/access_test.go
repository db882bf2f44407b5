package api

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"
)

// addUser makes a user as the command line does.
func (l *lab) addUser(by *client.Client, name, role string) (*client.Client, *pki.Pair) {
	l.Helper()
	key, err := pki.NewKey()
	if err != nil {
		l.Fatal(err)
	}
	pair, _, err := client.AddUser(l.Context(), by.Admin, key, &droverv1.AddUserRequest{RequestId: name + role, Name: name, Role: role})
	if err != nil {
		l.Fatal(err)
	}
	return l.as(pair), pair
}

func (l *lab) info(c *client.Client) error {
	_, err := c.Server.Info(l.Context(), connect.NewRequest(&emptypb.Empty{}))
	return err
}

func TestUsersMayDoWhatTheirRoleAllows(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	viewer, _ := l.addUser(admin, "vera", identity.Viewer)
	operator, _ := l.addUser(admin, "otto", identity.Operator)
	other, _ := l.addUser(admin, "anna", identity.Admin)
	read := func(c *client.Client) error {
		_, err := c.Model.Status(t.Context(), connect.NewRequest(&droverv1.StatusRequest{}))
		return err
	}
	change := func(c *client.Client) error {
		_, err := c.Work.UpsertDomain(t.Context(), connect.NewRequest(&droverv1.UpsertDomainRequest{Name: "d", TtlSeconds: 60}))
		return err
	}
	manage := func(c *client.Client) error {
		_, err := c.Admin.ListUsers(t.Context(), connect.NewRequest(&emptypb.Empty{}))
		return err
	}
	for _, tc := range []struct {
		name                 string
		c                    *client.Client
		read, change, manage bool
	}{
		{"a viewer reads", viewer, true, false, false},
		{"an operator changes", operator, true, true, false},
		{"an admin does all", other, true, true, true},
		{"the first admin does all", admin, true, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for what, got := range map[string]struct {
				err error
				may bool
			}{"read": {read(tc.c), tc.read}, "change": {change(tc.c), tc.change}, "manage": {manage(tc.c), tc.manage}} { // order-free: independent
				if got.may && got.err != nil {
					t.Errorf("%s: %v", what, got.err)
				}
				if !got.may {
					check(t, got.err, fault.Denied, "takes the role")
				}
			}
		})
	}
}

func TestARemovedUserIsRefusedAlsoWhenTheNameIsGivenAgain(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	ann, _ := l.addUser(admin, "ann", identity.Viewer)
	if err := l.info(ann); err != nil {
		t.Fatal(err)
	}
	remove := func(name string) error {
		_, err := admin.Admin.RemoveUser(t.Context(), connect.NewRequest(&droverv1.RemoveUserRequest{Name: name}))
		return err
	}
	if err := remove("ann"); err != nil {
		t.Fatal(err)
	}
	check(t, l.info(ann), fault.Denied, "revoked")
	again, _ := l.addUser(admin, "ann", identity.Operator)
	check(t, l.info(ann), fault.Denied, "revoked")
	if err := l.info(again); err != nil {
		t.Errorf("the new ann: %v", err)
	}
	check(t, remove("nobody"), fault.NotFound, "drover user list")
	check(t, remove("admin"), fault.Conflict, "last admin")
}

func TestUsersThatCannotBeAdded(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	l.addUser(admin, "ann", identity.Viewer)
	for _, tc := range []struct {
		name, user, role string
		kind             fault.Kind
		words            string
	}{
		{"a name that is taken", "ann", "admin", fault.Conflict, "drover user remove ann"},
		{"no name", "", "admin", fault.Invalid, "name of a user"},
		{"a path", "../x", "admin", fault.Invalid, "name of a user"},
		{"a long name", strings.Repeat("x", 65), "admin", fault.Invalid, "at most 64"},
		{"no such role", "bob", "root", fault.Invalid, "admin, operator or viewer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			key, err := pki.NewKey()
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = client.AddUser(t.Context(), admin.Admin, key, &droverv1.AddUserRequest{Name: tc.user, Role: tc.role})
			check(t, err, tc.kind, tc.words)
		})
	}
	_, err := admin.Admin.AddUser(t.Context(), connect.NewRequest(&droverv1.AddUserRequest{Name: "bob", Role: "viewer", Csr: []byte("x")}))
	check(t, err, fault.Invalid, "certificate request")
}

func TestACertificateIsRevoked(t *testing.T) {
	l := newLab(t)
	l.addMachines(1)
	admin := l.admin()
	ann, _ := l.addUser(admin, "ann", identity.Viewer)
	bob, pair := l.addUser(admin, "bob", identity.Viewer)
	agent, joined := l.join("1")
	revoke := func(target string) error {
		_, err := admin.Admin.RevokeCertificate(t.Context(), connect.NewRequest(&droverv1.RevokeCertificateRequest{Target: target}))
		return err
	}
	for _, tc := range []struct {
		name, target string
		c            *client.Client
		words        string
	}{
		{"of a user", "user:ann", ann, "revoked"},
		{"by its number", pair.Cert.SerialNumber.Text(16), bob, "revoked"},
		{"of a machine", "machine:1", agent, "not the key of machine 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := l.info(tc.c); err != nil {
				t.Fatal(err)
			}
			if err := revoke(tc.target); err != nil {
				t.Fatal(err)
			}
			check(t, l.info(tc.c), fault.Denied, tc.words)
		})
	}
	_, err := client.Renew(t.Context(), client.Config{Servers: []string{l.addr}, Now: l.clock.Now}, &joined.Pair)
	check(t, err, fault.Denied, "not the key")
	if again, _ := l.join("1"); l.info(again) != nil {
		t.Error("the machine cannot join again")
	}
	check(t, revoke("user:admin"), fault.Conflict, "drover cert show")
	check(t, revoke("user:nobody"), fault.NotFound)
	check(t, revoke("machine:99"), fault.NotFound)
	check(t, revoke("what?"), fault.Invalid, "serial number")
}

// Invariant X4: streams end too.
func TestAStreamOfARemovedUserEnds(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	ann, _ := l.addUser(admin, "ann", identity.Viewer)
	stream, err := ann.Server.Watch(t.Context(), connect.NewRequest(&droverv1.WatchRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	if _, err := admin.Admin.RemoveUser(t.Context(), connect.NewRequest(&droverv1.RemoveUserRequest{Name: "ann"})); err != nil {
		t.Fatal(err)
	}
	l.clock.Add(recheck)
	l.addMachines(1) // an event, which finds the watcher gone
	for stream.Receive() {
	}
	check(t, stream.Err(), fault.Denied, "revoked")
}

func TestTheAuditSaysWhoDidWhatAndNoValues(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	otto, _ := l.addUser(admin, "otto", identity.Operator)
	vera, _ := l.addUser(admin, "vera", identity.Viewer)
	watch := func(c *client.Client, kinds ...string) *connect.ServerStreamForClient[droverv1.Event] {
		s, err := c.Server.Watch(t.Context(), connect.NewRequest(&droverv1.WatchRequest{Kinds: kinds}))
		if err != nil || !s.Receive() {
			t.Fatal(err, s.Err())
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	seen, hidden := watch(admin, "audit"), watch(vera, "audit", "config")
	l.deployBlog(otto)
	if _, err := otto.Model.SetConfig(t.Context(), connect.NewRequest(&droverv1.SetConfigRequest{Application: "blog", Set: map[string]string{"title": "canary"}})); err != nil {
		t.Fatal(err)
	}
	for _, did := range []string{"Deploy", "SetConfig"} {
		if !seen.Receive() || !strings.Contains(seen.Msg().Summary, "user otto: "+did) || strings.Contains(string(seen.Msg().Json), "canary") {
			t.Errorf("got %v, want %s by otto and no values", seen.Msg(), did)
		}
	}
	list, err := admin.Admin.ListAudit(t.Context(), connect.NewRequest(&droverv1.ListAuditRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, e := range list.Msg.Entries {
		did = append(did, e.Who+" "+e.Did+" "+e.What)
	}
	got := strings.Join(did, "\n")
	want := "user admin AddUser name=otto role=operator\nuser admin AddUser name=vera role=viewer\nuser otto Deploy num_units=0\nuser otto SetConfig application=blog"
	if got != want {
		t.Errorf("the audit is\n%s\nwant\n%s", got, want)
	}
	if !hidden.Receive() || !strings.HasPrefix(hidden.Msg().Kind, "config") {
		t.Errorf("a viewer is shown %v", hidden.Msg())
	}
}
