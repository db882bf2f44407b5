package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"
)

// programs is the folder with the real programs, built once for all tests.
var programs string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "drover-test")
	if err == nil {
		defer os.RemoveAll(dir)
		build := exec.Command("go", "build", "-buildvcs=false", "-o", dir+"/", ".", "../drover-hook", "../drover-shim")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot build the programs:", err)
		return 1
	}
	programs = dir
	return m.Run()
}

// TestScripts runs the real programs, each script with folders and a port of its
// own, all at the same time.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			vars := clusterEnv(t, env.WorkDir)
			env.Vars = append(env.Vars, vars...)
			env.Vars = append(env.Vars, "DROVER_DATA="+env.WorkDir+"/data", "DROVER_CONFIG="+env.WorkDir+"/conf")
			env.Defer(func() { endAll(t, env.WorkDir) })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"drover": drover, "exits": exits, "refused": refused, "until": until,
			"parses": parses, "capture": capture, "taken": taken, "stays": stays,
			"freeport": func(ts *testscript.TestScript, _ bool, args []string) { ts.Setenv(args[0], freeAddress(t)) },
		},
	})
}

// clusterEnv is an environment with an empty home folder and a port of its own.
func clusterEnv(t *testing.T, home string) []string {
	t.Helper()
	keep := []string{"TMPDIR", "LANG", "LC_ALL", "USER", "GOTMPDIR", "GOPROXY", "GOTOOLCHAIN", "CGO_ENABLED"}
	env := []string{"HOME=" + home, "PATH=" + programs + ":" + os.Getenv("PATH"), "DROVER_LISTEN=" + freeAddress(t), "NO_COLOR=1"}
	for _, k := range keep {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// endAll ends whatever a test left in a home folder: the clusters of the default
// data folder and of folders whose names begin with "data". No process may be
// left then.
func endAll(t *testing.T, home string) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(home, "data*"))
	if err != nil {
		t.Error(err)
	}
	for _, data := range append(folders, filepath.Join(home, ".local", "share", "drover")) {
		if b, _ := os.ReadFile(filepath.Join(data, "VERSION")); !bytes.Contains(b, []byte("\ncluster ")) {
			continue // never came up
		}
		down := exec.Command(filepath.Join(programs, "drover"), "down", "--yes", "--data", data)
		down.Env = []string{"HOME=" + home}
		if out, err := down.CombinedOutput(); err != nil && !bytes.Contains(out, []byte("newer version")) {
			t.Errorf("down of %s: %v\n%s", data, err, out)
		}
	}
	if left := leftovers(home); len(left) > 0 {
		t.Errorf("processes are left:\n%s", strings.Join(left, "\n"))
	}
}

// leftovers are the processes that know the home folder.
func leftovers(home string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*") // fails only for bad patterns
	for _, dir := range dirs {
		args, err1 := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, err2 := os.ReadFile(filepath.Join(dir, "environ"))
		if err1 == nil && err2 == nil && bytes.Contains(append(args, env...), []byte(home)) {
			found = append(found, filepath.Base(dir)+" "+string(bytes.ReplaceAll(args, []byte{0}, []byte{' '})))
		}
	}
	return found
}

var lastPort atomic.Int32

// freeAddress is a loopback address that nobody listens on. It is outside of the
// range from which the kernel gives ports to connections, so that none of those
// takes it before it is used.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, span = 10_000, 22_000
	lastPort.CompareAndSwap(0, int32(os.Getpid()*37%span))
	for range span {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+int(lastPort.Add(1))%span))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close() // it only shows that the port is free
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

// drover ARG…: runs the program; it must succeed, or fail after "!".
func drover(ts *testscript.TestScript, neg bool, args []string) {
	if err := ts.Exec("drover", args...); (err != nil) != neg {
		ts.Fatalf("drover %s: %v", strings.Join(args, " "), err)
	}
}

// exits N COMMAND…: the command must end with the exit code N.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s ended with %d, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// refused N drover …: the cluster must refuse the command with the exit code N,
// in words for people, and must not change. Something else may change it at the
// same moment, but not each time.
func refused(ts *testscript.TestScript, _ bool, args []string) {
	const attempts = 4
	changed := true
	for i := 0; changed && i < attempts; i++ {
		before := revision(ts)
		exits(ts, false, args)
		changed = revision(ts) != before
	}
	said := ts.ReadFile("stderr")
	switch {
	case changed:
		ts.Fatalf("it changed the cluster")
	case !strings.Contains(said, "Error: "):
		ts.Fatalf("it does not say what failed")
	case !strings.Contains(said, "\nNext: "):
		ts.Fatalf("it does not say what to do next")
	case goChain.MatchString(said):
		ts.Fatalf("it shows a chain of Go errors")
	case strings.Count(said, "\n") > 12:
		ts.Fatalf("it says too much")
	case ts.ReadFile("stdout") != "":
		ts.Fatalf("a refusal is talk, not data")
	}
}

// goChain are traces of errors that nobody has translated.
var goChain = regexp.MustCompile(`rpc error|connect error|unexpected EOF|\*errors\.|%!|open /[^ ]*: |yaml: unmarshal errors`)

func revision(ts *testscript.TestScript) uint64 {
	var st struct {
		Rev json.Number `json:"rev"`
	}
	dir, err := os.MkdirTemp(ts.Getenv("HOME"), "rev")
	ts.Check(err)
	defer os.RemoveAll(dir)
	cmd := exec.Command(filepath.Join(programs, "drover"), "status", "--format", "json")
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "DROVER_CONFIG=" + ts.Getenv("DROVER_CONFIG")}
	out, err := cmd.Output()
	ts.Check(err)
	ts.Check(json.Unmarshal(out, &st))
	n, err := strconv.ParseUint(st.Rev.String(), 10, 64)
	ts.Check(err)
	return n
}

const (
	untilLimit = 30 * time.Second
	untilEvery = 50 * time.Millisecond
)

// until REGEXP COMMAND…: runs the command until it prints what matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	tick := time.NewTicker(untilEvery)
	defer tick.Stop()
	for limit := time.Now().Add(untilLimit); ; <-tick.C {
		program, err := lookIn(ts.Getenv("PATH"), args[1])
		ts.Check(err)
		cmd := exec.Command(program, args[2:]...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH"),
			"DROVER_DATA=" + ts.Getenv("DROVER_DATA"), "DROVER_CONFIG=" + ts.Getenv("DROVER_CONFIG")}
		out, _ := cmd.CombinedOutput() // it may fail until what is waited for is there
		if want.Match(out) {
			fmt.Fprintf(ts.Stdout(), "%s", out)
			return
		}
		if time.Now().After(limit) {
			ts.Fatalf("after %v it still prints\n%s", untilLimit, out)
		}
	}
}

func lookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.Mode()&0o111 != 0 && !fi.IsDir() {
			return filepath.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("there is no program %s", name)
}

// parses json|lines|yaml|names [SCHEMA]: the last standard output must be of the
// format, and say that it is of the schema.
func parses(ts *testscript.TestScript, _ bool, args []string) {
	out := ts.ReadFile("stdout")
	doc := map[string]any{}
	var err error
	switch args[0] {
	case "json":
		err = json.Unmarshal([]byte(out), &doc)
	case "lines":
		dec := json.NewDecoder(strings.NewReader(out))
		for err == nil {
			err = dec.Decode(&doc)
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	case "yaml":
		err = yaml.Unmarshal([]byte(out), &doc)
	case "names":
		for line := range strings.Lines(out) {
			if strings.ContainsAny(strings.TrimSpace(line), " \t") {
				err = fmt.Errorf("%q is not one name", line)
			}
		}
		doc["names"] = out
	}
	switch {
	case err != nil:
		ts.Fatalf("it is not %s: %v", args[0], err)
	case len(doc) == 0 || strings.TrimSpace(out) == "":
		ts.Fatalf("it is empty")
	case len(args) > 1 && doc["schema"] != args[1]:
		ts.Fatalf("it is of the schema %v, want %s", doc["schema"], args[1])
	}
}

// capture NAME REGEXP: puts the first group of what the last standard output
// matches into the environment.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) < 2 {
		ts.Fatalf("nothing matches %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// taken NAME: puts an address into the environment on which somebody listens.
func taken(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

// stays FOLDER: remembers what is in a folder when it is called first, and
// checks that it is the same when it is called again.
func stays(ts *testscript.TestScript, _ bool, args []string) {
	sum := sha256.New()
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		fmt.Fprintln(sum, path)
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%d %s\n", len(data), data)
		return err
	}))
	name, now := "STAYS_"+filepath.Base(root), hex.EncodeToString(sum.Sum(nil))
	if before := ts.Getenv(name); before == "" {
		ts.Setenv(name, now)
	} else if before != now {
		ts.Fatalf("%s has changed", args[0])
	}
}
