package raftlog

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drover/keep/store"
	"drover/noun/fault"
)

// row is the row of the tests' only table.
type row struct {
	Key  string `cbor:"1,keyasint"`
	Data []byte `cbor:"2,keyasint,omitempty"`
}

func newTable(version uint8) (*store.Schema, *store.Table[row]) {
	schema := store.NewSchema()
	return schema, store.Add(schema, store.Def[row]{Name: "row", Version: version, Key: func(r *row) string { return r.Key }})
}

func alone(dir string) Config {
	return Config{
		Dir: dir, Name: "a", Address: "127.0.0.1:1", Logger: slog.New(slog.DiscardHandler),
		Servers: []Server{{"a", "127.0.0.1:1"}},
	}
}

func open(cfg Config, schema *store.Schema) (*store.Store, *Log, error) {
	l, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(store.Config{Schema: schema, Log: l, Now: time.Now})
	return s, l, err
}

// opened is a store alone on its folder, ready to write.
func opened(t testing.TB, cfg Config, schema *store.Schema) (*store.Store, *Log) {
	t.Helper()
	s, l, err := open(cfg, schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, l
}

func put(t testing.TB, s *store.Store, rows *store.Table[row], r row) {
	t.Helper()
	if _, err := s.Update(t.Context(), func(tx *store.Txn) error { rows.Put(tx, r); return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderInUseIsRefused(t *testing.T) {
	dir := t.TempDir()
	schema, _ := newTable(1)
	opened(t, alone(dir), schema)
	if _, _, err := open(alone(dir), schema); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("opened twice: %v", err)
	}
}

func TestAFolderOfANewerProgramIsRefusedAndLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	schema, rows := newTable(2)
	s, _ := opened(t, alone(dir), schema)
	put(t, s, rows, row{Key: "a"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "FORMAT")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	older, _ := newTable(1)
	if _, _, err := open(alone(dir), older); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "its table row") {
		t.Errorf("newer rows: %v", err)
	}
	newer := strings.Replace(string(good), `"format":2`, `"format":3`, 1)
	for _, note := range []string{newer, "{"} {
		if err := os.WriteFile(path, []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := open(alone(dir), schema); err == nil || note == newer && !fault.Is(err, fault.Conflict) {
			t.Errorf("note %s: %v", note, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != note {
			t.Errorf("the note became %s, %v", now, err)
		}
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	again, _ := opened(t, alone(dir), schema)
	if !rows.Has(again.View(), "a") {
		t.Error("the row is gone")
	}
}

func TestAServerMayMoveButNotChangeItsName(t *testing.T) {
	dir := t.TempDir()
	schema, rows := newTable(1)
	s, _ := opened(t, alone(dir), schema)
	put(t, s, rows, row{Key: "a"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	other := alone(dir)
	other.Name = "b"
	if _, _, err := open(other, schema); !fault.Is(err, fault.Conflict) {
		t.Errorf("the folder of another server: %v", err)
	}
	moved := alone(dir)
	moved.Address = "127.0.0.1:2"
	_, l := opened(t, moved, schema)
	for {
		members, err := l.Servers()
		if err != nil {
			t.Fatal(err)
		}
		if len(members) == 1 && members[0].Address == moved.Address {
			return
		}
		<-time.After(time.Millisecond)
	}
}

func TestASnapshotIsTakenWhenTheLogHasGrown(t *testing.T) {
	dir := t.TempDir()
	schema, rows := newTable(1)
	cfg := alone(dir)
	cfg.SnapshotBytes = 32 << 10
	s, l := opened(t, cfg, schema)
	taken := func() int64 { return l.fsm.last.Load() }
	data := make([]byte, 1<<10)
	writes := 0
	for ; taken() == 0; writes++ {
		put(t, s, rows, row{Key: "a", Data: data})
	}
	if writes < 32 {
		t.Errorf("a snapshot after %d KiB", writes)
	}
	for i := range 200 {
		put(t, s, rows, row{Key: string(rune('a' + i%26)), Data: data})
	}
	if since := l.fsm.since.Load(); since > 3*cfg.SnapshotBytes {
		t.Errorf("%d bytes count as not yet in a snapshot", since)
	}
	want := s.View().Revision()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := opened(t, cfg, schema)
	if got := again.View().Revision(); got != want || rows.Len(again.View()) != 26 {
		t.Errorf("revision %d with %d rows, want %d with 26", got, rows.Len(again.View()), want)
	}
	old := again.Changes(0)
	defer old.Close()
	if _, err := old.Next(); err == nil {
		t.Error("the log was replayed from its beginning: no snapshot was used")
	}
}

func TestAServerJoinsAndLeaves(t *testing.T) {
	c := newServers(t, 2).(*servers)
	all := c.members
	schema, rows := newTable(1)
	c.members = all[:1]
	a, err := store.Open(store.Config{Schema: schema, Log: c.Open(t, 0), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, a, rows, row{Key: "a"})
	cfg := c.logs[0].cfg
	cfg.Dir, cfg.Name, cfg.Address, cfg.Layer, cfg.Servers = t.TempDir(), all[1].Name, all[1].Address, c.layers[1], nil
	b, _, err := open(cfg, schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.logs[0].AddServer(all[1]); err != nil {
		t.Fatal(err)
	}
	f := b.Changes(0)
	defer f.Close()
	if set, err := f.Wait(t.Context()); err != nil || set.Changes[0].Key != "a" {
		t.Errorf("the new server gets %+v, %v", set, err)
	}
	if members, err := c.logs[0].Servers(); err != nil || len(members) != 2 {
		t.Errorf("members %v, %v", members, err)
	}
	if err := c.logs[0].RemoveServer(all[1].Name); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	put(t, a, rows, row{Key: "b"})
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
