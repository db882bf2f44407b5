package raftlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"drover/keep/store"
	"drover/noun/fault"

	"github.com/google/renameio/v2"
)

// folder is the log's folder, locked against other processes. Beside what raft
// keeps there is a note of the formats written in it.
type folder struct {
	dir  string
	lock *os.File
}

// note says whose folder it is and which formats a program has written. It is on
// disk before they are.
type note struct {
	Server string           `json:"server"`
	Format uint64           `json:"format"`
	Tables map[string]uint8 `json:"tables"` // the version of each table's rows
}

func openFolder(dir, server string, versions map[string]uint8) (*folder, error) {
	if err := mkdirs(dir, "wal"); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	f := &folder{dir: dir, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(inUse(dir, err), lock.Close())
	}
	if err := f.admit(server, versions); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func inUse(dir string, err error) error {
	return fault.New(fault.Conflict, "the data folder is in use").
		Why("another drover server has %s open", dir).Try("drover status", "drover down").Wrap(err)
}

func (f *folder) wal() string { return filepath.Join(f.dir, "wal") }

func (f *folder) close() error {
	if f == nil {
		return nil
	}
	return f.lock.Close()
}

// admit refuses what a newer program or another server wrote, and notes what this
// one will write.
func (f *folder) admit(server string, versions map[string]uint8) error {
	path := filepath.Join(f.dir, "FORMAT")
	n := note{Server: server, Tables: map[string]uint8{}}
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return unreadable(f.dir, err)
	default:
		if err := json.Unmarshal(old, &n); err != nil {
			return unreadable(f.dir, fmt.Errorf("%s: %w", path, err))
		}
	}
	if n.Server != server {
		return fault.New(fault.Conflict, "the data folder %s belongs to another server", f.dir).
			Why("it was made by server %s and this one is %s", n.Server, server)
	}
	if n.Format > store.Format {
		return store.NewerFormat("the data folder "+f.dir, n.Format)
	}
	n.Format = store.Format
	for _, table := range slices.Sorted(maps.Keys(versions)) {
		if n.Tables[table] > versions[table] {
			return fault.New(fault.Conflict, "the data folder %s was written by a newer version of drover", f.dir).
				Why("its table %s has version %d and this program reads up to %d", table, n.Tables[table], versions[table]).
				Try("drover version")
		}
		n.Tables[table] = versions[table]
	}
	now, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if string(now) == string(old) {
		return nil
	}
	if err := renameio.WriteFile(path, now, 0o600); err != nil {
		return unreadable(f.dir, err)
	}
	return nil
}
