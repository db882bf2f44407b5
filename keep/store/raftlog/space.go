package raftlog

import (
	"drover/keep/store"
	"drover/noun/fault"
)

// room refuses an entry while the disk is nearly full, so that raft's own entries,
// votes and the way out still find space. The rest of the file system's users may
// take it all the same: see mend.
func (l *Log) room(size int) error {
	largest := max(l.largest.Load(), int64(size))
	l.largest.Store(largest)
	free, err := l.cfg.fs.Free(l.cfg.Dir)
	// A disk that cannot tell is asked by writing.
	if least := max(l.cfg.Reserve, 2*uint64(largest)); err == nil && free < least {
		return fault.New(fault.ResourceExhausted, "the change was not made").
			Why("the disk of %s is nearly full: %d MiB are free and %d MiB are kept in reserve; reading goes on, and so does writing once there is room", l.cfg.Dir, free>>20, least>>20).
			Try("df -h " + l.cfg.Dir).Wrap(store.ErrNotApplied)
	}
	return nil
}

// fullDisk is the error of a disk on which nothing more could be written.
func fullDisk(dir string, err error) error {
	return fault.New(fault.ResourceExhausted, "the disk of %s is full", dir).
		Why("%v", err).Try("df -h " + dir).Wrap(err)
}

// failedDisk is the answer to a write while the log cannot be used.
func failedDisk(dir string, err error) error {
	if isFull(err) {
		return fault.New(fault.ResourceExhausted, "the change was not made").
			Why("the disk of %s is full; reading goes on, and so does writing once there is room", dir).
			Try("df -h " + dir).Wrap(store.ErrNotApplied)
	}
	return fault.New(fault.Unavailable, "the change was not made").
		Why("the disk of %s failed: %v; it is tried again", dir, err).Try("dmesg").Wrap(store.ErrNotApplied)
}
