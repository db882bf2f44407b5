package raftlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"drover/keep/store/raftlog/disk"

	"github.com/hashicorp/raft"
)

// verify reads every entry, and looks behind the end of the log for entries that
// prove it was longer: raft-wal ends a log at the first frame it cannot read,
// which is right for what a crash tore and wrong for what was durable.
func (e *entries) verify() error {
	if durable := e.meta.durable(); e.last < durable {
		return damaged(e.dir, e.meta.segmentOf(durable), "the log ends at entry %d and had %d", e.last, durable)
	}
	first, err := e.FirstIndex()
	if err != nil {
		return err
	}
	for i := first; i > 0 && i <= e.last; i++ {
		var l raft.Log
		if err := e.GetLog(i, &l); err != nil {
			return e.unreadable(i, err)
		}
	}
	tail := e.meta.segmentOf(e.last + 1)
	content, err := disk.ReadFile(e.fs, tail)
	if err != nil {
		return err
	}
	if durable := provenDurable(e.meta.state.Mark, content); durable > e.last {
		return damaged(e.dir, tail, "the log can be read up to entry %d and had %d", e.last, durable)
	}
	return nil
}

func (e *entries) unreadable(index uint64, err error) error {
	if errors.Is(err, errDamaged) {
		return err
	}
	return damaged(e.dir, e.meta.segmentOf(index), "entry %d: %v", index, err)
}

// provenDurable is the highest index of which some check in the segment says that
// the log was durable up to it.
func provenDurable(mark, segment []byte) uint64 {
	highest := uint64(0)
	for {
		at := bytes.Index(segment, mark)
		if at < 0 || len(segment)-at < checkBytes {
			return highest
		}
		check := segment[at : at+markBytes+12]
		if crc32.Checksum(check[:markBytes+8], castagnoli) == binary.BigEndian.Uint32(check[markBytes+8:]) {
			highest = max(highest, binary.BigEndian.Uint64(check[markBytes:]))
		}
		segment = segment[at+markBytes:]
	}
}
