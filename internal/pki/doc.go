// Package pki is the craft of certificates: the cluster's own authority,
// identities as URIs in certificates, join tokens that pin the authority, and
// the TLS configurations that use them.
//
// It decides nothing about who may do what, keeps no state of the cluster and
// never looks at host names: peers are known by the authority that signed them
// and by their URI.
//
// Invariants: keys are ECDSA P-256; a private key is written with mode 0600 and
// never printed; an Identity that Verify returned was signed by the cluster's
// authority, names that cluster, and is valid at the given time.
package pki
