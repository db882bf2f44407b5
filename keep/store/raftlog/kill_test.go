package raftlog

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"drover/keep/store"

	"go.uber.org/goleak"
)

const killMe = "DROVER_TEST_WRITE_UNTIL_KILLED"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killMe); dir != "" {
		writeUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

// writeUntilKilled writes pairs of rows from several callers and prints the key
// of each pair once it is acknowledged. A second pair is written per transaction
// so that half of one would be seen.
func writeUntilKilled(dir string) {
	schema, rows := newTable(1)
	cfg := alone(dir)
	cfg.SnapshotBytes = 64 << 10
	s, _, err := open(cfg, schema)
	if err == nil {
		err = s.Ready(context.Background())
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	var out sync.Mutex
	var callers sync.WaitGroup
	for c := range 4 {
		callers.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d/%d/%d", os.Getpid(), c, i)
				_, err := s.Update(context.Background(), func(tx *store.Txn) error {
					rows.Put(tx, row{Key: key + "/left", Data: make([]byte, 100)})
					rows.Put(tx, row{Key: key + "/right"})
					return nil
				})
				if err != nil {
					key = "failed: " + err.Error()
				}
				out.Lock()
				fmt.Println(key)
				out.Unlock()
			}
		})
	}
	callers.Wait()
}

// Invariant: D1, D2.
func TestAcknowledgedWritesSurviveKill(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	for round := range 3 {
		runAndKill(t, dir, 300*(round+1), acknowledged)
		schema, rows := newTable(1)
		s, _ := opened(t, alone(dir), schema)
		v := s.View()
		for key := range acknowledged { // order-free: each by itself
			if !rows.Has(v, key+"/left") {
				t.Errorf("round %d: %s was acknowledged and is gone", round, key)
			}
		}
		for r := range rows.All(v) {
			key, side, _ := strings.Cut(r.Key, "/left")
			if side == "" && strings.HasSuffix(r.Key, "/left") && !rows.Has(v, key+"/right") {
				t.Errorf("round %d: %s is there by half", round, key)
			}
		}
		if rows.Len(v) < 2*len(acknowledged) {
			t.Errorf("round %d: %d rows for %d acknowledged pairs", round, rows.Len(v), len(acknowledged))
		}
		if err := v.Check(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// runAndKill lets a process write and kills it after so many acknowledgements.
func runAndKill(t *testing.T, dir string, after int, acknowledged map[string]bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killMe+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	lines := bufio.NewScanner(out)
	n := 0
	for ; lines.Scan(); n++ {
		key := lines.Text()
		if !strings.HasPrefix(key, pid+"/") {
			t.Fatalf("the process says %q", key)
		}
		acknowledged[key] = true
		if n == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || n < after {
		t.Fatalf("the process ended by itself after %d writes: %v", n, err)
	}
}
