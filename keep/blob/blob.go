// Package blob keeps archives by the digest of their content in a folder:
// charms today, images later.
//
// It knows nothing of what is in them and forgets nothing by itself.
//
// Invariants: a file under its digest has that digest and is whole; it got its
// name only after its data was on the disk.
package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"drover/noun/fault"
)

// Store is a folder of blobs. Its methods may be called concurrently.
type Store struct{ dir string }

// Open makes the folder if needed and removes what a crash left half written.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(dir, "partial"), 0o700); err != nil {
		return nil, fmt.Errorf("blobs: %w", err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "partial"))
	if err != nil {
		return nil, fmt.Errorf("blobs: %w", err)
	}
	for _, e := range left {
		if err := os.Remove(filepath.Join(dir, "partial", e.Name())); err != nil {
			return nil, fmt.Errorf("blobs: %w", err)
		}
	}
	return &Store{dir: dir}, nil
}

var digestShape = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (s *Store) path(digest string) string { return filepath.Join(s.dir, digest[:2], digest) }

// Has reports whether the blob is here.
func (s *Store) Has(digest string) bool {
	if !digestShape.MatchString(digest) {
		return false
	}
	_, err := os.Stat(s.path(digest))
	return err == nil
}

// Open opens a blob to read; an error of kind NotFound if it is not here. Read
// to the end, it reports an error instead of io.EOF if the content is damaged.
func (s *Store) Open(digest string) (io.ReadCloser, error) {
	missing := fault.New(fault.NotFound, "archive %.12s is not on this server", digest)
	if !digestShape.MatchString(digest) {
		return nil, missing
	}
	f, err := os.Open(s.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	return &verifier{f: f, sum: sha256.New(), want: digest}, nil
}

type verifier struct {
	f    *os.File
	sum  hash.Hash
	want string
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.f.Read(p)
	v.sum.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(v.sum.Sum(nil)) != v.want {
		return n, fmt.Errorf("blob %.12s is damaged", v.want)
	}
	return n, err
}

func (v *verifier) Close() error { return v.f.Close() }

// Upload is a blob that is being written. It must be closed.
type Upload struct {
	store *Store
	f     *os.File
	sum   hash.Hash
	size  int64
	max   int64
	kept  bool
}

// Begin starts a blob of at most max bytes.
func (s *Store) Begin(max int64) (*Upload, error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, "partial"), "up-")
	if err != nil {
		return nil, fmt.Errorf("begin blob: %w", err)
	}
	return &Upload{store: s, f: f, sum: sha256.New(), max: max}, nil
}

// Write adds data; an error of kind ResourceExhausted when it becomes too much.
func (u *Upload) Write(p []byte) (int, error) {
	if u.size+int64(len(p)) > u.max {
		return 0, fault.New(fault.ResourceExhausted, "the archive is too large").Why("at most %d MiB are taken", u.max>>20)
	}
	n, err := u.f.Write(p)
	u.sum.Write(p[:n])
	u.size += int64(n)
	return n, err
}

// Size is the number of bytes so far.
func (u *Upload) Size() int64 { return u.size }

// Path is the file with what was written so far, to look into before Keep.
func (u *Upload) Path() string { return u.f.Name() }

// Keep makes the blob durable under its digest, which it returns. The data is on
// the disk before the name is, and the name before Keep returns.
func (u *Upload) Keep() (string, error) {
	digest := hex.EncodeToString(u.sum.Sum(nil))
	if u.store.Has(digest) {
		return digest, nil
	}
	if err := u.f.Sync(); err != nil {
		return "", fmt.Errorf("keep blob: %w", err)
	}
	path := u.store.path(digest)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keep blob: %w", err)
	}
	if err := os.Rename(u.f.Name(), path); err != nil {
		return "", fmt.Errorf("keep blob: %w", err)
	}
	u.kept = true
	if err := syncDir(dir); err != nil {
		return "", err
	}
	return digest, syncDir(u.store.dir)
}

// KeepAs is Keep for a blob whose digest is known: other content is refused with
// kind Invalid.
func (u *Upload) KeepAs(want string) error {
	if got := hex.EncodeToString(u.sum.Sum(nil)); got != want {
		return fault.New(fault.Invalid, "the archive is not what was announced").Why("its digest is %.12s, not %.12s", got, want)
	}
	_, err := u.Keep()
	return err
}

// Close ends the upload and removes what was not kept.
func (u *Upload) Close() error {
	err := u.f.Close()
	if !u.kept {
		err = errors.Join(err, os.Remove(u.f.Name()))
	}
	return err
}

// Put keeps what the reader gives, at most max bytes, and returns its digest and
// size. With a digest given, other content is refused with kind Invalid.
func (s *Store) Put(r io.Reader, max int64, want string) (digest string, size int64, err error) {
	u, err := s.Begin(max)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	if _, err := io.Copy(u, r); err != nil {
		return "", 0, err
	}
	if want != "" {
		return want, u.size, u.KeepAs(want)
	}
	digest, err = u.Keep()
	return digest, u.size, err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("keep blob: %w", err)
	}
	err = errors.Join(d.Sync(), d.Close())
	if err != nil {
		return fmt.Errorf("keep blob: %w", err)
	}
	return nil
}
