package pki

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

// ProtoRaft is the protocol name (ALPN) of raft on the one port.
const ProtoRaft = "drover-raft"

// ServerTLS is the configuration of the one port. It asks every peer for a
// certificate and accepts connections without one, because join answers without
// an identity; whoever serves a request verifies the certificate. Peers that ask
// for raft must be servers, or the handshake fails.
func ServerTLS(cert tls.Certificate, ca *x509.Certificate, now func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.RequestClientCert,
		NextProtos:   []string{ProtoRaft, "h2", "http/1.1"},
		VerifyConnection: func(cs tls.ConnectionState) error {
			if cs.NegotiatedProtocol != ProtoRaft {
				return nil
			}
			_, err := Verify(leafOf(cs), ca, now(), RoleServer)
			return err
		},
	}
}

// ClientTLS is the configuration of whoever dials a server: it verifies the
// authority and the URI, never the host name. A nil cert dials without identity.
// The protocols are "h2" unless given.
func ClientTLS(cert *tls.Certificate, ca *x509.Certificate, now func() time.Time, protos ...string) *tls.Config {
	if len(protos) == 0 {
		protos = []string{"h2"}
	}
	cfg := pinned(protos, func(cs tls.ConnectionState) error {
		_, err := Verify(leafOf(cs), ca, now(), RoleServer)
		return err
	})
	if cert != nil {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return cfg
}

// JoinTLS is the configuration of a machine that knows only its token: the
// server must present an authority with the token's digest, which signed its
// certificate. The authority is given to found.
func JoinTLS(digest string, now func() time.Time, found func(ca *x509.Certificate)) *tls.Config {
	return pinned([]string{"h2"}, func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) < 2 {
			return ErrWrongCA
		}
		ca := cs.PeerCertificates[1]
		if !ca.IsCA || Digest(ca) != digest {
			return fmt.Errorf("%w: it has digest %s", ErrWrongCA, Digest(ca))
		}
		if _, err := Verify(leafOf(cs), ca, now(), RoleServer); err != nil {
			return err
		}
		found(ca)
		return nil
	})
}

// pinned turns off the standard library's verification, which goes by host
// names, and puts ours in its place.
func pinned(protos []string, verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         protos,
		InsecureSkipVerify: true, // verify does it, by authority and URI
		VerifyConnection:   verify,
	}
}

func leafOf(cs tls.ConnectionState) *x509.Certificate {
	if len(cs.PeerCertificates) == 0 {
		return nil
	}
	return cs.PeerCertificates[0]
}
