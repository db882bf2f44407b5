package raftlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"drover/keep/store/raftlog/disk"

	"github.com/hashicorp/raft"
)

// snapshots implements raft.SnapshotStore with the files of raft's own store:
// a folder for each, with the state and what raft knows of it. Raft's own leaves
// the names in that folder to chance, and passes over a snapshot it cannot read.
type snapshots struct {
	fs     disk.FS
	dir    string                // of the log
	broken atomic.Pointer[error] // of a snapshot that could not be opened
}

const (
	snapshotsName = "snapshots"
	stateName     = "state.bin"
	aboutName     = "meta.json"
	unfinished    = ".tmp"
)

// about is the file about a snapshot: a line of this, and a line with its
// checksum.
type about struct {
	raft.SnapshotMeta
	CRC []byte
}

// name is the folder's: term, index, and a number to tell those of one index
// apart.
type name struct{ term, index, number uint64 }

func (n name) String() string { return fmt.Sprintf("%d-%d-%d", n.term, n.index, n.number) }

func (n name) compare(to name) int {
	return slices.Compare([]uint64{n.term, n.index, n.number}, []uint64{to.term, to.index, to.number})
}

func parseName(folder string) (n name, ok bool) {
	_, err := fmt.Sscanf(folder, "%d-%d-%d", &n.term, &n.index, &n.number)
	return n, err == nil && n.String() == folder
}

func isSnapshot(folder string) bool {
	_, ok := parseName(folder)
	return ok
}

func (s *snapshots) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir, snapshotsName}, parts...)...)
}

// openSnapshots removes what an interrupted snapshot left, and refuses one whose
// description is unreadable.
func openSnapshots(fsys disk.FS, dir string) (*snapshots, error) {
	s := &snapshots{fs: fsys, dir: dir}
	folders, err := fsys.List(s.path())
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		if strings.HasSuffix(f, unfinished) {
			if err := fsys.Remove(s.path(f)); err != nil {
				return nil, err
			}
		}
	}
	_, err = s.List()
	return s, err
}

// newest is the newest snapshot's name. Older ones are never looked into: they
// may be half removed.
func (s *snapshots) newest() (newest name, ok bool, err error) {
	folders, err := s.fs.List(s.path())
	if err != nil {
		return newest, false, err
	}
	for _, f := range folders {
		if n, is := parseName(f); is && (!ok || n.compare(newest) > 0) {
			newest, ok = n, true
		}
	}
	return newest, ok, nil
}

// Create implements raft.SnapshotStore.
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, members raft.Configuration, at uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if version != 1 {
		return nil, fmt.Errorf("snapshots of version %d are unknown", version)
	}
	next := name{term: term, index: index}
	if last, ok, err := s.newest(); err != nil {
		return nil, err
	} else if ok && last.term == term && last.index == index {
		next.number = last.number + 1
	}
	id := next.String()
	w := &sink{of: s, sum: crc64.New(crc64.MakeTable(crc64.ECMA)), dir: s.path(id + unfinished)}
	w.about = about{SnapshotMeta: raft.SnapshotMeta{
		Version: version, ID: id, Index: index, Term: term, Configuration: members, ConfigurationIndex: at,
	}}
	if _, err := disk.Leftover(s.fs, w.dir); err != nil {
		return nil, err
	}
	if err := s.fs.Mkdir(w.dir); err != nil {
		return nil, err
	}
	f, err := s.fs.Create(filepath.Join(w.dir, stateName))
	if err != nil {
		return nil, errors.Join(err, s.fs.Remove(w.dir))
	}
	w.file = f
	w.buffer = bufio.NewWriterSize(io.MultiWriter(io.NewOffsetWriter(f, 0), w.sum), 1<<20)
	return w, nil
}

// List implements raft.SnapshotStore. The newest is the only one that is used.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	newest, ok, err := s.newest()
	if err != nil || !ok {
		return nil, err
	}
	a, err := s.read(newest.String())
	if err != nil {
		return nil, err
	}
	return []*raft.SnapshotMeta{&a.SnapshotMeta}, nil
}

func (s *snapshots) read(id string) (a about, err error) {
	path := s.path(id, aboutName)
	content, err := disk.ReadFile(s.fs, path)
	if err != nil {
		return a, damaged(s.dir, path, "%v", err)
	}
	line, sum, _ := bytes.Cut(content, []byte("\n"))
	if len(sum) > 0 && string(sum) != checksumLine(line) {
		return a, damaged(s.dir, path, "its checksum does not fit")
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, damaged(s.dir, path, "%v", err)
	}
	if a.ID != id || len(a.CRC) != crc64.Size {
		return a, damaged(s.dir, path, "it describes snapshot %q", a.ID)
	}
	return a, nil
}

func checksumLine(line []byte) string {
	return fmt.Sprintf("crc32c %08x\n", crc32.Checksum(line, castagnoli))
}

// Open implements raft.SnapshotStore.
func (s *snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, r, err := s.open(id)
	if err != nil {
		s.broken.Store(&err)
	}
	return meta, r, err
}

func (s *snapshots) open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	a, err := s.read(id)
	if err != nil {
		return nil, nil, err
	}
	path := s.path(id, stateName)
	f, err := s.fs.Open(path)
	if err != nil {
		return nil, nil, damaged(s.dir, path, "%v", err)
	}
	content := func() io.Reader { return io.NewSectionReader(f, 0, a.Size) }
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	size, err := f.Size()
	if err == nil {
		_, err = io.Copy(sum, content())
	}
	if err == nil && (size != a.Size || !bytes.Equal(sum.Sum(nil), a.CRC)) {
		err = damaged(s.dir, path, "its checksum does not fit")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return &a.SnapshotMeta, struct {
		io.Reader
		io.Closer
	}{bufio.NewReaderSize(content(), 1<<20), f}, nil
}

// sink is a snapshot in the making.
type sink struct {
	of     *snapshots
	about  about
	dir    string
	file   disk.File
	buffer *bufio.Writer
	sum    hash.Hash64
	over   bool
}

// ID implements raft.SnapshotSink.
func (w *sink) ID() string { return w.about.ID }

// Write implements io.Writer.
func (w *sink) Write(b []byte) (int, error) {
	n, err := w.buffer.Write(b)
	w.about.Size += int64(n)
	return n, err
}

// Cancel implements raft.SnapshotSink.
func (w *sink) Cancel() error {
	if w.over {
		return nil
	}
	w.over = true
	return errors.Join(w.file.Close(), w.of.fs.Remove(w.dir))
}

// Close implements raft.SnapshotSink. The snapshot is durable when it returns, and
// older ones go only then.
func (w *sink) Close() error {
	if w.over {
		return nil
	}
	w.over = true
	if err := errors.Join(w.finish(), w.file.Close()); err != nil {
		return errors.Join(err, w.of.fs.Remove(w.dir))
	}
	final := strings.TrimSuffix(w.dir, unfinished)
	if err := w.of.fs.Rename(w.dir, final); err != nil {
		return err
	}
	if err := w.of.fs.SyncDir(w.of.path()); err != nil {
		return err
	}
	return w.of.reap(w.about.ID)
}

func (w *sink) finish() error {
	if err := w.buffer.Flush(); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	w.about.CRC = w.sum.Sum(nil)
	line, err := json.Marshal(w.about)
	if err != nil {
		return err
	}
	content := append(line, '\n')
	content = append(content, checksumLine(line)...)
	return disk.WriteFile(w.of.fs, filepath.Join(w.dir, aboutName), content) // and syncs the folder
}

// reap removes all snapshots but one.
func (s *snapshots) reap(but string) error {
	names, err := s.fs.List(s.path())
	if err != nil {
		return err
	}
	for _, n := range names {
		if n == but {
			continue
		}
		if err := s.fs.Remove(s.path(n)); err != nil {
			return err
		}
	}
	return nil
}
