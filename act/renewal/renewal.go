// Package renewal keeps the certificate of a machine's agent valid: it asks for
// a new one when half of the old one's life is over, and before anything else
// when the old one has expired while the machine was off.
//
// It makes no key and decides nothing about who is in the cluster: a server
// that refuses is heard again later, for it may be the wrong one's turn.
//
// Invariants: the old credential stays in its files until the new one is whole
// beside it; a failed renewal never ends an agent whose certificate is valid.
package renewal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"time"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/client"
)

// How long between two tries, and between two looks at the clock: timers stand
// still while a laptop sleeps.
const (
	firstWait = time.Second
	lastWait  = 10 * time.Minute
	lookEvery = time.Hour
)

// Config is what a renewal needs. All fields are required.
type Config struct {
	Dir, Name string // of the credential's files
	Renew     func(ctx context.Context, old *pki.Pair) (*client.Joined, error)
	Now       func() time.Time
	Log       *slog.Logger
}

// Renewer renews one credential.
type Renewer struct {
	cfg  Config
	pair *pki.Pair
}

// New reads the credential.
func New(cfg Config) (*Renewer, error) {
	if cfg.Dir == "" || cfg.Name == "" || cfg.Renew == nil || cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("renewal: the configuration is not complete")
	}
	pair, err := pki.LoadPair(cfg.Dir, cfg.Name)
	return &Renewer{cfg: cfg, pair: pair}, err
}

// Due is when a certificate is renewed: at the half of its life.
func Due(cert *x509.Certificate) time.Time {
	return cert.NotBefore.Add(cert.NotAfter.Sub(cert.NotBefore) / 2)
}

// Start renews a credential that has expired, and tries until that is done: the
// agent cannot begin without. A refusal ends it.
func (r *Renewer) Start(ctx context.Context) error {
	for wait := firstWait; r.cfg.Now().After(r.pair.Cert.NotAfter); wait = min(2*wait, lastWait) {
		err := r.renew(ctx)
		if err == nil {
			return nil
		}
		if fault.Is(err, fault.Denied) {
			return err
		}
		r.cfg.Log.Warn("the certificate has expired and cannot be renewed yet", "err", err, "again_in", wait)
		if !pause(ctx, wait) {
			return ctx.Err()
		}
	}
	return nil
}

// Run renews until the context ends. Each new certificate is given to use.
func (r *Renewer) Run(ctx context.Context, use func(*tls.Certificate)) error {
	wait := time.Duration(0)
	for {
		left := Due(r.pair.Cert).Sub(r.cfg.Now())
		if !pause(ctx, min(max(left, wait), lookEvery)) {
			return ctx.Err()
		}
		if r.cfg.Now().Before(Due(r.pair.Cert)) {
			continue
		}
		if err := r.renew(ctx); err != nil {
			wait = min(max(2*wait, firstWait), lastWait)
			r.cfg.Log.Warn("the certificate cannot be renewed yet", "err", err, "expires", r.pair.Cert.NotAfter, "again_in", wait)
			continue
		}
		wait = 0
		cert := r.pair.TLS()
		use(&cert)
	}
}

func (r *Renewer) renew(ctx context.Context) error {
	joined, err := r.cfg.Renew(ctx, r.pair)
	if err != nil {
		return err
	}
	if err := joined.Save(r.cfg.Dir, r.cfg.Name); err != nil {
		return err
	}
	r.pair = &joined.Pair
	r.cfg.Log.Info("the certificate was renewed", "expires", r.pair.Cert.NotAfter)
	return nil
}

// pause waits; false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
