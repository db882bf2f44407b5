package explain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../.."

// declared are the codes of noun/fault by their names.
func declared(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "noun/fault/codes.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out[v.Names[0].Name] = code
		}
		return true
	})
	return out
}

// uses are the names fault.CodeX, and the codes written out, in the program.
func uses(t *testing.T) (names, literals map[string]string) {
	t.Helper()
	names, literals = map[string]string{}, map[string]string{}
	name, literal := regexp.MustCompile(`fault\.(Code[A-Z]\w*)`), regexp.MustCompile(`"DRV-E\d+"`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go"):
			return nil
		case filepath.Base(path) == "codes.go", strings.Contains(path, "face/cli/explain/"):
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range name.FindAllSubmatch(data, -1) {
			names[string(m[1])] = path
		}
		for _, m := range literal.FindAll(data, -1) {
			literals[string(m)] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, literals
}

func TestEachCodeIsUsedAndHasOnePage(t *testing.T) {
	codes := declared(t)
	used, literals := uses(t)
	byCode := map[string]string{}
	for name, code := range codes { // order-free: each is checked by itself
		if other, twice := byCode[code]; twice {
			t.Errorf("%s and %s are the same code", name, other)
		}
		byCode[code] = name
		if used[name] == "" {
			t.Errorf("%s (%s) is used nowhere", name, code)
		}
		if p, ok := Find(code); !ok || p.Code != code {
			t.Errorf("%s (%s) has no page", name, code)
		}
	}
	for _, p := range All() {
		if byCode[p.Code] == "" {
			t.Errorf("the page of %s explains no code", p.Code)
		}
		if p.Title == "" || p.Meaning == "" || len(p.Todo) == 0 {
			t.Errorf("the page of %s is not complete", p.Code)
		}
	}
	for code, path := range literals { // order-free: each is checked by itself
		if path != "" && code != `"DRV-E0142"` { // the example in comments
			t.Errorf("%s writes the code %s out instead of naming it", path, code)
		}
	}
	if !slices.IsSortedFunc(All(), func(a, b Page) int { return strings.Compare(a.Code, b.Code) }) || len(All()) != len(codes) {
		t.Errorf("%d pages for %d codes, or not in their order", len(All()), len(codes))
	}
}

func TestPagesFitTheScreen(t *testing.T) {
	for _, p := range All() {
		for line := range strings.Lines(p.String()) {
			if len(line) > 80 {
				t.Errorf("%s: %d columns: %q", p.Code, len(line), line)
			}
		}
	}
}

func TestCodesAreFoundHoweverTheyAreWritten(t *testing.T) {
	for _, text := range []string{"DRV-E0050", "drv-e0050", "E0050", " e0050 "} {
		if p, ok := Find(text); !ok || p.Title != "a hook failed" {
			t.Errorf("%q is not found", text)
		}
	}
	for _, text := range []string{"", "DRV-E9999", "0050"} {
		if _, ok := Find(text); ok {
			t.Errorf("%q is found", text)
		}
	}
}
