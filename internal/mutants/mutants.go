// Package mutants plants known mistakes into the source, one at a time, and
// tells whether the tests notice.
//
// A mistake is a file of testdata/mutants: which source file, which text becomes
// which, which tests must fail, and why that matters. It is planted with an
// overlay of the go command; no file of the tree is ever changed.
//
// Invariants: the text of a mistake stands in its file exactly once, so a
// mistake cannot silently stop applying; a mistake that does not compile counts
// as an error, not as noticed.
package mutants

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Mistake is one planted mistake.
type Mistake struct {
	Name         string // the file's name without its ending
	File         string // the source file, relative to the root
	Tests        string // arguments of go test: packages, perhaps -run
	Why          string // the rule that the mistake breaks
	Was, Becomes string
}

// Load reads all mistakes of the folder, in the order of their names.
func Load(fsys fs.FS, dir string) ([]Mistake, error) {
	names, err := fs.Glob(fsys, dir+"/*.mutant")
	if err != nil {
		return nil, err
	}
	var out []Mistake
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		m, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m.Name = strings.TrimSuffix(filepath.Base(name), ".mutant")
		out = append(out, m)
	}
	return out, nil
}

func parse(data []byte) (Mistake, error) {
	var m Mistake
	var into *string
	head := map[string]*string{"file": &m.File, "tests": &m.Tests, "why": &m.Why}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "--- was":
			into = &m.Was
		case line == "--- becomes":
			into = &m.Becomes
		case into != nil:
			*into += line + "\n"
		default:
			key, value, _ := strings.Cut(line, ":")
			field, ok := head[key]
			if !ok {
				return m, fmt.Errorf("unknown line %q", line)
			}
			*field = strings.TrimSpace(value)
		}
	}
	if m.File == "" || m.Tests == "" || m.Why == "" || m.Was == "" || m.Was == m.Becomes {
		return m, errors.New("a mistake needs file, tests, why, and a text that changes")
	}
	return m, lines.Err()
}

// Apply is the source file with the mistake in it.
func (m Mistake) Apply(fsys fs.FS) ([]byte, error) {
	src, err := fs.ReadFile(fsys, m.File)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(src), m.Was); n != 1 {
		return nil, fmt.Errorf("%s: its text stands %d times in %s, want once", m.Name, n, m.File)
	}
	return []byte(strings.Replace(string(src), m.Was, m.Becomes, 1)), nil
}

// Noticed runs the mistake's tests over the tree at root with the mistake
// planted, and reports whether they fail.
func (m Mistake) Noticed(ctx context.Context, root string) (bool, error) {
	dir, err := os.MkdirTemp("", "drover-mutant-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return false, err
	}
	if out, err := goTest(ctx, root, overlay, "-run=^$ "+withoutRun(m.Tests)); err != nil {
		return false, fmt.Errorf("%s does not compile: %w\n%s", m.Name, err, out)
	}
	_, err = goTest(ctx, root, overlay, "-failfast "+m.Tests)
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return true, nil
	}
	return false, err
}

func (m Mistake) overlay(root, dir string) (string, error) {
	mutated, err := m.Apply(os.DirFS(root))
	if err != nil {
		return "", err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return "", err
	}
	planted := filepath.Join(dir, "planted.go")
	index, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, m.File): planted}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(os.WriteFile(planted, mutated, 0o600), os.WriteFile(overlay, index, 0o600))
}

func goTest(ctx context.Context, root, overlay, args string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-overlay=" + overlay, "-timeout=5m"}, strings.Fields(args)...)...)
	cmd.Dir = root
	return cmd.CombinedOutput()
}

func withoutRun(args string) string {
	var keep []string
	for _, a := range strings.Fields(args) {
		if !strings.HasPrefix(a, "-run") {
			keep = append(keep, a)
		}
	}
	return strings.Join(keep, " ")
}
