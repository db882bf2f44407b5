package raftlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"drover/keep/store/raftlog/disk"

	"github.com/hashicorp/raft-wal/types"
)

// metaName is the file of what must change in one step: which segments the log
// has, and raft's term and vote. It holds the same twice, in two slots of fixed
// size that are written and synced one after the other. So a crash tears one at
// most, damage to one loses nothing, and a write never needs space.
const (
	metaName  = "META"
	slotBytes = 64 << 10
	slotHead  = 4 + 4 + 8 // checksum, length, sequence
)

// state is what a slot holds.
type state struct {
	Log    types.PersistentState `json:"log"`
	Stable map[string][]byte     `json:"stable"`
	// Durable is an index up to which the log is known to be on disk: if it is
	// shorter, then something is lost.
	Durable uint64 `json:"durable"`
	// Mark begins each checksum in the log's files. It is random, so that no data
	// can look like one.
	Mark []byte `json:"mark"`
}

// meta implements types.MetaStore. Its methods may be called concurrently.
type meta struct {
	fs  disk.FS
	dir string

	mu    sync.Mutex
	file  disk.File
	seq   uint64
	state state
	fresh bool // the newest segment has nothing durable yet
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openMeta opens the file of the log's folder, or makes it from first.
func openMeta(fsys disk.FS, dir string, first func() (state, error)) (*meta, error) {
	m := &meta{fs: fsys, dir: dir, fresh: true}
	there, err := disk.Exists(fsys, m.path())
	if err != nil {
		return nil, err
	}
	if !there {
		if m.state, err = first(); err != nil {
			return nil, err
		}
		if err := m.create(); err != nil {
			return nil, err
		}
	}
	if m.file, err = fsys.Open(m.path()); err != nil {
		return nil, err
	}
	if err := m.read(); err != nil {
		return nil, errors.Join(err, m.file.Close())
	}
	return m, nil
}

func (m *meta) path() string { return filepath.Join(m.dir, metaName) }

func (m *meta) create() error {
	slot, err := m.encode(1)
	if err != nil {
		return err
	}
	return disk.WriteFile(m.fs, m.path(), append(slot, slot...))
}

func (m *meta) encode(seq uint64) ([]byte, error) {
	body, err := json.Marshal(m.state)
	if err != nil {
		return nil, err
	}
	if len(body) > slotBytes-slotHead {
		return nil, fmt.Errorf("the log has %d segments, which is too many", len(m.state.Log.Segments))
	}
	slot := make([]byte, slotBytes)
	binary.BigEndian.PutUint32(slot[4:], uint32(len(body)))
	binary.BigEndian.PutUint64(slot[8:], seq)
	copy(slot[slotHead:], body)
	binary.BigEndian.PutUint32(slot, crc32.Checksum(slot[4:slotHead+len(body)], castagnoli))
	return slot, nil
}

func decodeSlot(slot []byte) (seq uint64, s state, err error) {
	n := uint64(binary.BigEndian.Uint32(slot[4:]))
	if n > slotBytes-slotHead || crc32.Checksum(slot[4:slotHead+n], castagnoli) != binary.BigEndian.Uint32(slot) {
		return 0, s, fmt.Errorf("a checksum does not fit")
	}
	return binary.BigEndian.Uint64(slot[8:]), s, json.Unmarshal(slot[slotHead:slotHead+n], &s)
}

// read takes the newer slot that is whole, and makes both the same.
func (m *meta) read() error {
	both := make([]byte, 2*slotBytes)
	_, _ = m.file.ReadAt(both, 0) // what is short has no checksum
	var seqs [2]uint64
	var last error
	for i := range 2 {
		seq, s, err := decodeSlot(both[i*slotBytes : (i+1)*slotBytes])
		if err != nil {
			last = err
			continue
		}
		if seqs[i] = seq; seq > m.seq {
			m.seq, m.state = seq, s
		}
	}
	if m.seq == 0 {
		return damaged(m.dir, m.path(), "both copies in it are unreadable: %v", last)
	}
	if seqs[0] == seqs[1] {
		return m.file.Sync() // who wrote it may have been killed before
	}
	return m.write()
}

// write makes the state durable. After an error either state may be found.
func (m *meta) write() error {
	slot, err := m.encode(m.seq + 1)
	if err != nil {
		return err
	}
	m.seq++
	if err := m.writeSlot(slot, 0); err != nil {
		return err
	}
	return m.writeSlot(slot, slotBytes)
}

func (m *meta) writeSlot(slot []byte, at int64) error {
	if _, err := m.file.WriteAt(slot, at); err != nil {
		return err
	}
	return m.file.Sync()
}

// Load implements types.MetaStore.
func (m *meta) Load(string) (types.PersistentState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Log, nil
}

// CommitState implements types.MetaStore.
func (m *meta) CommitState(s types.PersistentState) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.state.Log
	m.state.Log = s
	if err := m.write(); err != nil {
		m.state.Log = before
		return err
	}
	m.fresh = true
	return nil
}

// GetStable implements types.MetaStore.
func (m *meta) GetStable(key []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Stable[string(key)], nil
}

// SetStable implements types.MetaStore.
func (m *meta) SetStable(key, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.state.Stable
	m.state.Stable = maps.Clone(before)
	if m.state.Stable == nil {
		m.state.Stable = map[string][]byte{}
	}
	m.state.Stable[string(key)] = value
	if err := m.write(); err != nil {
		m.state.Stable = before
		return err
	}
	return nil
}

// appended notes that the log is durable up to an index. It is written only for
// the first entries of a segment: so a segment that is gone is missed.
func (m *meta) appended(index uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.fresh {
		return nil
	}
	m.state.Durable = index
	if err := m.write(); err != nil {
		return err
	}
	m.fresh = false
	return nil
}

// cut notes that the log will end at an index. The next CommitState writes it.
func (m *meta) cut(index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Durable = min(m.state.Durable, index)
}

// settle notes where the log ends, at the end of its use.
func (m *meta) settle(index uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Durable == index {
		return nil
	}
	m.state.Durable = index
	return m.write()
}

func (m *meta) durable() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Durable
}

// Close implements types.MetaStore.
func (m *meta) Close() error { return m.file.Close() }

// segmentOf is the path of the segment that an index should be in.
func (m *meta) segmentOf(index uint64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	path := filepath.Join(m.dir, walName)
	for _, s := range m.state.Log.Segments {
		if s.BaseIndex <= index {
			path = filepath.Join(m.dir, walName, segmentName(s))
		}
	}
	return path
}

// isSegment reports whether a file's name is that of a segment.
func isSegment(name string) bool { return strings.HasSuffix(name, ".wal") }

// begin is the first index that the log has, or will have if it is empty.
func (m *meta) begin() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.state.Log.Segments) == 0 {
		return 0
	}
	return m.state.Log.Segments[0].MinIndex
}
