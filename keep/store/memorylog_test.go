package store_test

import (
	"testing"

	"drover/keep/store"
	"drover/keep/store/storetest"
)

type memory struct {
	c     *store.MemoryCluster
	names []string
	used  map[int]bool
}

func newMemory(_ *testing.T, servers int) storetest.Cluster {
	m := &memory{names: []string{"a", "b", "c"}[:servers], used: map[int]bool{}}
	m.c = store.NewMemoryCluster(m.names...)
	return m
}

func (m *memory) Name(i int) string         { return m.names[i] }
func (m *memory) Elect(_ *testing.T, i int) { m.c.Elect(m.names[i]) }
func (m *memory) Compact(t *testing.T, i int) {
	if err := m.c.Compact(m.names[i]); err != nil {
		t.Fatal(err)
	}
}

func (m *memory) Open(_ *testing.T, i int) store.Log {
	if m.used[i] {
		return m.c.Restart(m.names[i])
	}
	m.used[i] = true
	return m.c.Log(m.names[i])
}

func TestMemoryLogKeepsTheContract(t *testing.T) { storetest.Log(t, newMemory) }

func TestTheStoreKeepsItsPromisesOverTheMemoryLog(t *testing.T) { storetest.Store(t, newMemory) }
