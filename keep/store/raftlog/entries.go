package raftlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"drover/keep/store/raftlog/disk"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// entries is raft's log and stable store on disk. raft-wal checks a log only
// where a crash can have torn it; entries adds to each entry a checksum and the
// index up to which the log was durable before it, so that damage in the middle
// is found and not taken for the end.
//
// It reports the first write that fails: raft-wal never recovers from one.
type entries struct {
	*wal.WAL
	fs     disk.FS
	dir    string
	meta   *meta
	failed func(error)

	mu   sync.Mutex // guards the rest
	last uint64     // durable so far
}

const (
	markBytes  = 8
	checkBytes = markBytes + 8 + 4 + 4 // mark, durable index, their checksum, the entry's
)

// openEntries opens the log and reads all of it once.
func openEntries(cfg Config, logger hclog.Logger, failed func(error)) (_ *entries, err error) {
	e := &entries{fs: cfg.fs, dir: cfg.Dir, failed: failed}
	if e.meta, err = openMeta(cfg.fs, cfg.Dir, func() (state, error) { return firstState(cfg.fs, cfg.Dir) }); err != nil {
		return nil, err
	}
	if err := forgetDatabase(cfg.fs, cfg.Dir); err != nil {
		return nil, errors.Join(err, e.meta.Close())
	}
	files := newFiler(cfg.fs, cfg.Dir, e.meta)
	if err := files.reseal(cfg.segmentBytes); err != nil {
		return nil, errors.Join(err, e.meta.Close())
	}
	e.WAL, err = wal.Open(files.walDir(), wal.WithLogger(logger), wal.WithSegmentSize(cfg.segmentBytes),
		wal.WithMetaStore(e.meta), wal.WithSegmentFiler(files))
	if err != nil {
		return nil, errors.Join(err, files.close(), e.meta.Close())
	}
	if e.last, err = e.LastIndex(); err == nil {
		err = e.verify()
	}
	if err != nil {
		return nil, errors.Join(err, e.WAL.Close())
	}
	return e, nil
}

// StoreLog implements raft.LogStore.
func (e *entries) StoreLog(l *raft.Log) error { return e.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (e *entries) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	marked := make([]*raft.Log, len(logs))
	for i, l := range logs {
		with := *l
		with.Extensions = e.check(l, e.last)
		marked[i] = &with
	}
	err := e.WAL.StoreLogs(marked)
	if err == nil {
		e.last = logs[len(logs)-1].Index
		err = e.meta.appended(e.last)
	}
	if err != nil {
		e.failed(err)
	}
	return err
}

// DeleteRange implements raft.LogStore.
func (e *entries) DeleteRange(first, last uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first <= e.last && last >= e.last {
		oldest, err := e.FirstIndex()
		if err != nil {
			return err
		}
		if e.last = first - 1; first <= oldest {
			e.last = 0
		}
		e.meta.cut(e.last)
	}
	err := e.WAL.DeleteRange(first, last)
	if err != nil {
		e.failed(err)
	}
	return err
}

// GetLog implements raft.LogStore.
func (e *entries) GetLog(index uint64, l *raft.Log) error {
	if err := e.decode(index, l); err != nil {
		if errors.Is(err, wal.ErrNotFound) || errors.Is(err, wal.ErrClosed) {
			return err
		}
		return damaged(e.dir, e.meta.segmentOf(index), "entry %d: %v", index, err)
	}
	return nil
}

// decode reads an entry and takes the check off. raft-wal's decoder may panic on
// bytes that it did not write.
func (e *entries) decode(index uint64, l *raft.Log) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("nonsense: %v", p)
		}
	}()
	if err := e.WAL.GetLog(index, l); err != nil {
		return err
	}
	if l.Index != index {
		return fmt.Errorf("it has entry %d in its place", l.Index)
	}
	check := l.Extensions
	l.Extensions = nil
	if len(check) == 0 {
		return nil // of an earlier program
	}
	if len(check) != checkBytes {
		return errors.New("its checksum is cut")
	}
	durable := binary.BigEndian.Uint64(check[markBytes:])
	if !bytes.Equal(check, e.check(l, durable)) {
		return errors.New("its checksum does not fit")
	}
	return nil
}

// check is what goes with an entry.
func (e *entries) check(l *raft.Log, durable uint64) []byte {
	b := make([]byte, 0, checkBytes)
	b = append(b, e.meta.state.Mark...)
	b = binary.BigEndian.AppendUint64(b, durable)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	var head [17]byte
	binary.BigEndian.PutUint64(head[:], l.Index)
	binary.BigEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	sum := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, l.Data)
	return binary.BigEndian.AppendUint32(b, sum)
}

// Close ends the use of the log. That it ended well lets the next opening miss
// even the last entry.
func (e *entries) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.meta.settle(e.last), e.WAL.Close())
}
