package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTour runs the tour of README.md word for word, in one session of a shell
// in the repository's folder, as a user whose home folder is empty and with a
// port of its own. In what is expected, … stands for anything; a line that is
// only … for any number of lines. Addresses and process ids of 127.x.y.z and
// "pid N" differ from run to run: those of the README stand for those that are
// printed in their place, in commands too.
func TestTour(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts a cluster")
	}
	steps := tourOf(t, filepath.Join("..", "..", "README.md"))
	home := t.TempDir()
	t.Cleanup(func() { endAll(t, home) })
	sh := newSession(t, strangersEnv(t, home))
	learned := map[string]string{}
	for _, s := range steps {
		command, err := inThisRun(s.command, learned)
		if err != nil {
			t.Fatalf("$ %s\n%v", s.command, err)
		}
		if name, _, _ := strings.Cut(command, " "); !haveProgram(name) {
			t.Errorf("$ %s\nis not tried: there is no %s here", s.command, name)
			continue
		}
		out, code := sh.run(command)
		if code != 0 {
			t.Fatalf("$ %s\nended with %d and printed\n%s", command, code, out)
		}
		if !s.learn(out, learned) {
			t.Fatalf("$ %s\nprints\n%s\nwhich is not\n%s", command, out, s.text)
		}
	}
}

// haveProgram reports whether a program that is not a part of every system is
// here. The shell knows best for all others.
func haveProgram(name string) bool {
	if name != "curl" {
		return true
	}
	_, err := exec.LookPath(name)
	return err == nil
}

// strangersEnv is the environment of somebody who just got the repository: an
// empty home folder, and Go's caches so that nothing is built or fetched twice.
func strangersEnv(t *testing.T, home string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	goenv := map[string]string{}
	if err := json.Unmarshal(out, &goenv); err != nil {
		t.Fatal(err)
	}
	goenv["GOFLAGS"] = strings.TrimSpace(goenv["GOFLAGS"] + " -buildvcs=false")
	env := clusterEnv(t, home)
	for k, v := range goenv { // order-free: the names differ
		env = append(env, k+"="+v)
	}
	return env
}

type tourStep struct {
	command, text string
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
	var steps []tourStep
	// A tour may have text between its blocks; a heading ends it.
	rest, _, _ = strings.Cut(rest, "\n## ")
	for {
		var block string
		var ok bool
		if _, rest, ok = strings.Cut(rest, "```console\n"); !ok {
			break
		}
		block, rest, _ = strings.Cut(rest, "```")
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, tourStep{command: strings.TrimSpace(command)})
			} else {
				steps[len(steps)-1].text += line
			}
		}
	}
	if len(steps) == 0 {
		t.Fatalf("%s has no tour", name)
	}
	return steps
}

// varies are words that differ from run to run. Those in the first group are
// learned: what the README calls so is called otherwise in this run.
var varies = regexp.MustCompile(`(127\.\d+\.\d+\.\d+(?::\d+)?|pid \d+)|…|\d+(?:\.\d+)?(?:ms|s|m|h)\b|\d\d:\d\d:\d\d| +`)

// learn reports whether the output is as expected, and what it teaches about
// the names of this run.
func (s tourStep) learn(out string, learned map[string]string) bool {
	expect, names := s.expectation(learned)
	m := expect.FindStringSubmatch(out)
	if m == nil {
		return false
	}
	for i, name := range names {
		learned[name] = m[i+1]
	}
	return true
}

// expectation is the text as a pattern, with a group for each name that is to
// be learned.
func (s tourStep) expectation(learned map[string]string) (expect *regexp.Regexp, names []string) {
	var b strings.Builder
	b.WriteString(`\A`)
	for line := range strings.Lines(s.text) {
		if strings.TrimSpace(line) == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(` *`)
		line, end := strings.TrimSpace(line), 0
		for _, at := range varies.FindAllStringIndex(line, -1) {
			b.WriteString(regexp.QuoteMeta(line[end:at[0]]))
			word := line[at[0]:at[1]]
			end = at[1]
			switch {
			case word == "…":
				b.WriteString(`.*?`)
			case strings.TrimSpace(word) == "":
				b.WriteString(` +`)
			case !isName(word):
				b.WriteString(`[0-9.:]+(?:ms|s|m|h)?`)
			case learned[word] != "":
				b.WriteString(regexp.QuoteMeta(learned[word]))
			default:
				names = append(names, word)
				b.WriteString(`(` + sameKind(word) + `)`)
			}
		}
		b.WriteString(regexp.QuoteMeta(line[end:]) + ` *\n`)
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String()), names
}

func isName(word string) bool {
	return strings.HasPrefix(word, "127.") || strings.HasPrefix(word, "pid ")
}

// sameKind matches every name of the word's kind.
func sameKind(word string) string {
	kind, number := "127", strings.TrimPrefix(word, "127")
	if kind+number != word {
		kind = ""
	}
	return kind + regexp.MustCompile(`\d+`).ReplaceAllString(regexp.QuoteMeta(number), `\d+`)
}

// inThisRun is the README's command with the names of this run. A name that
// nothing was learned about is refused: it is somebody else's.
func inThisRun(command string, learned map[string]string) (string, error) {
	var err error
	name := regexp.MustCompile(`127\.\d+\.\d+\.\d+(?::\d+)?|\bkill -9 \d+`)
	return name.ReplaceAllStringFunc(command, func(word string) string {
		pid, kills := strings.CutPrefix(word, "kill -9 ")
		if kills {
			word = "pid " + pid
		}
		actual := learned[word]
		if actual == "" {
			err = fmt.Errorf("no output before it says %q", word)
		}
		if kills {
			return "kill -9 " + strings.TrimPrefix(actual, "pid ")
		}
		return actual
	}), err
}

// session is a shell that keeps its state between commands.
type session struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

const sessionLimit = 2 * time.Minute

func newSession(t *testing.T, env []string) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sessionLimit)
	t.Cleanup(cancel)
	shell := exec.CommandContext(ctx, "bash", "--norc")
	shell.Dir, shell.Env, shell.WaitDelay = filepath.Join("..", ".."), env, time.Second
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, to := io.Pipe()
	shell.Stdout, shell.Stderr = to, to
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		to.CloseWithError(fmt.Errorf("the shell is gone: %w", shell.Wait()))
	}()
	t.Cleanup(func() {
		_ = in.Close() // the shell ends by it
		_ = out.Close()
		<-ended
	})
	return &session{t: t, in: in, out: bufio.NewReader(out)}
}

// run runs a command and returns what it printed on both outputs, and its code.
func (s *session) run(command string) (out string, code int) {
	s.t.Helper()
	const mark = "== end of step "
	if _, err := fmt.Fprintf(s.in, "%s </dev/null\necho '%s'$?\n", command, mark); err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("$ %s\nprinted %s\nand then: %v", command, b.String(), err)
		}
		before, after, ok := strings.Cut(line, mark)
		b.WriteString(before)
		if !ok {
			continue
		}
		if _, err := fmt.Sscan(after, &code); err != nil {
			s.t.Fatal(err)
		}
		return b.String(), code
	}
}

func TestExpectationsOfTheTourCanFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, out string
		want      bool
	}{
		{"a … c\n", "a b c\n", true},
		{"a … c\n", "a b d\n", false},
		{"…\nlast\n", "one\ntwo\nlast\n", true},
		{"…\nlast\n", "one\nlast\ntwo\n", false},
		{"a b\n", "a    b\n", true},
		{"up in 2.1s\n", "up in 12.0s\n", true},
		{"up in 2.1s\n", "up in vain\n", false},
		{"at 127.1.2.3:80\n", "at 127.4.5.6:9\n", true},
		{"at 127.1.2.3:80\n", "at 10.4.5.6:9\n", false},
		{"127.1.2.3 127.9.9.9\n", "127.5.5.5 127.5.5.6\n", false}, // learned as 127.4.5.6
		{"", "", true},
		{"", "something\n", false},
	} {
		learned := map[string]string{"127.9.9.9": "127.4.5.6"}
		if got := (tourStep{text: c.text}).learn(c.out, learned); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.text, c.out, got, c.want)
		}
	}
}

func TestCommandsOfTheTourUseWhatWasLearned(t *testing.T) {
	t.Parallel()
	learned := map[string]string{}
	if !(tourStep{text: "at 127.1.2.3:80, pid 7\n"}).learn("at 127.8.8.8:81, pid 9\n", learned) {
		t.Fatal("nothing was learned")
	}
	for command, want := range map[string]string{ // order-free: each alone
		"curl http://127.1.2.3:80": "curl http://127.8.8.8:81",
		"kill -9 7":                "kill -9 9",
		"kill -9 8":                "",
		"curl 127.0.0.1":           "",
	} {
		got, err := inThisRun(command, learned)
		if (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%s becomes %q, %v; want %q", command, got, err, want)
		}
	}
}
