package pki

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Pair is a certificate with its key and the authority that signed it.
type Pair struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
	CA   *x509.Certificate
}

// TLS is the pair as the TLS library wants it; the authority goes along, so that
// a machine that joins can compare its digest.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Cert.Raw, p.CA.Raw}, PrivateKey: p.Key, Leaf: p.Cert}
}

// Save writes NAME.crt, NAME.key (mode 0600) and ca.crt into the folder, which
// it makes with mode 0700. Each file is replaced atomically; the key goes first.
func (p *Pair) Save(dir, name string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name, kind string
		der        []byte
		mode       os.FileMode
	}{
		{name + ".key", "PRIVATE KEY", key, 0o600},
		{name + ".crt", "CERTIFICATE", p.Cert.Raw, 0o644},
		{"ca.crt", "CERTIFICATE", p.CA.Raw, 0o644},
	} {
		data := pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der})
		if err := renameio.WriteFile(filepath.Join(dir, f.name), data, f.mode, renameio.IgnoreUmask(), renameio.WithTempDir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// LoadPair reads what Save wrote. It verifies that the three belong together,
// not that the certificate is still valid.
func LoadPair(dir, name string) (*Pair, error) {
	ca, err := LoadCertificate(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	cert, err := LoadCertificate(filepath.Join(dir, name+".crt"))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name+".key")
	der, err := readPEM(path, "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	key, err := parseKey(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, fmt.Errorf("%s is not the key of %s.crt", path, name)
	}
	if err := cert.CheckSignatureFrom(ca); err != nil {
		return nil, fmt.Errorf("%s.crt in %s: %w", name, dir, ErrWrongCA)
	}
	return &Pair{Cert: cert, Key: key, CA: ca}, nil
}

// LoadCertificate reads a certificate in PEM.
func LoadCertificate(path string) (*x509.Certificate, error) {
	der, err := readPEM(path, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cert, nil
}

func readPEM(path, kind string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("%s holds no %s in PEM", path, kind)
	}
	return block.Bytes, nil
}
