package disk

import (
	"errors"
	"path/filepath"
	"sync/atomic"

	"github.com/hashicorp/raft-wal/types"
)

// Segments gives raft-wal a file system. A new file's name becomes durable with
// the file's first Sync.
func Segments(fsys FS) types.VFS { return segments{fsys} }

type segments struct{ fs FS }

// ListDir implements types.VFS.
func (s segments) ListDir(dir string) ([]string, error) { return s.fs.List(dir) }

// Create implements types.VFS. A file for which there is no room is not left
// behind.
func (s segments) Create(dir, name string, size uint64) (types.WritableFile, error) {
	path := filepath.Join(dir, name)
	f, err := s.fs.Create(path)
	if err != nil {
		return nil, err
	}
	if err := f.Allocate(int64(size)); err != nil {
		return nil, errors.Join(err, f.Close(), s.fs.Remove(path))
	}
	return &segment{File: f, fs: s.fs, dir: dir}, nil
}

// Delete implements types.VFS. A name that comes back after a crash belongs to no
// segment that the log knows, and is deleted again.
func (s segments) Delete(dir, name string) error { return s.fs.Remove(filepath.Join(dir, name)) }

// OpenReader implements types.VFS.
func (s segments) OpenReader(dir, name string) (types.ReadableFile, error) {
	return s.fs.Open(filepath.Join(dir, name))
}

// OpenWriter implements types.VFS. Whoever opens a file makes sure that its name
// and content are durable.
func (s segments) OpenWriter(dir, name string) (types.WritableFile, error) {
	return s.fs.Open(filepath.Join(dir, name))
}

type segment struct {
	File
	fs    FS
	dir   string
	named atomic.Bool // the name is durable
}

// Sync implements types.WritableFile.
func (s *segment) Sync() error {
	if err := s.File.Sync(); err != nil {
		return err
	}
	if s.named.Load() {
		return nil
	}
	if err := s.fs.SyncDir(s.dir); err != nil {
		return err
	}
	s.named.Store(true)
	return nil
}
