// Package rules compares the ledger of rules with the tests that name them.
//
// The ledger (docs/spec/rules.tsv) has one line for every rule of the seeds. A
// test claims a rule by its id: in the name of a case, or in a comment
// `Rule: D-042 D-043` on a line of its own; scripts under testdata claim with
// the same words behind a #. It never judges whether a claim is true: that is
// for the reader of the test.
//
// Invariant: a claim of an id that the ledger does not have is an error.
package rules

import (
	"bufio"
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Rule is one line of the ledger.
type Rule struct {
	ID, Seed, Heading, Text, Note string
}

// Family is what stands before the number: D for processes and tasks (D-LRP,
// D-EVAC and D-TASK for the rows of its tables), E for entities, H for hooks, W
// for the unit's workflow.
func (r Rule) Family() string { return r.ID[:strings.LastIndex(r.ID, "-")] }

// Claim is a test that names a rule.
type Claim struct {
	ID string
	At string // file:line
}

var id = regexp.MustCompile(`\b[DEHW]-(?:[A-Z]+-[0-9]{2}|[0-9]{3})\b`)

// Read parses the ledger: tab-separated lines under one line of titles. A line
// without an id, and an id that comes twice, are errors.
func Read(data []byte) ([]Rule, error) {
	var out []Rule
	seen := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		f := strings.Split(lines.Text(), "\t")
		if n == 1 || len(f) == 1 && f[0] == "" {
			continue
		}
		if len(f) < 4 || f[0] == "" || id.FindString(f[0]) != f[0] {
			return nil, fmt.Errorf("line %d of the ledger is not `id, seed, heading, rule, note`", n)
		}
		if seen[f[0]] {
			return nil, fmt.Errorf("line %d of the ledger: %s comes twice", n, f[0])
		}
		seen[f[0]] = true
		r := Rule{ID: f[0], Seed: f[1], Heading: f[2], Text: f[3]}
		if len(f) > 4 {
			r.Note = f[4]
		}
		out = append(out, r)
	}
	return out, lines.Err()
}

// Claims finds all claims in the tests and scripts below the root, in the order
// of paths and lines.
func Claims(fsys fs.FS) ([]Claim, error) {
	var out []Claim
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(p); p != "." && strings.HasPrefix(base, ".") || base == "bin" || base == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		inTestdata := strings.Contains(p, "testdata/")
		test := strings.HasSuffix(p, "_test.go") && !inTestdata
		script := inTestdata && slices.Contains([]string{".txt", ".txtar"}, path.Ext(p))
		if !test && !script {
			return nil
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		if script {
			out = append(out, scriptClaims(p, data)...)
		} else {
			out = append(out, testClaims(p, data)...)
		}
		return nil
	})
	return out, err
}

func scriptClaims(p string, data []byte) []Claim {
	var out []Claim
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(lines.Text(), "# "), "Rule:"); ok && strings.HasPrefix(lines.Text(), "#") {
			out = append(out, named(rest, p, n)...)
		}
	}
	return out
}

// testClaims reads string literals, where names of cases stand, and comments
// that begin with Rule.
func testClaims(p string, data []byte) []Claim {
	var out []Claim
	fset := token.NewFileSet()
	file := fset.AddFile(p, -1, len(data))
	var s scanner.Scanner
	s.Init(file, data, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return out
		case token.STRING:
			out = append(out, named(lit, p, file.Line(pos))...)
		case token.COMMENT:
			for i, line := range strings.Split(lit, "\n") {
				if rest, ok := strings.CutPrefix(strings.TrimLeft(line, "/* \t"), "Rule:"); ok {
					out = append(out, named(rest, p, file.Line(pos)+i)...)
				}
			}
		}
	}
}

func named(text, p string, line int) []Claim {
	var out []Claim
	for _, found := range id.FindAllString(text, -1) {
		out = append(out, Claim{ID: found, At: fmt.Sprintf("%s:%d", p, line)})
	}
	return out
}

// Unknown are the claims of ids that the ledger does not have.
func Unknown(ledger []Rule, claims []Claim) []Claim {
	known := map[string]bool{}
	for _, r := range ledger {
		known[r.ID] = true
	}
	var out []Claim
	for _, c := range claims {
		if !known[c.ID] {
			out = append(out, c)
		}
	}
	return out
}
