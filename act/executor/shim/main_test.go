package shim

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The test binary is the shim as well.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "shim" {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// shimmed runs a spec to its end.
func shimmed(t *testing.T, s Spec) (dir string, e Exit) {
	t.Helper()
	dir = t.TempDir()
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, SpecFile), b, false); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(os.Args[0], "shim", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	e, err = DecodeExit([]byte(read(t, filepath.Join(dir, ExitFile))))
	if err != nil {
		t.Fatal(err)
	}
	return dir, e
}

var env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "WHO=world"}

func sh(text string) Spec {
	return Spec{Path: "sh", Args: []string{"-c", text}, Env: env, Dir: "/"}
}

func TestHowAProcessEndsIsRecorded(t *testing.T) {
	for _, c := range []struct {
		name   string
		spec   Spec
		code   int
		signal int
		err    string
		log    string
	}{
		{name: "exit code and output", spec: sh("echo hello $WHO; echo oops >&2; exit 3"), code: 3, log: "hello world\noops\n"},
		{name: "signal", spec: sh("kill -SEGV $$"), signal: 11},
		{name: "not in PATH", spec: Spec{Path: "no-such-program", Env: env, Dir: "/"}, err: "cannot start no-such-program: it is not in PATH"},
		{name: "no such file", spec: Spec{Path: "/no/such/program", Env: env, Dir: "/"}, err: "no such file or directory"},
		{name: "not executable", spec: Spec{Path: "/etc/passwd", Env: env, Dir: "/"}, err: "permission denied"},
		{name: "no such directory", spec: Spec{Path: "/bin/sh", Env: env, Dir: "/no/such/dir"}, err: "no such file or directory"},
		{name: "signals are as they should be", spec: sh(`grep SigIgn /proc/self/status | tr -d '\t'`), log: "SigIgn:0000000000000000\n"},
		{name: "limits", spec: func() Spec {
			s := sh("ulimit -n")
			s.Limits = []Limit{{Resource: syscall.RLIMIT_NOFILE, Soft: 123, Max: 123}}
			return s
		}(), log: "123\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, e := shimmed(t, c.spec)
			if e.Code != c.code || e.Signal != c.signal || !strings.Contains(e.Error, c.err) || (e.Error == "") != (c.err == "") || e.Ended == 0 {
				t.Errorf("got %+v", e)
			}
			if c.log != "" && read(t, filepath.Join(dir, LogFile)) != c.log {
				t.Errorf("log %q, want %q", read(t, filepath.Join(dir, LogFile)), c.log)
			}
			for _, name := range []string{SpecFile, TakenFile} {
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
					t.Errorf("%s is left: it may hold secrets", name)
				}
			}
		})
	}
}

func TestMuchOutputDoesNotHoldUpTheProcess(t *testing.T) {
	s := sh("head -c 3000000 /dev/zero; exit 4")
	s.LogMax = 1 << 20
	dir, e := shimmed(t, s)
	if e.Code != 4 || e.LogLost != 0 {
		t.Errorf("got %+v", e)
	}
	for _, name := range []string{LogFile, OldLogFile} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Size() > 1<<20 {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
}

func TestTheShimUsesLittleOfTheStandardLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "drover/cmd/drover-shim").Output()
	if err != nil {
		t.Skip("no go program to ask:", err)
	}
	for _, pkg := range strings.Fields(string(out)) {
		switch {
		case pkg == "fmt", pkg == "encoding/json", pkg == "net", strings.HasPrefix(pkg, "drover/") && pkg != "drover/cmd/drover-shim" && pkg != "drover/act/executor/shim",
			strings.Contains(pkg, ".") && !strings.HasPrefix(pkg, "vendor/"):
			t.Errorf("the shim carries %s beside every process", pkg)
		}
	}
}
