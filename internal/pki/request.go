package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
)

// NewRequest is a certificate request (PKCS #10, DER) for the key. It carries no
// name: the server says who the caller is.
func NewRequest(key *ecdsa.PrivateKey) ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
}

// maxRequest bounds a certificate request.
const maxRequest = 16 << 10

// ParseRequest is the public key of a certificate request whose signature holds.
func ParseRequest(der []byte) (crypto.PublicKey, error) {
	if len(der) > maxRequest {
		return nil, fmt.Errorf("certificate request of %d bytes", len(der))
	}
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	if err := checkPublic(csr.PublicKey); err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	return csr.PublicKey, nil
}

func checkPublic(public crypto.PublicKey) error {
	key, ok := public.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return fmt.Errorf("not an ECDSA P-256 key")
	}
	return nil
}

// Prove signs the request with the old key: proof that whoever renews holds the
// key of the certificate that is renewed.
func Prove(old *ecdsa.PrivateKey, request []byte) ([]byte, error) {
	sum := sha256.Sum256(request)
	return ecdsa.SignASN1(rand.Reader, old, sum[:])
}

// CheckProof reports whether the signature is Prove's, by the certificate's key.
func CheckProof(old *x509.Certificate, request, signature []byte) bool {
	key, ok := old.PublicKey.(*ecdsa.PublicKey)
	sum := sha256.Sum256(request)
	return ok && ecdsa.VerifyASN1(key, sum[:], signature)
}
