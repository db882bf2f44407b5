package law

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// Pure says what pure code may not do.
type Pure struct {
	Packages []string          // patterns of the folders that must be pure
	Imports  map[string]string // forbidden import path, or pattern → why
	Names    map[string]string // forbidden exported name of a package ("time.Now") → why
}

// Purity finds what pure packages must not contain: forbidden imports and names,
// go statements, channels being used, and ranges over maps that do not say why
// order does not matter. Tests of pure packages are exempt.
//
// A range over a map, and a call of maps.Keys, Values or All, is accepted when a
// comment `// order-free: why` stands on its line or the one above, when the
// keys go straight into slices.Sorted…, or when the loop only collects into a
// slice that the same block sorts afterwards. Whether something is a map is
// asked of the type checker; where it cannot tell, the range is reported.
func Purity(t *Tree, law Pure) []Breach {
	c := &checker{tree: t, std: importer.ForCompiler(t.fset, "source", nil), done: map[string]*types.Package{}}
	var out []Breach
	for _, p := range t.Packages {
		if !slices.ContainsFunc(law.Packages, func(pattern string) bool { return Matches(pattern, p.Dir) }) {
			continue
		}
		info := c.check(p)
		for _, f := range p.Files {
			if !f.Test {
				out = append(out, t.impurities(f, info, law)...)
			}
		}
	}
	return out
}

func (t *Tree) impurities(f File, info *types.Info, law Pure) []Breach {
	var out []Breach
	for _, spec := range f.Syntax.Imports {
		for pattern, why := range law.Imports { // order-free: at most one breach each, sorted by the caller's eye
			if Matches(pattern, importPath(spec)) {
				out = append(out, t.breach(spec.Pos(), "pure code imports %s: %s", importPath(spec), why))
			}
		}
	}
	ordered := t.orderFree(f)
	ast.PreorderStack(f.Syntax, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, t.breach(n.Pos(), "pure code starts a goroutine"))
		case *ast.SelectStmt, *ast.SendStmt:
			out = append(out, t.breach(n.Pos(), "pure code uses a channel"))
		case *ast.SelectorExpr:
			if name := qualified(info, n); law.Names[name] != "" {
				out = append(out, t.breach(n.Pos(), "pure code uses %s: %s", name, law.Names[name]))
			} else if unorderedMaps[name] && !ordered(n.Pos()) && !sortedAtOnce(info, stack) {
				out = append(out, t.breach(n.Pos(), "%s is in no order: sort it, or say `// order-free: why`", name))
			}
		case *ast.RangeStmt:
			if why := unordered(info, n); why != "" && !ordered(n.Pos()) && !sortedAfter(info, n, stack) {
				out = append(out, t.breach(n.Pos(), "%s: sort, or say `// order-free: why`", why))
			}
		}
		return true
	})
	return out
}

var unorderedMaps = map[string]bool{"maps.Keys": true, "maps.Values": true, "maps.All": true}

// qualified is "time.Now" for a selector of an imported package, else "".
func qualified(info *types.Info, sel *ast.SelectorExpr) string {
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	pkg, ok := info.Uses[x].(*types.PkgName)
	if !ok {
		return ""
	}
	return pkg.Imported().Path() + "." + sel.Sel.Name
}

func unordered(info *types.Info, n *ast.RangeStmt) string {
	tv, ok := info.Types[n.X]
	if !ok || tv.Type == nil || tv.Type == types.Typ[types.Invalid] {
		return "range over something of unknown type"
	}
	if isMap(tv.Type) {
		return "range over a map"
	}
	return ""
}

// isMap also looks into type parameters, whose core may be a map.
func isMap(typ types.Type) bool {
	if p, ok := types.Unalias(typ).(*types.TypeParam); ok {
		u, ok := p.Constraint().Underlying().(*types.Interface)
		if !ok {
			return false
		}
		for e := range u.EmbeddedTypes() {
			if union, ok := e.(*types.Union); ok && union.Len() > 0 && isMap(union.Term(0).Type()) {
				return true
			}
		}
		return false
	}
	_, ok := typ.Underlying().(*types.Map)
	return ok
}

// orderFree tells whether a position's line, or the one above, carries the
// comment with a reason.
func (t *Tree) orderFree(f File) func(token.Pos) bool {
	lines := map[int]bool{}
	for _, group := range f.Syntax.Comments {
		for _, c := range group.List {
			if _, why, ok := strings.Cut(c.Text, "order-free:"); ok && strings.TrimSpace(why) != "" {
				lines[t.fset.Position(c.Pos()).Line] = true
			}
		}
	}
	return func(pos token.Pos) bool {
		line := t.fset.Position(pos).Line
		return lines[line] || lines[line-1]
	}
}

// sortedAtOnce: the selector stands in slices.Sorted…(maps.Keys(…)).
func sortedAtOnce(info *types.Info, stack []ast.Node) bool {
	if len(stack) < 2 {
		return false
	}
	outer, ok := stack[len(stack)-2].(*ast.CallExpr)
	if !ok {
		return false
	}
	fun, ok := outer.Fun.(*ast.SelectorExpr)
	return ok && strings.HasPrefix(qualified(info, fun), "slices.Sorted")
}

// sortedAfter: the body is only `s = append(s, …)`, and a later statement of the
// same block sorts s.
func sortedAfter(info *types.Info, n *ast.RangeStmt, stack []ast.Node) bool {
	if len(stack) == 0 || len(n.Body.List) != 1 {
		return false
	}
	assign, ok := n.Body.List[0].(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return false
	}
	into, ok := assign.Lhs[0].(*ast.Ident)
	call, isCall := assign.Rhs[0].(*ast.CallExpr)
	if !ok || !isCall {
		return false
	}
	if fun, ok := call.Fun.(*ast.Ident); !ok || fun.Name != "append" {
		return false
	}
	block, ok := stack[len(stack)-1].(*ast.BlockStmt)
	if !ok {
		return false
	}
	for _, s := range block.List {
		if s.Pos() > n.Pos() && sorts(info, s, into.Name) {
			return true
		}
	}
	return false
}

func sorts(info *types.Info, s ast.Stmt, name string) bool {
	expr, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := expr.X.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	arg, ok := call.Args[0].(*ast.Ident)
	q := qualified(info, fun)
	return ok && arg.Name == name && (strings.HasPrefix(q, "sort.") || strings.HasPrefix(q, "slices.Sort"))
}

// checker finds types: packages of the module from their parsed files, others
// from source without function bodies. Errors are passed over; what stays
// without a type is reported where it matters.
type checker struct {
	tree *Tree
	std  types.Importer
	done map[string]*types.Package
}

func (c *checker) check(p Package) *types.Info {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: c, Error: func(error) {}}
	var files []*ast.File
	for _, f := range p.Files {
		if !f.Test {
			files = append(files, f.Syntax)
		}
	}
	pkg, err := conf.Check(path.Join(c.tree.Module, p.Dir), c.tree.fset, files, info)
	if err == nil || pkg != nil {
		c.done[path.Join(c.tree.Module, p.Dir)] = pkg
	}
	return info
}

// Import implements types.Importer.
func (c *checker) Import(name string) (*types.Package, error) {
	if pkg, ok := c.done[name]; ok {
		return pkg, nil
	}
	dir, own := strings.CutPrefix(name, c.tree.Module+"/")
	if !own {
		pkg, err := c.std.Import(name)
		if err == nil {
			c.done[name] = pkg
		}
		return pkg, err
	}
	i := slices.IndexFunc(c.tree.Packages, func(p Package) bool { return p.Dir == dir })
	if i < 0 {
		return types.NewPackage(name, path.Base(name)), nil
	}
	c.check(c.tree.Packages[i])
	return c.done[name], nil
}
