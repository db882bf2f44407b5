package api

import (
	"context"
	"crypto/x509"
	"errors"

	"drover/internal/pki"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
)

type callerKey struct{}

// WithCaller puts the identity of the caller into the context.
func WithCaller(ctx context.Context, id pki.Identity) context.Context {
	return context.WithValue(ctx, callerKey{}, id)
}

// callerOf is the identity of the caller; the zero Identity for nobody.
func callerOf(ctx context.Context) pki.Identity {
	id, _ := ctx.Value(callerKey{}).(pki.Identity)
	return id
}

// authenticate turns a peer's certificate into an identity that exists: a user
// with a row, a machine with a row of the same uid and key. The role is that of
// a user.
func (s *Server) authenticate(leaf *x509.Certificate) (id pki.Identity, role string, err error) {
	view := s.cfg.Store.View()
	cluster, ok := s.cfg.Identity.Cluster(view)
	if !ok {
		return id, "", fault.New(fault.Unavailable, "the cluster is not set up yet")
	}
	ca, err := x509.ParseCertificate(cluster.CA)
	if err != nil {
		return id, "", err
	}
	if id, err = pki.Verify(leaf, ca, s.cfg.Now()); err != nil {
		return id, "", refused(err)
	}
	role, err = s.standing(view, id, leaf)
	return id, role, err
}

// standing says whether the identity is still part of the cluster: a stream asks
// again while it lasts, when the certificate that it began with may have expired.
func (s *Server) standing(view store.Reader, id pki.Identity, leaf *x509.Certificate) (role string, err error) {
	if s.cfg.Identity.Revoked(view, leaf.SerialNumber.Text(16)) {
		return "", fault.New(fault.Denied, "your certificate was revoked").Coded(fault.CodeRevoked).Try("drover join TOKEN")
	}
	switch id.Role {
	case pki.RoleUser:
		return s.checkUser(view, id, leaf)
	case pki.RoleMachine:
		return "", s.checkMachine(view, id, leaf)
	case pki.RoleServer:
		if row, ok := s.cfg.Identity.Server(view, id.Name); !ok || row.Serial != leaf.SerialNumber.Text(16) {
			return "", fault.New(fault.Denied, "server %s is not part of this cluster", id.Name).
				Why("it was removed").Try("drover join-token --role server")
		}
	}
	return "", nil
}

// checkUser: a user who was added has the key of that time, so that a name given
// again does not revive old certificates.
func (s *Server) checkUser(view store.Reader, id pki.Identity, leaf *x509.Certificate) (role string, err error) {
	u, ok := s.cfg.Identity.User(view, id.Name)
	if !ok {
		return "", fault.New(fault.Denied, "there is no user %q", id.Name).Why("it was removed, or never was")
	}
	if u.KeyHash == "" {
		return u.Role, nil
	}
	if hash, err := pki.KeyHash(leaf.PublicKey); err != nil || hash != u.KeyHash {
		return "", fault.New(fault.Denied, "this is not the key of user %s", id.Name).
			Why("the user was removed and added again")
	}
	return u.Role, nil
}

func (s *Server) checkMachine(view store.Reader, id pki.Identity, leaf *x509.Certificate) error {
	m, ok := s.cfg.Registry.Machine(view, entity.ModelUID(id.Model), entity.MachineID(id.Machine))
	if !ok || string(m.UID) != id.MachineUID {
		return fault.New(fault.Denied, "machine %s is not part of this cluster any more", id.Machine).
			Why("it was removed").Try("drover join TOKEN")
	}
	hash, err := pki.KeyHash(leaf.PublicKey)
	if err != nil || hash != m.KeyHash {
		return fault.New(fault.Denied, "this is not the key of machine %s", id.Machine).
			Why("another agent joined in its name").Try("drover join TOKEN")
	}
	return nil
}

func refused(err error) error {
	f := fault.New(fault.Denied, "your certificate is not accepted").Coded(fault.CodeNotAllowed).Why("%s", err).Wrap(err)
	switch {
	case errors.Is(err, pki.ErrNoCertificate):
		return fault.New(fault.Denied, "you have no identity").Coded(fault.CodeNotAllowed).Why("%s", err).
			Try("drover up", "drover join TOKEN").Wrap(err)
	case errors.Is(err, pki.ErrExpired):
		return f.Try("date", "drover up")
	case errors.Is(err, pki.ErrNotYet):
		return f.Try("date")
	default:
		return f.Try("drover join TOKEN")
	}
}
