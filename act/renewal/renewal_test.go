package renewal

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an authority and a machine with a credential of now.
type world struct {
	ca    *pki.Authority
	dir   string
	calls atomic.Int32
	fails atomic.Pointer[fault.Error] // what the server answers instead of a certificate
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ca, err := pki.NewAuthority("c1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{ca: ca, dir: t.TempDir()}
	key, err := pki.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	j, err := w.renew(t.Context(), &pki.Pair{Key: key, CA: ca.Cert})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Save(w.dir, "agent"); err != nil {
		t.Fatal(err)
	}
	w.calls.Store(0)
	return w
}

func (w *world) renew(_ context.Context, old *pki.Pair) (*client.Joined, error) {
	w.calls.Add(1)
	if f := w.fails.Load(); f != nil {
		return nil, f
	}
	id := pki.MachineIdentity("c1", "m", "1", "u")
	cert, err := w.ca.Issue(id, old.Key.Public(), time.Now(), pki.MachineLifetime)
	if err != nil {
		return nil, err
	}
	return &client.Joined{Pair: pki.Pair{Cert: cert, Key: old.Key, CA: old.CA}, Identity: id, Servers: []string{"127.0.0.1:1"}, Cell: "c1"}, nil
}

func (w *world) renewer(t *testing.T) *Renewer {
	t.Helper()
	r, err := New(Config{Dir: w.dir, Name: "agent", Renew: w.renew, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) expires(t *testing.T) time.Time {
	t.Helper()
	pair, err := pki.LoadPair(w.dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	return pair.Cert.NotAfter
}

func TestACertificateIsRenewedAtHalfItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		used := make(chan *tls.Certificate, 10)
		ended := make(chan error)
		go func() { ended <- w.renewer(t).Run(ctx, func(c *tls.Certificate) { used <- c }) }()
		before := w.expires(t)
		<-time.After(pki.MachineLifetime/2 - 2*time.Hour)
		if synctest.Wait(); w.calls.Load() != 0 {
			t.Errorf("%d renewals before half of the life", w.calls.Load())
		}
		cert := <-used
		if got := w.expires(t); !got.After(before.Add(14*24*time.Hour)) || !got.Equal(cert.Leaf.NotAfter) {
			t.Errorf("the credential on disk expires %v, the one in use %v, the old one did %v", got, cert.Leaf.NotAfter, before)
		}
		<-used // and so on
		cancel()
		<-ended
	})
}

func TestAServerThatIsAwayIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fails.Store(fault.New(fault.Unavailable, "nobody leads"))
		ctx, cancel := context.WithCancel(t.Context())
		used := make(chan *tls.Certificate, 10)
		ended := make(chan error)
		go func() { ended <- w.renewer(t).Run(ctx, func(c *tls.Certificate) { used <- c }) }()
		<-time.After(pki.MachineLifetime/2 + 2*time.Hour)
		synctest.Wait()
		if n := w.calls.Load(); n < 5 || n > 40 {
			t.Errorf("%d tries in two hours", n)
		}
		w.fails.Store(nil)
		<-used
		cancel()
		<-ended
	})
}

// A laptop that was closed for two months comes back.
func TestAnExpiredCertificateIsRenewedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		<-time.After(2 * pki.MachineLifetime)
		if err := w.renewer(t).Start(t.Context()); err != nil || !w.expires(t).After(time.Now()) {
			t.Errorf("it expires %v: %v", w.expires(t), err)
		}
		if err := w.renewer(t).Start(t.Context()); err != nil || w.calls.Load() != 1 {
			t.Errorf("a valid one was renewed at the start: %d calls, %v", w.calls.Load(), err)
		}
		<-time.After(2 * pki.MachineLifetime)
		w.fails.Store(fault.New(fault.Denied, "the machine was removed"))
		if err := w.renewer(t).Start(t.Context()); !fault.Is(err, fault.Denied) {
			t.Errorf("got %v, want the refusal", err)
		}
	})
}
