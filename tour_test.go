package drover

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTour runs the tour of README.md word for word, as one session of a shell,
// with folders and a port of its own. In what is expected, … stands for
// anything; a line that is only … for any number of lines.
func TestTour(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts a cluster")
	}
	steps := tourOf(t, "README.md")
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "./cmd/drover", "./cmd/drover-hook", "./cmd/drover-shim")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := append(os.Environ(), "HOME="+home, "PATH="+bin+":"+os.Getenv("PATH"), "DROVER_LISTEN="+freeAddress(t),
		"DROVER_DATA="+filepath.Join(home, "data"), "DROVER_CONFIG="+filepath.Join(home, "config"), "NO_COLOR=1")
	down := exec.Command(filepath.Join(bin, "drover"), "down", "--purge", "--yes")
	down.Env = env
	t.Cleanup(func() { _ = down.Run() }) // the tour itself ends with it, if it gets so far

	const mark = "== end of step"
	var script strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&script, "%s\necho '%s'\n", s.command, mark)
	}
	shell := exec.CommandContext(t.Context(), "bash")
	shell.Env, shell.Stdin, shell.WaitDelay = env, strings.NewReader(script.String()), time.Second
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	if err := shell.Run(); err != nil {
		t.Logf("the shell ended with %v", err)
	}
	parts := strings.Split(out.String(), mark+"\n")
	for i, s := range steps {
		if i >= len(parts) {
			t.Fatalf("the tour ended before $ %s", s.command)
		}
		if !s.expect.MatchString(parts[i]) {
			t.Errorf("$ %s\nprints\n%s\nwhich is not\n%s", s.command, parts[i], s.text)
		}
	}
}

type tourStep struct {
	command string
	text    string // as it stands in the file
	expect  *regexp.Regexp
}

// tourOf reads the steps of the console block that follows the name of this
// file.
func tourOf(t *testing.T, name string) []tourStep {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "tour_test.go")
	_, rest, _ = strings.Cut(rest, "```console\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatalf("%s has no tour", name)
	}
	var steps []tourStep
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, tourStep{command: strings.TrimSpace(command)})
		} else {
			steps[len(steps)-1].text += line
		}
	}
	for i := range steps {
		steps[i].expect = expectation(steps[i].text)
	}
	return steps
}

func expectation(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(strings.TrimSpace(line), "…")
		for i := range parts {
			parts[i] = strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(parts[i])), " ", " +")
		}
		b.WriteString(` *` + strings.Join(parts, `.*`) + ` *\n`)
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

// freeAddress is a loopback address that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestExpectationsOfTheTourCanFail(t *testing.T) {
	for _, c := range []struct {
		text, out string
		want      bool
	}{
		{"a … c\n", "a b c\n", true},
		{"a … c\n", "a b d\n", false},
		{"…\nlast\n", "one\ntwo\nlast\n", true},
		{"…\nlast\n", "one\nlast\ntwo\n", false},
		{"a b\n", "a    b\n", true},
		{"", "", true},
		{"", "something\n", false},
	} {
		if got := expectation(c.text).MatchString(c.out); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.text, c.out, got, c.want)
		}
	}
}
