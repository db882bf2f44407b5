package forgetful

import (
	"io"
	"maps"
	"math/rand/v2"
	"slices"
)

// sector is the piece of a file that stays or goes as a whole. It is smaller than
// that of any disk, so that more is torn.
const sector = 64

// node is a file or a folder.
type node struct {
	dir   bool
	names map[string]*node   // of a folder, now
	past  []map[string]*node // the synced names, then those after each change

	content []byte           // of a file, now
	synced  []byte           // when last synced
	dirty   map[int]struct{} // sectors written since
}

func newDir() *node {
	return &node{dir: true, names: map[string]*node{}, past: []map[string]*node{{}}}
}

func (n *node) change(f func(map[string]*node)) {
	f(n.names)
	n.past = append(n.past, maps.Clone(n.names))
}

// after is the node as a crash leaves it. A node that has two names becomes two;
// nobody makes such.
func (n *node) after(kind Kind, rng *rand.Rand) *node {
	if n.dir {
		return n.dirAfter(kind, rng)
	}
	switch kind {
	case Killed:
		return &node{content: slices.Clone(n.content), synced: slices.Clone(n.synced), dirty: maps.Clone(n.dirty)}
	case Partial:
		b := slices.Clone(n.synced)
		if len(n.content) > len(b) && rng.IntN(2) == 0 {
			b = append(b, make([]byte, len(n.content)-len(b))...)
		}
		for _, s := range slices.Sorted(maps.Keys(n.dirty)) {
			from, to := s*sector, min((s+1)*sector, len(n.content))
			if from >= len(b) || rng.IntN(2) == 0 {
				continue
			}
			copy(b[from:], n.content[from:to])
		}
		return &node{content: b, synced: slices.Clone(b)}
	default:
		return &node{content: slices.Clone(n.synced), synced: slices.Clone(n.synced)}
	}
}

func (n *node) dirAfter(kind Kind, rng *rand.Rand) *node {
	out := newDir()
	out.past = nil
	past := n.past[:1]
	switch kind {
	case Killed:
		past = n.past
	case Partial:
		at := rng.IntN(len(n.past))
		past = n.past[at : at+1]
	}
	made := map[*node]*node{}
	for _, names := range past {
		kept := map[string]*node{}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			child := names[name]
			if made[child] == nil {
				made[child] = child.after(kind, rng)
			}
			kept[name] = made[child]
		}
		out.past = append(out.past, kept)
	}
	out.names = maps.Clone(out.past[len(out.past)-1])
	return out
}

type file struct {
	d *Disk
	n *node
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if at >= int64(len(f.n.content)) {
		return 0, io.EOF
	}
	n := copy(b, f.n.content[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements io.WriterAt.
func (f *file) WriteAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.n.grow(int(at) + len(b))
	copy(f.n.content[at:], b)
	for s := int(at) / sector; s*sector < int(at)+len(b); s++ {
		f.n.touch(s)
	}
	f.d.changed()
	return len(b), nil
}

func (n *node) grow(size int) {
	if size > len(n.content) {
		n.content = append(n.content, make([]byte, size-len(n.content))...)
	}
}

func (n *node) touch(s int) {
	if n.dirty == nil {
		n.dirty = map[int]struct{}{}
	}
	n.dirty[s] = struct{}{}
}

// Size implements disk.File.
func (f *file) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.n.content)), nil
}

// Allocate implements disk.File.
func (f *file) Allocate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.n.grow(int(size))
	f.d.changed()
	return nil
}

// Sync implements disk.File. Only what was written since is copied.
func (f *file) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	n := f.n
	if more := len(n.content) - len(n.synced); more > 0 {
		n.synced = append(n.synced, make([]byte, more)...)
	}
	for s := range n.dirty { // order-free: each sector by itself
		from := s * sector
		copy(n.synced[from:], n.content[from:min(from+sector, len(n.content))])
	}
	n.dirty = nil
	f.d.changed()
	return nil
}

// Close implements io.Closer.
func (f *file) Close() error { return nil }
