// Package law checks the laws of the house over the source text: who may import
// whom, what pure code may not do, what every package and file must have.
//
// It reads Go files with the standard parser and compiles nothing, so that all
// laws together take about a second. It never decides what the laws are: the
// tables are given by the caller, which is the test at the root.
//
// Files under testdata, in hidden folders, in folders of built programs and in
// nested modules are not looked at.
//
// Invariant: each law has a test with a planted breach that it finds.
package law

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Breach is one place that breaks a law.
type Breach struct {
	At   string // file:line, or the folder of a package
	What string
}

// String is the breach as one line of a test's output.
func (b Breach) String() string { return b.At + ": " + b.What }

// File is one parsed Go file.
type File struct {
	Path      string // slash-separated, relative to the root of the module
	Syntax    *ast.File
	Lines     int
	Test      bool
	Generated bool
}

// Package is a folder with Go files.
type Package struct {
	Dir   string // "." for the root
	Files []File // in the order of their names
}

// Tree is the source of one module. It is constant after Load.
type Tree struct {
	Module   string
	Packages []Package // in the order of their folders
	fset     *token.FileSet
	fsys     fs.FS
}

// Load parses all Go files of the module whose root is fsys.
func Load(fsys fs.FS, module string) (*Tree, error) {
	t := &Tree{Module: module, fset: token.NewFileSet(), fsys: fsys}
	byDir := map[string]*Package{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipped(fsys, p) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		f, err := t.parse(p)
		if err != nil {
			return err
		}
		dir := path.Dir(p)
		if byDir[dir] == nil {
			byDir[dir] = &Package{Dir: dir}
		}
		byDir[dir].Files = append(byDir[dir].Files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range byDir { // order-free: sorted below
		t.Packages = append(t.Packages, *p)
	}
	slices.SortFunc(t.Packages, func(a, b Package) int { return strings.Compare(a.Dir, b.Dir) })
	return t, nil
}

func skipped(fsys fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if base == "testdata" || base == "bin" || base == "dist" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

func (t *Tree) parse(p string) (File, error) {
	src, err := fs.ReadFile(t.fsys, p)
	if err != nil {
		return File{}, err
	}
	syntax, err := parser.ParseFile(t.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return File{}, err
	}
	return File{
		Path:      p,
		Syntax:    syntax,
		Lines:     strings.Count(string(src), "\n"),
		Test:      strings.HasSuffix(p, "_test.go"),
		Generated: ast.IsGenerated(syntax),
	}, nil
}

func (t *Tree) breach(pos token.Pos, format string, args ...any) Breach {
	at := t.fset.Position(pos)
	return Breach{At: fmt.Sprintf("%s:%d", at.Filename, at.Line), What: fmt.Sprintf(format, args...)}
}

// Matches reports whether a folder is meant by a pattern: "noun/work" means
// itself, "noun/..." means the folder and everything below it, "..." everything.
func Matches(pattern, dir string) bool {
	if pattern == "..." {
		return true
	}
	prefix, deep := strings.CutSuffix(pattern, "/...")
	return dir == prefix || deep && strings.HasPrefix(dir, prefix+"/")
}
