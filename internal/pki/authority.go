package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

const (
	caLifetime = 20 * 365 * 24 * time.Hour
	// backdate lets peers whose clocks are a little behind accept a fresh
	// certificate.
	backdate = 5 * time.Minute
)

// The lifetimes of certificates by role. A machine's agent renews at half time.
const (
	ServerLifetime  = 5 * 365 * 24 * time.Hour
	UserLifetime    = 365 * 24 * time.Hour
	MachineLifetime = 30 * 24 * time.Hour
)

// Authority is the cluster's certificate authority with its key.
type Authority struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
}

// NewKey makes a private key.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// NewAuthority makes the authority of a new cluster.
func NewAuthority(cluster string, now time.Time) (*Authority, error) {
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	tmpl := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{Organization: []string{"Drover"}, CommonName: "drover cluster " + cluster},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caLifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		URIs:                  []*url.URL{{Scheme: "spiffe", Host: "drover", Path: "/" + cluster}},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{Cert: cert, Key: key}, nil
}

// LoadAuthority is the authority with the certificate and key in DER.
func LoadAuthority(certDER, keyDER []byte) (*Authority, error) {
	cert, err := x509.ParseCertificate(certDER)
	if err != nil {
		return nil, fmt.Errorf("certificate of the authority: %w", err)
	}
	key, err := parseKey(keyDER)
	if err != nil {
		return nil, fmt.Errorf("key of the authority: %w", err)
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, fmt.Errorf("the authority's key is not that of its certificate")
	}
	return &Authority{Cert: cert, Key: key}, nil
}

// KeyDER is the authority's private key, to be sealed before it is stored.
func (a *Authority) KeyDER() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(a.Key) }

// Issue signs a certificate for the identity and public key.
func (a *Authority) Issue(id Identity, public crypto.PublicKey, now time.Time, lifetime time.Duration) (*x509.Certificate, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if id.Role == RoleServer {
		usage = append(usage, x509.ExtKeyUsageServerAuth)
	}
	tmpl := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{Organization: []string{"Drover"}, CommonName: id.String()},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  usage,
		URIs:         []*url.URL{id.URI()},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.Cert, public, a.Key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", id, err)
	}
	return x509.ParseCertificate(der)
}

// Digest is what join tokens pin of an authority: the hex of the first 16 bytes
// of the SHA-256 of its certificate.
func Digest(ca *x509.Certificate) string {
	sum := sha256.Sum256(ca.Raw)
	return hex.EncodeToString(sum[:16])
}

// KeyHash is the hex SHA-256 of a public key, as machine rows record it.
func KeyHash(public crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), nil
}

func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
}

func parseKey(der []byte) (*ecdsa.PrivateKey, error) {
	k, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := k.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("not an ECDSA P-256 key")
	}
	return key, nil
}
