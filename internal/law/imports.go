package law

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
)

// Edge allows the packages that From matches to import those that To matches.
type Edge struct {
	From, To string
	Why      string
	Tests    bool // only in tests; otherwise in code and tests
}

// Imports finds imports inside the module that no edge allows, and edges that
// give no reason.
func Imports(t *Tree, edges []Edge) []Breach {
	return t.imports(edges, false, func(imported string) (string, bool) {
		if imported == t.Module {
			return ".", true
		}
		return strings.CutPrefix(imported, t.Module+"/")
	})
}

// Libraries finds imports of other modules that no edge allows. To is the
// library's import path or a pattern for it.
func Libraries(t *Tree, edges []Edge) []Breach {
	return t.imports(edges, true, func(imported string) (string, bool) {
		first, _, _ := strings.Cut(imported, "/")
		return imported, strings.Contains(first, ".")
	})
}

// imports reports what no edge covers and, so that a table does not outlive its
// reasons, edges of libraries that nobody uses.
func (t *Tree) imports(edges []Edge, mustBeUsed bool, pick func(string) (string, bool)) []Breach {
	var out []Breach
	used := make([]bool, len(edges))
	for _, e := range edges {
		if strings.TrimSpace(e.Why) == "" {
			out = append(out, Breach{At: e.From + " → " + e.To, What: "the edge gives no reason"})
		}
	}
	for _, p := range t.Packages {
		for _, f := range p.Files {
			for _, spec := range f.Syntax.Imports {
				to, ok := pick(importPath(spec))
				if !ok || to == p.Dir {
					continue
				}
				if !allowed(edges, used, f.Test, p.Dir, to) {
					out = append(out, t.breach(spec.Pos(), "%s may not import %s", p.Dir, to))
				}
			}
		}
	}
	for i, e := range edges {
		if mustBeUsed && !used[i] {
			out = append(out, Breach{At: e.From + " → " + e.To, What: "nothing uses this edge any more"})
		}
	}
	return out
}

// allowed marks every edge that covers the import, not only the first, so that
// "unused" does not depend on the order of the table.
func allowed(edges []Edge, used []bool, test bool, from, to string) bool {
	found := false
	for i, e := range edges {
		if (test || !e.Tests) && Matches(e.From, from) && Matches(e.To, to) {
			used[i], found = true, true
		}
	}
	return found
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	return path.Clean(p)
}
