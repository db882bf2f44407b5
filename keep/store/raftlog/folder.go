package raftlog

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"syscall"

	"drover/keep/store/raftlog/disk"
	"drover/noun/fault"
)

// folder is the log's folder, locked against other processes. Beside what raft
// keeps there is a note of the formats written in it.
type folder struct {
	fs   disk.FS
	dir  string
	lock io.Closer
}

// folderFormat is the version of the folder's layout. 1 had raft-wal's database in
// the place of META; its entries and snapshots are the same.
const folderFormat = 2

// note says whose folder it is and which formats a program has written. It is on
// disk before they are.
type note struct {
	Server string           `json:"server"`
	Format uint64           `json:"format"`
	Tables map[string]uint8 `json:"tables"` // the version of each table's rows
}

func openFolder(fsys disk.FS, dir, server string, versions map[string]uint8) (*folder, error) {
	for _, d := range []string{dir, filepath.Join(dir, walName), filepath.Join(dir, snapshotsName)} {
		if err := mkdirs(fsys, d); err != nil {
			return nil, unreadable(dir, err)
		}
	}
	lock, err := fsys.Lock(filepath.Join(dir, "LOCK"))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, inUse(dir, err)
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	f := &folder{fs: fsys, dir: dir, lock: lock}
	if err := f.admit(server, versions); err != nil {
		return nil, errors.Join(unreadable(dir, err), f.close())
	}
	return f, nil
}

// mkdirs makes a folder and those above it, durably. That one exists does not
// say that its name is durable: the process that made it may have been killed.
func mkdirs(fsys disk.FS, dir string) error {
	err := fsys.Mkdir(dir)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := mkdirs(fsys, filepath.Dir(dir)); err != nil {
			return err
		}
		err = fsys.Mkdir(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsys.SyncDir(filepath.Dir(dir))
}

func inUse(dir string, err error) error {
	return fault.New(fault.Conflict, "the data folder is in use").
		Why("another drover server has %s open", dir).Try("drover status", "drover down").Wrap(err)
}

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
	n, old, err := f.note(path)
	if err != nil {
		return err
	}
	if old != nil && n.Server != server {
		return fault.New(fault.Conflict, "the data folder %s belongs to another server", f.dir).
			Why("%s says that it was made by server %q, and this one is %q", path, n.Server, server).Try("ls " + f.dir)
	}
	if n.Format > folderFormat {
		return fault.New(fault.Conflict, "the data folder %s was written by a newer version of drover", f.dir).
			Why("%s says that it has format %d, and this program reads up to %d", path, n.Format, folderFormat).Try("drover version")
	}
	n.Server, n.Format = server, folderFormat
	for _, table := range slices.Sorted(maps.Keys(versions)) {
		if n.Tables[table] > versions[table] {
			return fault.New(fault.Conflict, "the data folder %s was written by a newer version of drover", f.dir).
				Why("%s says that its table %s has version %d, and this program reads up to %d", path, table, n.Tables[table], versions[table]).
				Try("drover version")
		}
		n.Tables[table] = versions[table]
	}
	now, err := json.Marshal(n)
	if err != nil || string(now) == string(old) {
		return err
	}
	return disk.WriteFile(f.fs, path, now)
}

// note reads the note. A folder that has a log has one.
func (f *folder) note(path string) (n note, old []byte, err error) {
	n.Tables = map[string]uint8{}
	there, err := disk.Exists(f.fs, path)
	if err != nil {
		return n, nil, err
	}
	if !there {
		used, err := disk.Exists(f.fs, filepath.Join(f.dir, metaName))
		if err == nil && used {
			err = damaged(f.dir, path, "it is missing")
		}
		return n, nil, err
	}
	if old, err = disk.ReadFile(f.fs, path); err != nil {
		return n, nil, err
	}
	if err := json.Unmarshal(old, &n); err != nil || n.Tables == nil {
		return n, nil, damaged(f.dir, path, "it cannot be read: %v", err)
	}
	return n, old, nil
}
