package pki

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drover/noun/fault"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func authority(t *testing.T, cluster string) *Authority {
	t.Helper()
	ca, err := NewAuthority(cluster, start)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func pair(t *testing.T, ca *Authority, id Identity) *Pair {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(id, key.Public(), start, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return &Pair{Cert: cert, Key: key, CA: ca.Cert}
}

func TestIdentitiesParseBack(t *testing.T) {
	for _, id := range []Identity{
		ServerIdentity("c", "s1"), UserIdentity("c", "admin"),
		MachineIdentity("c", "m1", "3", "u1"), MachineIdentity("c", "m1", "3/nspawn/0", "u1"),
	} {
		got, err := ParseIdentity(id.URI())
		if err != nil || got != id {
			t.Errorf("%s: got %+v, %v", id.URI(), got, err)
		}
	}
	ca := authority(t, "c")
	for _, bad := range []Identity{{Cluster: "c", Role: "emperor", Name: "x"}, {Cluster: "", Role: RoleUser, Name: "x"},
		{Cluster: "c", Role: RoleUser, Name: "a/b"}, {Cluster: "c", Role: RoleMachine, Model: "m", MachineUID: "u"}} {
		if _, err := ParseIdentity(bad.URI()); err == nil {
			t.Errorf("%s passes as an identity", bad.URI())
		}
	}
	if got := ClusterOf(ca.Cert); got != "c" {
		t.Errorf("the authority is of cluster %q", got)
	}
}

func TestVerify(t *testing.T) {
	ca, other := authority(t, "c"), authority(t, "c")
	admin := pair(t, ca, UserIdentity("c", "admin"))
	for _, tc := range []struct {
		name  string
		leaf  *x509.Certificate
		at    time.Time
		roles []Role
		want  error
	}{
		{"a good certificate", admin.Cert, start, []Role{RoleUser}, nil},
		{"no certificate", nil, start, nil, ErrNoCertificate},
		{"one of another authority", pair(t, other, UserIdentity("c", "admin")).Cert, start, nil, ErrWrongCA},
		{"one that names another cluster", pair(t, ca, UserIdentity("d", "admin")).Cert, start, nil, ErrWrongIdentity},
		{"another role", admin.Cert, start, []Role{RoleServer}, ErrWrongIdentity},
		{"an expired one", admin.Cert, start.Add(2 * time.Hour), nil, ErrExpired},
		{"one of the future", admin.Cert, start.Add(-time.Hour), nil, ErrNotYet},
		{"the authority itself", ca.Cert, start, nil, ErrWrongCA},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Verify(tc.leaf, ca.Cert, tc.at, tc.roles...); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestPairsAreReadBackAndKeysAreSecret(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "identity")
	p := pair(t, authority(t, "c"), UserIdentity("c", "admin"))
	if err := p.Save(dir, "admin"); err != nil {
		t.Fatal(err)
	}
	got, err := LoadPair(dir, "admin")
	if err != nil || !got.Cert.Equal(p.Cert) || !got.Key.Equal(p.Key) || !got.CA.Equal(p.CA) {
		t.Errorf("read back: %v", err)
	}
	for name, want := range map[string]os.FileMode{"admin.key": 0o600, ".": 0o700} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s: %v %v", name, info.Mode(), err)
		}
	}
	stranger := pair(t, authority(t, "c"), UserIdentity("c", "admin"))
	if err := stranger.Save(filepath.Join(dir, "x"), "admin"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "x", "admin.crt"), filepath.Join(dir, "admin.crt")); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPair(dir, "admin"); err == nil {
		t.Error("a certificate of another key is accepted")
	}
}

func TestTokens(t *testing.T) {
	digest := Digest(authority(t, "c").Cert)
	tok, err := NewToken(digest, "host:7443", rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseToken(tok.String()); err != nil || got != tok {
		t.Errorf("parsed back: %+v, %v", got, err)
	}
	if strings.Contains(tok.Hash(), tok.Secret) {
		t.Error("the hash holds the secret")
	}
	for _, bad := range []string{"", "drover-2-x", strings.Replace(tok.String(), "@host:7443", "@host", 1), tok.String()[:40], "drover-1-" + strings.Repeat("a", 26) + "-" + digest} {
		if _, err := ParseToken(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		} else if len(bad) > 20 && strings.Contains(err.Error(), bad[9:30]) {
			t.Error("the error repeats the secret")
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("drover-1-AAAAAAAAAAAAAAAAAAAAAAAAAA-00000000000000000000000000000000@h:1")
	f.Fuzz(func(t *testing.T, text string) {
		if tok, err := ParseToken(text); err == nil && tok.String() != strings.TrimSpace(text) {
			t.Errorf("%q parses as %q", text, tok)
		}
	})
}

// shake runs a server with the configuration and returns how the client's
// handshake and first read went.
func shake(t *testing.T, server, client *tls.Config) (proto string, err error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := NewPort(ln, server)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 3)
	go func() { _ = port.Run(ctx); done <- struct{}{} }()
	serve := func(ln net.Listener, name string) {
		for {
			c, err := ln.Accept()
			if err != nil {
				done <- struct{}{}
				return
			}
			fmt.Fprint(c, name)
			c.Close()
		}
	}
	go serve(port.Web(), "web")
	go serve(port.raft, "raft")
	defer func() {
		cancel()
		for range 3 {
			<-done
		}
	}()
	c, err := tls.Dial("tcp", ln.Addr().String(), client)
	if err != nil {
		return "", err
	}
	defer c.Close()
	data, err := io.ReadAll(c)
	return string(data), err
}

func TestOnePortServesPeopleAndServers(t *testing.T) {
	now := func() time.Time { return start }
	ca, other := authority(t, "c"), authority(t, "d")
	tlsOf := func(ca *Authority, id Identity) *tls.Certificate { c := pair(t, ca, id).TLS(); return &c }
	s1 := tlsOf(ca, ServerIdentity("c", "s1"))
	server := ServerTLS(*s1, ca.Cert, now)
	found := func(*x509.Certificate) {}
	for _, tc := range []struct {
		name   string
		client *tls.Config
		want   string
		err    error
	}{
		{"a person reaches the web", ClientTLS(tlsOf(ca, UserIdentity("c", "admin")), ca.Cert, now), "web", nil},
		{"a peer without identity does", ClientTLS(nil, ca.Cert, now), "web", nil},
		{"a server reaches raft", ClientTLS(s1, ca.Cert, now, ProtoRaft), "raft", nil},
		{"the pinned authority is accepted", JoinTLS(Digest(ca.Cert), now, found), "web", nil},
		{"another pin is not", JoinTLS(Digest(other.Cert), now, found), "", ErrWrongCA},
		{"a server of another authority is not", ClientTLS(nil, other.Cert, now), "", ErrWrongCA},
		{"an expired server is not", ClientTLS(nil, ca.Cert, func() time.Time { return start.Add(2 * time.Hour) }), "", ErrExpired},
		{"a person does not reach raft", ClientTLS(tlsOf(ca, UserIdentity("c", "admin")), ca.Cert, now, ProtoRaft), "", errRemote},
		{"a foreign server does not", ClientTLS(tlsOf(other, ServerIdentity("d", "s1")), ca.Cert, now, ProtoRaft), "", errRemote},
		{"nobody does not", ClientTLS(nil, ca.Cert, now, ProtoRaft), "", errRemote},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := shake(t, server, tc.client)
			if tc.err == errRemote {
				if err == nil {
					t.Errorf("the server answers %q", got)
				}
				return
			}
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("got %q, %v; want %q, %v", got, err, tc.want, tc.err)
			}
		})
	}
	userOnly := tlsOf(ca, UserIdentity("c", "admin"))
	if _, err := shake(t, ServerTLS(*userOnly, ca.Cert, now), ClientTLS(nil, ca.Cert, now)); !errors.Is(err, ErrWrongIdentity) {
		t.Errorf("a person's certificate serves: %v", err)
	}
}

// errRemote stands for an alert of the server.
var errRemote = errors.New("the server refuses")

func TestARenewalNeedsTheOldKey(t *testing.T) {
	p := pair(t, authority(t, "c"), MachineIdentity("c", "m", "1", "u"))
	csr, err := NewRequest(p.Key)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := Prove(p.Key, csr)
	if err != nil || !CheckProof(p.Cert, csr, proof) {
		t.Errorf("the own proof is refused: %v", err)
	}
	stranger, _ := NewKey()
	forged, _ := Prove(stranger, csr)
	if CheckProof(p.Cert, csr, forged) || CheckProof(p.Cert, append(csr, 0), proof) {
		t.Error("a forged proof is accepted")
	}
	if _, err := ParseRequest(append(csr, 1)); err == nil {
		t.Error("a damaged request is accepted")
	}
}
