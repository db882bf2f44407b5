package raftlog

import (
	"errors"
	"slices"
	"time"

	"drover/keep/store/raftlog/disk"

	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// reseal frees a log that a crash left between the sealing of its last segment
// and the note of it in META. raft-wal opens such a log and refuses to append to
// it for ever, also if the seal itself was torn. What is readable moves into a
// new segment, and META changes to that in one step.
func (f *filer) reseal(limit int) error {
	s, err := f.meta.Load("")
	if err != nil || len(s.Segments) == 0 {
		return err
	}
	old := s.Segments[len(s.Segments)-1]
	there, err := disk.Exists(f.fs, f.path(old))
	if err != nil || !there || !old.SealTime.IsZero() {
		return err
	}
	w, err := f.RecoverTail(old)
	if err != nil {
		return err
	}
	f.open = nil
	entries, err := f.sealedEntries(old, w)
	if err = errors.Join(err, w.Close()); err != nil || entries == nil {
		return err
	}
	moved := old
	moved.BaseIndex = old.MinIndex
	moved.ID, s.NextSegmentID = s.NextSegmentID, s.NextSegmentID+1
	last, indexStart, err := f.move(moved, entries)
	if err != nil {
		return err
	}
	if indexStart > 0 {
		moved.SealTime, moved.MaxIndex, moved.IndexStart = old.CreateTime.Add(time.Nanosecond), last, indexStart
	}
	s.Segments = append(slices.Clone(s.Segments[:len(s.Segments)-1]), moved)
	if indexStart > 0 {
		s.Segments = append(s.Segments, types.SegmentInfo{
			ID: s.NextSegmentID, BaseIndex: last + 1, MinIndex: last + 1, SizeLimit: uint32(limit),
			Codec: old.Codec, CreateTime: moved.SealTime,
		})
		s.NextSegmentID++
	}
	return f.meta.CommitState(s)
}

// sealedEntries are the entries of a segment that is sealed; nil for one that is
// not. A seal without entries cannot be.
func (f *filer) sealedEntries(info types.SegmentInfo, w types.SegmentWriter) ([]types.LogEntry, error) {
	if sealed, _, err := w.Sealed(); err != nil || !sealed {
		return nil, err
	}
	content, err := disk.ReadFile(f.fs, f.path(info))
	if err != nil {
		return nil, err
	}
	last := w.LastIndex()
	if durable := provenDurable(f.meta.state.Mark, content); durable > last && durable >= info.BaseIndex {
		return nil, damaged(f.dir, f.path(info), "it can be read up to entry %d and had %d", last, durable)
	}
	entries := []types.LogEntry{}
	for i := info.BaseIndex; i <= last; i++ {
		if i < info.MinIndex {
			continue
		}
		b, err := w.GetLog(i)
		if err != nil {
			return nil, damaged(f.dir, f.path(info), "entry %d: %v", i, err)
		}
		entries = append(entries, types.LogEntry{Index: i, Data: slices.Clone(b.Bs)})
		_ = b.Close()
	}
	return entries, nil
}

// move writes entries into a new segment, durably.
func (f *filer) move(to types.SegmentInfo, entries []types.LogEntry) (last, indexStart uint64, err error) {
	if _, err := disk.Leftover(f.fs, f.path(to)); err != nil {
		return 0, 0, err
	}
	w, err := segment.NewFiler(f.walDir(), disk.Segments(f.fs)).Create(to)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if len(entries) > 0 {
		if err := w.Append(entries); err != nil {
			return 0, 0, err
		}
	}
	_, indexStart, err = w.Sealed()
	return w.LastIndex(), indexStart, err
}
