package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"drover/noun/fault"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func TestWhatWasPutIsReadBackUnderItsDigest(t *testing.T) {
	s := open(t)
	for range 2 {
		d, n, err := s.Put(strings.NewReader("charm"), 100, digestOf("charm"))
		if err != nil || d != digestOf("charm") || n != 5 {
			t.Fatalf("put: %s %d %v", d, n, err)
		}
	}
	r, err := s.Open(digestOf("charm"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "charm" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	s := open(t)
	if _, _, err := s.Put(bytes.NewReader(make([]byte, 101)), 100, ""); !fault.Is(err, fault.ResourceExhausted) {
		t.Errorf("101 of 100 bytes: %v", err)
	}
	if _, _, err := s.Put(strings.NewReader("x"), 100, digestOf("y")); !fault.Is(err, fault.Invalid) {
		t.Errorf("another digest: %v", err)
	}
	for _, d := range []string{"", "../../etc/passwd", digestOf("absent"), strings.Repeat("/", 64)} {
		if _, err := s.Open(d); !fault.Is(err, fault.NotFound) {
			t.Errorf("open %q: %v", d, err)
		}
		if s.Has(d) {
			t.Errorf("has %q", d)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(s.dir, "partial")); len(left) != 0 {
		t.Errorf("refused uploads left %d files", len(left))
	}
}

func TestDamageIsNoticed(t *testing.T) {
	s := open(t)
	d, _, err := s.Put(strings.NewReader("charm"), 100, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(d), []byte("chasm"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := s.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("damaged content reads without an error")
	}
}

func TestOpenForgetsWhatACrashLeft(t *testing.T) {
	s := open(t)
	u, err := s.Begin(10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(u.Path()); err == nil {
		t.Error("the half-written upload is still there")
	}
	_ = u.f.Close()
}
