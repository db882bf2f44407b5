// Package forgetful is a disk in memory that loses at a power cut whatever was
// not synced: content of files, in pieces of sectors, and names in folders.
//
// It never loses or changes what was synced. It knows no permissions and no
// links, and a program that goes on after the cut writes into a copy of its own.
//
// Invariants: what a cut leaves of a folder's names is a state that the folder
// had at some moment since its last SyncDir; what it leaves of a file is, sector
// by sector, what was synced last or what was written last.
package forgetful

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"drover/keep/store/raftlog/disk"
)

// Disk is such a disk. Its only folder at first is the root.
type Disk struct {
	mu    sync.Mutex
	root  *node
	ops   int // operations that change something, so far
	cutAt int // the operation after which the power is cut; 0: never
	cut   func(*Disk)
	kind  Kind
	rng   *rand.Rand
}

// Kind is how a crash goes.
type Kind uint8

// The kinds of crash.
const (
	_       Kind = iota
	Killed       // the process ends; what it wrote stays, still not synced
	Power        // nothing stays but what was synced
	Partial      // of what was not synced a random part stays
)

// New is an empty disk. Everything random comes from rng.
func New(rng *rand.Rand) *Disk {
	return &Disk{root: newDir(), rng: rng}
}

// CrashAfter lets the disk crash after so many more operations, once: then is
// called, during that operation and holding the disk, with the disk as the next
// start of the machine finds it. This disk goes on as if nothing had happened.
func (d *Disk) CrashAfter(ops int, kind Kind, then func(*Disk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cutAt, d.cut, d.kind = d.ops+max(ops, 1), then, kind
}

// Ops counts the operations so far that changed something.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// changed is called with mu held after every operation that changes something.
func (d *Disk) changed() {
	d.ops++
	if d.ops != d.cutAt {
		return
	}
	after := New(d.rng)
	after.root = d.root.after(d.kind, d.rng)
	d.cut(after)
}

// find gives the folder that holds a name, with mu held.
func (d *Disk) find(name string) (*node, string, error) {
	dir := d.root
	parts := strings.Split(strings.Trim(filepath.Clean(name), "/"), "/")
	for _, p := range parts[:len(parts)-1] {
		next, ok := dir.names[p]
		if !ok || !next.dir {
			return nil, "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		dir = next
	}
	return dir, parts[len(parts)-1], nil
}

func (d *Disk) get(name string) (*node, error) {
	if filepath.Clean(name) == "/" {
		return d.root, nil
	}
	dir, base, err := d.find(name)
	if err != nil {
		return nil, err
	}
	n, ok := dir.names[base]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

func (d *Disk) add(name string, n *node) error {
	dir, base, err := d.find(name)
	if err != nil {
		return err
	}
	if _, there := dir.names[base]; there {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	dir.change(func(names map[string]*node) { names[base] = n })
	d.changed()
	return nil
}

// Mkdir implements disk.FS.
func (d *Disk) Mkdir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if filepath.Clean(dir) == "/" {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}
	}
	return d.add(dir, newDir())
}

// List implements disk.FS.
func (d *Disk) List(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.get(dir)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, fmt.Errorf("%s is no folder", dir)
	}
	return slices.Sorted(maps.Keys(n.names)), nil
}

// Create implements disk.FS.
func (d *Disk) Create(name string) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := &node{}
	if err := d.add(name, n); err != nil {
		return nil, err
	}
	return &file{d, n}, nil
}

// Open implements disk.FS.
func (d *Disk) Open(name string) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.get(name)
	if err != nil {
		return nil, err
	}
	return &file{d, n}, nil
}

// Rename implements disk.FS.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, old, err := d.find(from)
	if err != nil {
		return err
	}
	n, ok := dir.names[old]
	if !ok || filepath.Dir(from) != filepath.Dir(to) {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	dir.change(func(names map[string]*node) {
		delete(names, old)
		names[filepath.Base(to)] = n
	})
	d.changed()
	return nil
}

// Remove implements disk.FS.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, err := d.find(name)
	if err != nil {
		return err
	}
	d.remove(dir, base)
	return nil
}

// remove takes what is in a folder before the folder, as package os does.
func (d *Disk) remove(dir *node, base string) {
	if n, there := dir.names[base]; there && n.dir {
		for _, child := range slices.Sorted(maps.Keys(n.names)) {
			d.remove(n, child)
		}
	}
	dir.change(func(names map[string]*node) { delete(names, base) })
	d.changed()
}

// SyncDir implements disk.FS.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.get(dir)
	if err != nil {
		return err
	}
	n.past = []map[string]*node{maps.Clone(n.names)}
	d.changed()
	return nil
}

// Lock implements disk.FS. No other process sees a disk in memory.
func (d *Disk) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Free implements disk.FS.
func (d *Disk) Free(string) (uint64, error) { return 1 << 40, nil }
