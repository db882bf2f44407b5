// Package disk is the floor under the log: files and folders, with the few
// operations on which durability rests, so that a test can put a disk under it
// that forgets whatever was not synced.
//
// It decides nothing about what is in a file, and it never retries: an error of
// the disk is the caller's to judge.
//
// Invariants: a file's content is durable after File.Sync, its name after
// SyncDir of its folder, and nothing else is.
//
// Spec: the architecture's "State: one writer, one log"
package disk

import (
	"errors"
	"io"
	"path/filepath"
)

// FS is a file system. All paths are absolute or relative to the process, as
// with package os. All methods may be called concurrently.
type FS interface {
	// Mkdir makes a folder, private to the user. Its parent must exist; that the
	// folder exists already gives an error like os.ErrExist.
	Mkdir(dir string) error
	// List gives the names in a folder, sorted.
	List(dir string) ([]string, error)
	// Create makes a new file for reading and writing. It must not exist yet.
	Create(name string) (File, error)
	// Open opens a file that exists, for reading and writing.
	Open(name string) (File, error)
	// Rename moves a file or folder within its parent, over a file that may be
	// there.
	Rename(from, to string) error
	// Remove removes a file, or a folder with all that is in it.
	Remove(name string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(dir string) error
	// Lock takes a lock on a file, made if need be, against other processes until
	// it is closed.
	Lock(name string) (io.Closer, error)
	// Free is how many bytes a user can still write below the folder.
	Free(dir string) (uint64, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Size is the length of the file in bytes.
	Size() (int64, error)
	// Allocate makes the file at least so long, with zeros, and reserves the space:
	// writing there cannot fail for want of it.
	Allocate(size int64) error
	// Sync makes the content durable.
	Sync() error
}

// ReadFile reads a whole file.
func ReadFile(fsys FS, name string) (b []byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b = make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// WriteFile replaces a file in one durable step: after a crash it is there as
// before or as now.
func WriteFile(fsys FS, name string, content []byte) error {
	temporary := name + ".tmp"
	if _, err := Leftover(fsys, temporary); err != nil {
		return err
	}
	f, err := fsys.Create(temporary)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		return errors.Join(err, f.Close(), fsys.Remove(temporary))
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close(), fsys.Remove(temporary))
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := fsys.Rename(temporary, name); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// Leftover removes what an interrupted write left under the name, if anything.
func Leftover(fsys FS, name string) (removed bool, err error) {
	there, err := Exists(fsys, name)
	if err != nil || !there {
		return false, err
	}
	return true, fsys.Remove(name)
}

// Exists reports whether a name is in its folder.
func Exists(fsys FS, name string) (bool, error) {
	names, err := fsys.List(filepath.Dir(name))
	if err != nil {
		return false, err
	}
	for _, n := range names {
		if n == filepath.Base(name) {
			return true, nil
		}
	}
	return false, nil
}
