package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Why a certificate is refused, for errors.Is.
var (
	ErrNoCertificate = errors.New("no certificate was presented")
	ErrWrongCA       = errors.New("the certificate was not signed by this cluster's authority")
	ErrExpired       = errors.New("the certificate has expired")
	ErrNotYet        = errors.New("the certificate is not valid yet")
	ErrWrongIdentity = errors.New("the certificate is for something else")
)

// Verify returns the identity of a peer's leaf certificate: signed by the
// authority, valid now, of the authority's cluster, with one of the roles.
func Verify(leaf, ca *x509.Certificate, now time.Time, roles ...Role) (Identity, error) {
	if leaf == nil {
		return Identity{}, ErrNoCertificate
	}
	id, err := VerifyIgnoringTime(leaf, ca, roles...)
	if err != nil {
		return Identity{}, err
	}
	if now.After(leaf.NotAfter) {
		return Identity{}, fmt.Errorf("%w (at %s)", ErrExpired, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if now.Before(leaf.NotBefore) {
		return Identity{}, fmt.Errorf("%w (from %s)", ErrNotYet, leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return id, nil
}

// VerifyIgnoringTime is Verify for a certificate that may have expired: only a
// renewal by the recorded key accepts one.
func VerifyIgnoringTime(leaf, ca *x509.Certificate, roles ...Role) (Identity, error) {
	if err := leaf.CheckSignatureFrom(ca); err != nil || leaf.IsCA {
		return Identity{}, ErrWrongCA
	}
	id, err := IdentityOf(leaf)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrWrongIdentity, err)
	}
	if id.Cluster != ClusterOf(ca) {
		return Identity{}, fmt.Errorf("%w: it is of cluster %s", ErrWrongIdentity, id.Cluster)
	}
	if len(roles) > 0 && !slices.Contains(roles, id.Role) {
		return Identity{}, fmt.Errorf("%w: it is that of a %s", ErrWrongIdentity, id.Role)
	}
	if slices.Contains(roles, RoleServer) && id.Role == RoleServer && !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) {
		return Identity{}, fmt.Errorf("%w: it may not serve", ErrWrongIdentity)
	}
	return id, nil
}

// ClusterOf is the cluster whose authority this certificate is; empty for
// certificates of others.
func ClusterOf(ca *x509.Certificate) string {
	if len(ca.URIs) != 1 || ca.URIs[0].Host != "drover" {
		return ""
	}
	return strings.TrimPrefix(ca.URIs[0].Path, "/")
}
