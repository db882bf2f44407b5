package process_test

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"drover/act/executor"
	"drover/act/executor/process"
	"drover/act/executor/runtimetest"
	"drover/act/executor/shim"
)

// The test binary is the shim as well.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shim" {
		os.Exit(shim.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func newRuntime(t testing.TB) *process.Runtime {
	t.Helper()
	r, err := process.New(process.Config{Shim: []string{self(t), "shim"}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

type subject struct{}

func (subject) New(t *testing.T) executor.Runtime { return newRuntime(t) }

func TestConformance(t *testing.T) {
	runtimetest.Run(t, func(*testing.T) runtimetest.Subject { return subject{} })
}
