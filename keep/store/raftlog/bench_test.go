package raftlog

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"drover/keep/store"
)

const rowBytes = 500

// share runs the work b.N times, spread over callers.
func share(b *testing.B, callers int, work func(caller, i int) error) {
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := c; i < b.N; i += callers {
				if err := work(c, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// The disk's own rate, to read the others by.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	data := make([]byte, rowBytes)
	share(b, 1, func(int, int) error {
		if _, err := f.Write(data); err != nil {
			return err
		}
		return f.Sync()
	})
}

// One row a transaction: the bare log is given an entry of the same size for each.
func BenchmarkSingleRow(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("log/callers=%d", callers), func(b *testing.B) {
			schema, _ := newTable(1)
			_, l := opened(b, alone(b.TempDir()), schema)
			data := make([]byte, rowBytes)
			share(b, callers, func(int, int) error {
				return l.node().Apply(data, 0).Error()
			})
		})
		b.Run(fmt.Sprintf("store/callers=%d", callers), func(b *testing.B) {
			schema, rows := newTable(1)
			s, _ := opened(b, alone(b.TempDir()), schema)
			data := make([]byte, rowBytes)
			share(b, callers, func(_, i int) error {
				_, err := s.Update(b.Context(), func(tx *store.Txn) error {
					rows.Put(tx, row{Key: fmt.Sprintf("%08d", i%100_000), Data: data})
					return nil
				})
				return err
			})
		})
	}
}

func BenchmarkThousandRows(b *testing.B) {
	for _, callers := range []int{1, 4} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			schema, rows := newTable(1)
			s, _ := opened(b, alone(b.TempDir()), schema)
			data := make([]byte, rowBytes)
			share(b, callers, func(_, i int) error {
				_, err := s.Update(b.Context(), func(tx *store.Txn) error {
					for j := range 1000 {
						rows.Put(tx, row{Key: fmt.Sprintf("%08d", (i*1000+j)%100_000), Data: data})
					}
					return nil
				})
				return err
			})
			b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// From nothing to a leader that writes, and from a folder with a log.
func BenchmarkStart(b *testing.B) {
	schema, rows := newTable(1)
	start := func(dir string) {
		s, _, err := open(alone(dir), schema)
		if err == nil {
			err = s.Ready(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		put(b, s, rows, row{Key: "a"})
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("empty", func(b *testing.B) {
		for b.Loop() {
			start(b.TempDir())
		}
	})
	b.Run("again", func(b *testing.B) {
		dir := b.TempDir()
		for b.Loop() {
			start(dir)
		}
	})
}
