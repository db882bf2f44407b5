package raftlog

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"slices"

	"drover/keep/store/raftlog/disk"

	"github.com/hashicorp/raft-wal/metadb"
)

// firstState is what META begins with: nothing, or what an earlier program kept
// in a database beside the segments. It refuses to begin anew beside a log.
func firstState(fsys disk.FS, dir string) (state, error) {
	s := state{Stable: map[string][]byte{}, Mark: make([]byte, markBytes)}
	if _, err := rand.Read(s.Mark); err != nil {
		return s, err
	}
	walDir := filepath.Join(dir, walName)
	names, err := fsys.List(walDir)
	if err != nil {
		return s, err
	}
	snapshots, err := fsys.List(filepath.Join(dir, snapshotsName))
	if err != nil {
		return s, err
	}
	switch {
	case slices.Contains(names, metadb.FileName):
		return s, s.fromDatabase(walDir)
	case slices.ContainsFunc(names, isSegment), slices.ContainsFunc(snapshots, isSnapshot):
		return s, damaged(dir, filepath.Join(dir, metaName), "it is missing")
	}
	return s, nil
}

func (s *state) fromDatabase(walDir string) (err error) {
	db := &metadb.BoltMetaDB{}
	if s.Log, err = db.Load(walDir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, key := range []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"} {
		value, err := db.GetStable([]byte(key))
		if err != nil {
			return err
		}
		if value != nil {
			s.Stable[key] = value
		}
	}
	return nil
}

// forgetDatabase removes the database of an earlier program once META has what
// was in it: nobody must read it again.
func forgetDatabase(fsys disk.FS, dir string) error {
	walDir := filepath.Join(dir, walName)
	removed, err := disk.Leftover(fsys, filepath.Join(walDir, metadb.FileName))
	if err != nil || !removed {
		return err
	}
	return fsys.SyncDir(walDir)
}
