package disk

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// OS is the file system of this machine.
type OS struct{}

var _ FS = OS{}

// Mkdir implements FS.
func (OS) Mkdir(dir string) error { return os.Mkdir(dir, 0o700) }

// List implements FS.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Create implements FS.
func (OS) Create(name string) (File, error) {
	return wrap(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))
}

// Open implements FS.
func (OS) Open(name string) (File, error) { return wrap(os.OpenFile(name, os.O_RDWR, 0)) }

func wrap(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.RemoveAll(name) }

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock implements FS.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Free implements FS.
func (OS) Free(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return s.Bavail * uint64(s.Bsize), nil
}

type file struct{ *os.File }

// Size implements File.
func (f file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Allocate implements File. A file system that cannot reserve space only makes
// the file longer.
func (f file) Allocate(size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if err == nil {
		return nil
	}
	if !errors.Is(err, syscall.EOPNOTSUPP) {
		return &os.PathError{Op: "allocate", Path: f.Name(), Err: err}
	}
	now, err := f.Size()
	if err != nil || now >= size {
		return err
	}
	return f.Truncate(size)
}
