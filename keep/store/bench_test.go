package store

import (
	"fmt"
	"sync"
	"testing"
)

func BenchmarkViewScan(b *testing.B) {
	z := newZoo()
	s := OpenMemory(z.schema)
	const rows = 100_000
	for i := 0; i < rows; i += 1000 {
		pets := make([]pet, 1000)
		for j := range pets {
			pets[j] = pet{Name: fmt.Sprintf("%08d", i+j), Owner: fmt.Sprint("owner", j%100)}
		}
		z.put(b, s, pets...)
	}
	v := s.View()
	b.ResetTimer()
	for b.Loop() {
		n := 0
		for range z.pets.All(v) {
			n++
		}
		if n != rows {
			b.Fatal(n)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkUpdateInMemory(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			z := newZoo()
			s := OpenMemory(z.schema)
			var wg sync.WaitGroup
			for c := range callers {
				wg.Go(func() {
					for i := c; i < b.N; i += callers {
						z.put(b, s, pet{Name: fmt.Sprintf("%08d", i%100_000), Owner: fmt.Sprint("owner", i%100), Age: i})
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	z := newZoo()
	s, c := memoryStore(b, z)
	const entries = 20_000
	for i := range entries {
		z.put(b, s, pet{Name: fmt.Sprintf("%08d", i), Owner: fmt.Sprint("owner", i%100)})
	}
	for b.Loop() {
		reopen(b, z, c.Restart("a"))
	}
	b.ReportMetric(entries*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}
