package identity

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// SealKey seals secrets before they go into the store. It lies in a file of its
// own, which every server has and backups leave out.
type SealKey [32]byte

// NewSealKey makes a key.
func NewSealKey() (SealKey, error) {
	var k SealKey
	_, err := rand.Read(k[:])
	return k, err
}

// LoadSealKey reads the key file, and makes it (mode 0600) when there is none.
func LoadSealKey(path string) (SealKey, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		k, err := NewSealKey()
		if err != nil {
			return k, err
		}
		return k, renameio.WriteFile(path, k[:], 0o600, renameio.IgnoreUmask(), renameio.WithTempDir(filepath.Dir(path)))
	}
	if err != nil {
		return SealKey{}, err
	}
	if len(data) != len(SealKey{}) {
		return SealKey{}, fmt.Errorf("%s holds %d bytes, not a key of %d", path, len(data), len(SealKey{}))
	}
	return SealKey(data), nil
}

func (k SealKey) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal encrypts the secret, bound to the context.
func (k SealKey) Seal(secret, context []byte) ([]byte, error) {
	a, err := k.aead()
	if err != nil {
		return nil, err
	}
	return a.Seal(nil, nil, secret, context), nil
}

// Open is the inverse of Seal.
func (k SealKey) Open(sealed, context []byte) ([]byte, error) {
	a, err := k.aead()
	if err != nil {
		return nil, err
	}
	secret, err := a.Open(nil, nil, sealed, context)
	if err != nil {
		return nil, errors.New("the key file does not fit the sealed secret")
	}
	return secret, nil
}
