package raftlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"drover/keep/store/raftlog/disk"

	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

const walName = "wal"

func segmentName(info types.SegmentInfo) string { return segment.FileName(info) }

// filer is raft-wal's keeper of segment files, with errors that name the file and
// with a look at the length of one that was not sealed.
type filer struct {
	*segment.Filer
	fs   disk.FS
	dir  string
	meta *meta
	open []io.Closer // until the log is open and closes them itself
}

func newFiler(fsys disk.FS, dir string, m *meta) *filer {
	f := &filer{fs: fsys, dir: dir, meta: m}
	f.Filer = segment.NewFiler(f.walDir(), disk.Segments(fsys))
	return f
}

func (f *filer) walDir() string { return filepath.Join(f.dir, walName) }

func (f *filer) path(info types.SegmentInfo) string {
	return filepath.Join(f.walDir(), segmentName(info))
}

// Open implements types.SegmentFiler.
func (f *filer) Open(info types.SegmentInfo) (types.SegmentReader, error) {
	r, err := f.Filer.Open(info)
	if err != nil {
		return nil, f.explain(info, err)
	}
	f.open = append(f.open, r)
	return r, nil
}

// RecoverTail implements types.SegmentFiler. A tail that has entries has had its
// full length since; one that has none may have been left at any.
func (f *filer) RecoverTail(info types.SegmentInfo) (types.SegmentWriter, error) {
	used := f.meta.durable() >= info.BaseIndex
	there, err := disk.Exists(f.fs, f.path(info))
	if err != nil {
		return nil, err
	}
	if !there {
		if used {
			return nil, damaged(f.dir, f.path(info), "it is missing")
		}
		return nil, fs.ErrNotExist
	}
	if err := f.lengthen(info, used); err != nil {
		return nil, err
	}
	w, err := f.Filer.RecoverTail(info)
	if err != nil {
		return nil, f.explain(info, err)
	}
	f.open = append(f.open, w)
	return w, nil
}

func (f *filer) lengthen(info types.SegmentInfo, used bool) error {
	file, err := f.fs.Open(f.path(info))
	if err != nil {
		return err
	}
	size, err := file.Size()
	if err == nil && size < int64(info.SizeLimit) {
		if used {
			err = damaged(f.dir, f.path(info), "it is %d bytes long and was %d", size, info.SizeLimit)
		} else {
			err = file.Allocate(int64(info.SizeLimit))
		}
	}
	// A process may have been killed before it synced what is read here.
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = f.fs.SyncDir(f.walDir())
	}
	return errors.Join(err, file.Close())
}

func (f *filer) explain(info types.SegmentInfo, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return damaged(f.dir, f.path(info), "it is missing")
	case errors.Is(err, types.ErrCorrupt):
		return damaged(f.dir, f.path(info), "%v", err)
	}
	return fmt.Errorf("%s: %w", f.path(info), err)
}

// close is for a log that could not be opened.
func (f *filer) close() error {
	var errs []error
	for _, c := range f.open {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
