package identity

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"drover/internal/pki"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
)

var start = when.Of(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

func update(t *testing.T, s *store.Store, fn func(tx *store.Txn) error) error {
	t.Helper()
	_, err := s.Update(t.Context(), fn)
	return err
}

func TestATokenIsSpentOnce(t *testing.T) {
	schema := store.NewSchema()
	ids := New(schema)
	s := store.OpenMemory(schema)
	add := func(hash string, ttl time.Duration) {
		if err := update(t, s, func(tx *store.Txn) error {
			ids.AddToken(tx, Token{Hash: hash, Role: pki.RoleMachine, Expires: start.Add(ttl), Created: start})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	add("good", time.Hour)
	add("short", time.Minute)
	for _, tc := range []struct {
		name, hash, because string
	}{
		{"a good token is taken", "good", ""},
		{"a used token is refused", "good", "it was used 0s ago"},
		{"an expired token is refused", "short", "it expired 1m0s ago"},
		{"an unknown token is refused", "never", "this cluster has no such token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := update(t, s, func(tx *store.Txn) error {
				_, err := ids.SpendToken(tx, start.Add(2*time.Minute), tc.hash, "host")
				return err
			})
			if tc.because == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			f, _ := err.(*fault.Error)
			if f == nil || f.Kind != fault.Denied || f.Because != tc.because || len(f.Next) == 0 {
				t.Errorf("got %v, want denied because %q, with a next command", err, tc.because)
			}
		})
	}
	if err := update(t, s, func(tx *store.Txn) error { ids.SweepTokens(tx, start.Add(30*24*time.Hour)); return nil }); err != nil {
		t.Fatal(err)
	}
	if n := ids.tokens.Len(s.View()); n != 0 {
		t.Errorf("%d tokens are left a month later", n)
	}
}

func TestTheAuthoritysKeyIsStoredSealed(t *testing.T) {
	schema := store.NewSchema()
	ids := New(schema)
	s := store.OpenMemory(schema)
	dir := t.TempDir()
	seal, err := LoadSealKey(filepath.Join(dir, "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := LoadSealKey(filepath.Join(dir, "seal.key")); err != nil || again != seal {
		t.Fatalf("the key file reads back differently: %v", err)
	}
	if info, _ := os.Stat(filepath.Join(dir, "seal.key")); info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the key file: %v", info.Mode())
	}
	ca, err := pki.NewAuthority("c1", start.Time())
	if err != nil {
		t.Fatal(err)
	}
	der, _ := ca.KeyDER()
	sealed, err := seal.Seal(der, []byte("c1"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, der[40:60]) {
		t.Error("the sealed key contains the key")
	}
	row := Cluster{ID: "c1", Name: "default", CA: ca.Cert.Raw, SealedKey: sealed}
	if err := update(t, s, func(tx *store.Txn) error { return ids.Found(tx, start, row, "admin") }); err != nil {
		t.Fatal(err)
	}
	got, err := ids.Authority(s.View(), seal)
	if err != nil || !got.Key.Equal(ca.Key) {
		t.Errorf("authority: %v", err)
	}
	if u, ok := ids.User(s.View(), "admin"); !ok || u.Role != Admin {
		t.Errorf("the first user is %+v", u)
	}
	other, _ := NewSealKey()
	if _, err := ids.Authority(s.View(), other); err == nil {
		t.Error("another key file opens the authority's key")
	}
	if err := update(t, s, func(tx *store.Txn) error { return ids.Found(tx, start, Cluster{ID: "c2"}, "admin") }); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second cluster in the folder: %v", err)
	}
}
