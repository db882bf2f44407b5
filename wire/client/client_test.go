package client

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/internal/pki"
	"drover/noun/fault"
)

func credential(t *testing.T, lifetime time.Duration) *pki.Pair {
	t.Helper()
	now := time.Now()
	ca, err := pki.NewAuthority("c", now)
	if err != nil {
		t.Fatal(err)
	}
	key, err := pki.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(pki.UserIdentity("c", "admin"), key.Public(), now, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return &pki.Pair{Cert: cert, Key: key, CA: ca.Cert}
}

func TestAFolderGivesAClient(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drover")
	want := Folder{Servers: []string{"127.0.0.1:7443", "[::1]:7443"}, ClusterID: "c"}
	if err := want.Save(dir, AdminName, credential(t, time.Hour)); err != nil {
		t.Fatal(err)
	}
	c, err := FromDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.Servers(); !slices.Equal(got, want.Servers) {
		t.Errorf("servers %v, want %v", got, want.Servers)
	}
	c.UseServers("127.0.0.1:1", "127.0.0.1:2")
	c.prefer("127.0.0.1:2")
	c.prefer("127.0.0.1:3")
	if got := c.Servers(); !slices.Equal(got, []string{"127.0.0.1:3", "127.0.0.1:2", "127.0.0.1:1"}) {
		t.Errorf("servers after following leaders: %v", got)
	}
	for _, name := range []string{"admin.key", "client.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode of %s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestFoldersThatAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name  string
		make  func(dir string) error
		kind  fault.Kind
		words string
	}{
		{"an empty one", func(string) error { return nil }, fault.Unavailable, "no cluster is known here"},
		{"an expired credential", func(dir string) error {
			return Folder{Servers: []string{"h:1"}}.Save(dir, AdminName, credential(t, -time.Minute))
		}, fault.Denied, "has expired"},
		{"nonsense in client.json", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "client.json"), []byte("{"), 0o600)
		}, fault.Invalid, "not valid JSON"},
		{"a damaged key", func(dir string) error {
			err := Folder{Servers: []string{"h:1"}}.Save(dir, AdminName, credential(t, time.Hour))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, "admin.key"), []byte("x"), 0o600))
		}, fault.Denied, "cannot be used"},
		{"no server", func(dir string) error { return Folder{}.Save(dir, AdminName, credential(t, time.Hour)) }, fault.Invalid, "no server is known"},
		{"a server without a port", func(dir string) error {
			return Folder{Servers: []string{"host"}}.Save(dir, AdminName, credential(t, time.Hour))
		}, fault.Invalid, "HOST:PORT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tc.make(dir); err != nil {
				t.Fatal(err)
			}
			_, err := FromDir(dir)
			if !fault.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("got %v, want kind %v and %q", err, tc.kind, tc.words)
			}
		})
	}
}
