package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"
)

func (l *lab) spend(token string) (*client.Joined, error) {
	return client.JoinMachine(l.Context(), client.JoinConfig{Token: token, Hostname: "host", Address: "10.0.0.9", Config: client.Config{Now: l.clock.Now}})
}

func (l *lab) token(c *client.Client, q *droverv1.CreateTokenRequest) string {
	l.Helper()
	resp, err := c.Server.CreateToken(l.Context(), connect.NewRequest(q))
	if err != nil {
		l.Fatal(err)
	}
	return resp.Msg.Token
}

func TestATokenMakesAManualMachine(t *testing.T) {
	l := newLab(t)
	j, err := l.spend(l.token(l.admin(), &droverv1.CreateTokenRequest{Role: "machine"}))
	if err != nil {
		t.Fatal(err)
	}
	m, ok := l.server.cfg.Registry.Machine(l.st.View(), l.model, entity.MachineID(j.Identity.Machine))
	if !ok || m.Provider != "manual" || m.Address != "10.0.0.9" || string(m.UID) != j.Identity.MachineUID || !m.HasJob(entity.HostUnits) {
		t.Errorf("the machine is %+v, the identity %+v", m, j.Identity)
	}
	dir := t.TempDir()
	if err := j.Save(dir, "agent"); err != nil {
		t.Fatal(err)
	}
	cfg, err := client.LoadConfig(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := l.dial(cfg).Server.Info(t.Context(), connect.NewRequest(&emptypb.Empty{}))
	if err != nil || resp.Msg.You != "machine "+j.Identity.Machine {
		t.Errorf("the server says %v, %v", resp, err)
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	l, other := newLab(t), newLab(t)
	admin := l.admin()
	good := l.token(admin, &droverv1.CreateTokenRequest{})
	parsed, err := pki.ParseToken(good)
	if err != nil {
		t.Fatal(err)
	}
	foreign := parsed
	foreign.Server = other.addr
	unknown := parsed
	unknown.Secret = strings.Repeat("A", 26)
	short := l.token(admin, &droverv1.CreateTokenRequest{TtlSeconds: 60})
	if _, err := l.spend(good); err != nil {
		t.Fatal(err)
	}
	l.clock.Add(2 * time.Minute)
	for _, tc := range []struct {
		name, token string
		kind        fault.Kind
		words       []string
	}{
		{"a used one", good, fault.Denied, []string{"was used", "drover join-token"}},
		{"an expired one", short, fault.Denied, []string{"expired", "drover join-token"}},
		{"an unknown one", unknown.String(), fault.Denied, []string{"no such token", "drover join-token"}},
		{"one of another cluster", foreign.String(), fault.Denied, []string{"not of this cluster", "drover join"}},
		{"no token", "drover-1-x", fault.Invalid, []string{"not a join token"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := l.st.View().Revision()
			_, err := l.spend(tc.token)
			check(t, err, tc.kind, tc.words...)
			if f, _ := err.(*fault.Error); f != nil && strings.Contains(f.Error(), parsed.Secret) {
				t.Error("the error repeats the token's secret")
			}
			if now := l.st.View().Revision(); now != before {
				t.Errorf("a refused token changed something: revision %d, was %d", now, before)
			}
		})
	}
	// A client that does not verify may send the digest of another authority.
	wrong := parsed
	wrong.Digest = strings.Repeat("0", 32)
	key, _ := pki.NewKey()
	csr, _ := pki.NewRequest(key)
	_, err = l.dial(client.Config{}).Join.Join(t.Context(), connect.NewRequest(&droverv1.JoinRequest{Token: wrong.String(), Csr: csr}))
	check(t, err, fault.Denied, "another cluster", "drover join-token")
}

func TestTokensLiveOnlySoLong(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	for _, ttl := range []int64{-1, 1 << 60} {
		_, err := admin.Server.CreateToken(t.Context(), connect.NewRequest(&droverv1.CreateTokenRequest{TtlSeconds: ttl}))
		check(t, err, fault.Invalid)
	}
	_, err := admin.Server.CreateToken(t.Context(), connect.NewRequest(&droverv1.CreateTokenRequest{Machine: "77"}))
	check(t, err, fault.NotFound, "no machine 77", "drover status")
}

func TestATokenForAMachineThatIsGoneIsRefused(t *testing.T) {
	l := newLab(t)
	tok, err := l.server.JoinToken(t.Context(), entity.Machine{Model: l.model, ID: "0", UID: "another incarnation"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.spend(tok)
	check(t, err, fault.Denied, "machine 0 is gone", "drover join-token")
}

func TestIdentitiesThatAreRefused(t *testing.T) {
	l, other := newLab(t), newLab(t)
	l.addMachines(1)
	_, machine := l.join("1")
	foreign, err := other.founding.AdminPair(l.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	admin, err := l.founding.AdminPair(l.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	der, err := l.founding.Seal.Open(l.founding.Cluster.SealedKey, []byte(l.founding.Cluster.ID))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := pki.LoadAuthority(l.founding.Cluster.CA, der)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(id pki.Identity) *pki.Pair {
		p, err := issue(ca, id, l.clock.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	info := func(c *client.Client) error {
		_, err := c.Server.Info(t.Context(), connect.NewRequest(&emptypb.Empty{}))
		return err
	}
	cluster := l.founding.Cluster.ID
	check(t, info(l.dial(client.Config{})), fault.Denied, "you have no identity", "drover join TOKEN")
	check(t, info(l.as(foreign)), fault.Denied, "not signed by this cluster's authority")
	check(t, info(l.as(sign(pki.UserIdentity(cluster, "mallory")))), fault.Denied, `no user "mallory"`)
	check(t, info(l.as(sign(pki.MachineIdentity(cluster, string(l.model), "9", "u")))), fault.Denied, "not part of this cluster", "drover join TOKEN")
	check(t, info(l.as(sign(machine.Identity))), fault.Denied, "not the key of machine 1")
	if err := info(l.as(&machine.Pair)); err != nil {
		t.Errorf("the machine itself: %v", err)
	}
	l.update(func(tx *store.Txn) error {
		l.server.cfg.Identity.Revoke(tx, identity.Revocation{Serial: admin.Cert.SerialNumber.Text(16), Since: l.server.now(), Until: l.server.now().Add(time.Hour)})
		return nil
	})
	check(t, info(l.as(admin)), fault.Denied, "revoked")
	old, err := l.founding.AdminPair(l.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	l.clock.Add(2 * pki.UserLifetime)
	check(t, info(l.as(old)), fault.Denied, "expired", "date")
}

// Invariant X4.
func TestARemovedMachinesConnectionIsRefusedAtOnce(t *testing.T) {
	l := newLab(t)
	l.addMachines(1)
	agent, _ := l.join("1")
	beat := func() error {
		_, err := agent.Agent.Heartbeat(t.Context(), connect.NewRequest(&droverv1.HeartbeatRequest{}))
		return err
	}
	if err := beat(); err != nil {
		t.Fatal(err)
	}
	l.update(func(tx *store.Txn) error {
		if _, err := l.server.cfg.Registry.RemoveMachine(tx, l.server.now(), l.model, "1", removeNow); err != nil {
			return err
		}
		if err := l.server.cfg.Registry.SetMachineDead(tx, l.server.now(), l.model, "1"); err != nil {
			return nil // it went at once, for it had no instance
		}
		return l.server.cfg.Registry.RemoveDeadMachine(tx, l.server.now(), l.model, "1")
	})
	if _, still := l.server.cfg.Registry.Machine(l.st.View(), l.model, "1"); still {
		t.Fatal("the machine is still there")
	}
	check(t, beat(), fault.Denied, "not part of this cluster", "drover join TOKEN")
}

func TestAnAgentRenewsWithItsRecordedKeyEvenLate(t *testing.T) {
	l := newLab(t)
	l.addMachines(1)
	_, j := l.join("1")
	l.clock.Add(2 * pki.MachineLifetime)
	cfg := client.Config{Servers: []string{l.addr}, Now: l.clock.Now}
	renewed, err := client.Renew(t.Context(), cfg, &j.Pair)
	if err != nil {
		t.Fatal(err)
	}
	if !renewed.Pair.Cert.NotAfter.After(l.clock.Now()) || renewed.Identity != j.Identity {
		t.Errorf("renewed until %v as %v", renewed.Pair.Cert.NotAfter, renewed.Identity)
	}
	thief := j.Pair
	if thief.Key, err = pki.NewKey(); err != nil {
		t.Fatal(err)
	}
	_, err = client.Renew(t.Context(), cfg, &thief)
	check(t, err, fault.Denied, "not signed with the key", "drover join TOKEN")
	l.join("1") // another agent takes the machine over
	_, err = client.Renew(t.Context(), cfg, &j.Pair)
	check(t, err, fault.Denied, "not the key of machine 1")
}

func TestAServersIdentityIsMadeOnceAndReadBack(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	first, err := Prepare(dir, "prod", "s1", now, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Prepare(dir, "ignored", "s1", now, nil)
	if err != nil || again.Cluster.ID != first.Cluster.ID || again.Cluster.Name != "prod" || !again.Pair.Cert.Equal(first.Pair.Cert) || again.Seal != first.Seal {
		t.Errorf("read back %+v, %v", again, err)
	}
	if _, err := again.AdminPair(now); err != nil {
		t.Error(err)
	}
	if err := os.Rename(filepath.Join(dir, sealFile), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if _, err := Prepare(dir, "prod", "s1", now, nil); !fault.Is(err, fault.Denied) {
		t.Errorf("without its key file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, sealFile)); err == nil {
		t.Error("another key file was made")
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, sealFile)); err != nil {
		t.Fatal(err)
	}
	_, err = Prepare(dir, "prod", "s1", now.Add(2*pki.ServerLifetime), nil)
	check(t, err, fault.Denied, "expired", "date")
	l := newLab(t)
	check(t, first.Found(t.Context(), l.st, l.server.cfg.Identity, l.server.cfg.Registry, now, "local"), fault.Conflict, "another cluster")
	if err := l.founding.Found(t.Context(), l.st, l.server.cfg.Identity, l.server.cfg.Registry, now, "local"); err != nil {
		t.Errorf("the same cluster again: %v", err)
	}
}
