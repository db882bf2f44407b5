package law

import (
	"bufio"
	"bytes"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// PackageComments finds packages without a package comment that begins in the
// usual way. Packages that are wholly generated are exempt.
func PackageComments(t *Tree) []Breach {
	var out []Breach
	for _, p := range t.Packages {
		name, own, good := "", false, false
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			own, name = true, f.Syntax.Name.Name
			want := "Package " + name + " "
			if name == "main" {
				want = "Command " + path.Base(p.Dir) + " "
			}
			good = good || f.Syntax.Doc != nil && strings.HasPrefix(f.Syntax.Doc.Text(), want)
		}
		if own && !good {
			out = append(out, Breach{At: p.Dir, What: "package " + name + " has no package comment (\"Package " + name + " …\", of a program \"Command " + path.Base(p.Dir) + " …\")"})
		}
	}
	return out
}

// FileSizes finds files that have grown beyond the number of lines. Tests and
// generated files are exempt.
func FileSizes(t *Tree, most int) []Breach {
	var out []Breach
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if !f.Test && !f.Generated && f.Lines > most {
				out = append(out, Breach{At: f.Path, What: strconv.Itoa(f.Lines) + " lines, at most " + strconv.Itoa(most) + ": which second concept moved in?"})
			}
		}
	}
	return out
}

// SleepingTests finds calls of time.Sleep in tests.
func SleepingTests(t *Tree) []Breach {
	var out []Breach
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if !f.Test {
				continue
			}
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
						out = append(out, t.breach(sel.Pos(), "a test sleeps: use testing/synctest, a fake clock, or wait for the thing itself"))
					}
				}
				return true
			})
		}
	}
	return out
}

// Words finds lines that match a pattern, in all text files that are shorter
// than 1 MiB, whatever their kind, except those in skipped folders and the
// paths exempted.
func Words(fsys fs.FS, pattern *regexp.Regexp, why string, exempt ...string) ([]Breach, error) {
	var out []Breach
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(p)
		if d.IsDir() {
			if base == ".git" || p == "bin" || p == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			return nil //nolint:nilerr // a file that went away meanwhile has no words
		}
		for _, e := range exempt {
			if Matches(e, p) {
				return nil
			}
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil || bytes.IndexByte(data, 0) >= 0 {
			return err
		}
		out = append(out, wordsIn(p, data, pattern, why)...)
		return nil
	})
	return out, err
}

func wordsIn(p string, data []byte, pattern *regexp.Regexp, why string) []Breach {
	var out []Breach
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<21)
	for n := 1; lines.Scan(); n++ {
		if m := pattern.Find(lines.Bytes()); m != nil {
			out = append(out, Breach{At: p + ":" + strconv.Itoa(n), What: strconv.Quote(string(m)) + ": " + why})
		}
	}
	return out
}
