package raftlog

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// The folder of the first format: 150 writes of one row each, a snapshot after
// 100 of them.
func TestAFolderOfTheFirstFormatIsRead(t *testing.T) {
	dir := filepath.Join(unpack(t, "testdata/format-1.tgz"), "raft")
	schema, rows := newTable(1)
	for range 2 {
		s, _ := opened(t, alone(dir), schema)
		if n := rows.Len(s.View()); n != 130 {
			t.Errorf("%d rows, want 130", n)
		}
		for i := range 130 {
			want := []byte{byte(i)}
			if i >= 80 {
				want = []byte{byte(i - 80), 1}
			}
			if got, _ := rows.Get(s.View(), fmt.Sprintf("%03d", i)); string(got.Data) != string(want) {
				t.Errorf("row %d has %v, want %v", i, got.Data, want)
			}
		}
		put(t, s, rows, row{Key: "000", Data: []byte{0}})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "wal", "wal-meta.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old database is still there: %v", err)
	}
}

func unpack(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o700)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
