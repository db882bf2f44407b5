package raftlog

import (
	"errors"
	"io/fs"
	"syscall"

	"drover/noun/fault"
)

// damaged is the error about a file that does not hold what was written to it.
// Nothing is repaired by guessing: what is lost is for a person to decide.
func damaged(dir, file, because string, args ...any) error {
	return fault.New(fault.Internal, "the file %s is damaged", file).
		Why(because+"; restore the server's data from a backup, or move the folder away and let the server start anew", args...).
		Try("mv " + dir + " " + dir + ".damaged").Wrap(errDamaged)
}

var errDamaged = errors.New("damaged")

// unreadable is the error of opening the folder. What says more already stays as
// it is.
func unreadable(dir string, err error) error {
	var said *fault.Error
	switch {
	case errors.As(err, &said):
		return said
	case isFull(err):
		return fullDisk(dir, err)
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Internal, "the log in %s cannot be opened", dir).Why("%v", err).
			Try("ls -ld " + dir).Wrap(err)
	}
	return fault.New(fault.Internal, "the log in %s cannot be opened", dir).
		Why("%v; if the disk is sound, restore the server's data from a backup", err).
		Try("mv " + dir + " " + dir + ".damaged").Wrap(err)
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
