// Package dimcheck finds raw arithmetic on the lengths of axes in code that traces programs. Lengths may be expressions (see package
// kernels/ir/dim), which + - * / do not combine and < does not order, which no loop counts to and no slice is as long as.
//
// It follows values through the assignments, calls, fields and results of a package, without regard to their order. A length comes
// from an element of an ir.Shape, from Shape.Size, Tensor.Dim, the batch sizes of a replica, and from package dim itself. Where code
// has made sure that a length is a constant, a comment says so:
//
//	//dim:known the shapes of weights are constants
//
// on the line, on the line above, or in the comment of a function, which then is left alone as a whole. A comparison may also ask
// dim.Known on its own line.
package dimcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "github.com/gokeras/gokeras/"

// Finding is one place.
type Finding struct {
	Position token.Position
	What     string
}

// String prints the place and what is done there.
func (f Finding) String() string { return fmt.Sprintf("%s: %s", f.Position, f.What) }

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// Packages checks the packages that the patterns match.
func Packages(dir string, patterns ...string) ([]Finding, error) {
	exports, err := list(dir, append([]string{"-deps"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	wanted, err := list(dir, patterns...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, p := range exports {
		files[p.ImportPath] = p.Export
	}
	set := token.NewFileSet()
	from := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	var all []Finding
	for _, p := range wanted {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			parsed = append(parsed, f)
		}
		found, err := Files(set, p.ImportPath, parsed, from)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func list(dir string, args ...string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-json=ImportPath,Dir,Export,GoFiles"}, args...)...)
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, problems.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); err {
		case nil:
			all = append(all, p)
		case io.EOF:
			return all, nil
		default:
			return nil, err
		}
	}
}

// Files checks the parsed files of one package.
func Files(set *token.FileSet, path string, files []*ast.File, from types.Importer) ([]Finding, error) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: from}).Check(path, set, files, info); err != nil {
		return nil, err
	}
	c := &checker{set: set, info: info, lengths: map[types.Object]bool{}, results: map[types.Object]map[int]bool{}}
	for c.changed = true; c.changed; {
		c.changed = false
		for _, f := range files {
			c.spread(f)
		}
	}
	for _, f := range files {
		c.report(f)
	}
	return c.found, nil
}

// checker knows which objects of a package hold lengths: ints, or lists with lengths among their elements.
type checker struct {
	set     *token.FileSet
	info    *types.Info
	lengths map[types.Object]bool
	results map[types.Object]map[int]bool // of functions
	changed bool
	found   []Finding
}

func (c *checker) mark(o types.Object) {
	if o != nil && !c.lengths[o] && holdsInts(o.Type()) {
		c.lengths[o], c.changed = true, true
	}
}

// holdsInts reports whether a type is int or a list of them.
func holdsInts(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.Int
	case *types.Slice:
		return holdsInts(u.Elem())
	}
	return false
}

func named(t types.Type, name string) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := t.(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path()+"."+n.Obj().Name() == module+name
}

// object returns what an expression names: a variable, a parameter, a field.
func (c *checker) object(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.Ident:
		if o := c.info.Defs[e]; o != nil {
			return o
		}
		return c.info.Uses[e]
	case *ast.SelectorExpr:
		return c.info.Uses[e.Sel]
	case *ast.ParenExpr:
		return c.object(e.X)
	case *ast.IndexExpr:
		return c.object(e.X)
	case *ast.SliceExpr:
		return c.object(e.X)
	case *ast.StarExpr:
		return c.object(e.X)
	}
	return nil
}

// called returns the function or method of a call.
func (c *checker) called(call *ast.CallExpr) types.Object {
	fun := call.Fun
	if i, ok := fun.(*ast.IndexExpr); ok {
		fun = i.X
	}
	switch f := fun.(type) {
	case *ast.Ident:
		return c.info.Uses[f]
	case *ast.SelectorExpr:
		return c.info.Uses[f.Sel]
	}
	return nil
}

// length reports whether an expression is a length, or a list of them.
func (c *checker) length(e ast.Expr) bool {
	t, ok := c.info.Types[e]
	if !ok || t.Value != nil || t.Type == nil || !holdsInts(t.Type) {
		return false
	}
	if named(t.Type, "kernels/ir.Shape") {
		return true
	}
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return c.lengths[c.object(e)]
	case *ast.ParenExpr:
		return c.length(e.X)
	case *ast.IndexExpr:
		return c.length(e.X)
	case *ast.SliceExpr:
		return c.length(e.X)
	case *ast.CompositeLit:
		for _, element := range e.Elts {
			if kv, ok := element.(*ast.KeyValueExpr); ok {
				element = kv.Value
			}
			if c.length(element) {
				return true
			}
		}
	case *ast.BinaryExpr:
		return c.length(e.X) || c.length(e.Y)
	case *ast.CallExpr:
		return c.lengthCall(e, 0)
	}
	return false
}

// lengthCall reports whether result i of a call is a length.
func (c *checker) lengthCall(call *ast.CallExpr, i int) bool {
	if tv := c.info.Types[call.Fun]; tv.IsType() {
		return len(call.Args) == 1 && c.length(call.Args[0])
	}
	f := c.called(call)
	if f == nil {
		return false
	}
	if f.Pkg() == nil { // a builtin
		switch f.Name() {
		case "append", "min", "max":
			return c.anyLength(call.Args)
		}
		return false
	}
	if f.Pkg().Path() == module+"kernels/ir/dim" {
		return i == 0
	}
	if f.Pkg().Path() == "slices" {
		switch f.Name() {
		case "Clone", "Concat", "Insert", "Repeat", "Delete", "Max", "Min":
			return c.anyLength(call.Args)
		}
		return false
	}
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		if sel := c.info.Selections[s]; sel != nil {
			recv := sel.Recv()
			switch {
			case named(recv, "kernels/ir.Shape"):
				return f.Name() == "Size" || f.Name() == "Strides"
			case named(recv, "keras/ops.Tensor"):
				return f.Name() == "Dim"
			case f.Name() == "LocalBatchSize" || f.Name() == "GlobalBatchSize":
				return true
			}
		}
	}
	return c.results[f][i]
}

func (c *checker) anyLength(es []ast.Expr) bool {
	for _, e := range es {
		if c.length(e) {
			return true
		}
	}
	return false
}

// spread marks what lengths are assigned to.
func (c *checker) spread(f *ast.File) {
	ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			c.assign(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			lhs := make([]ast.Expr, len(n.Names))
			for i, name := range n.Names {
				lhs[i] = name
			}
			c.assign(lhs, n.Values)
		case *ast.RangeStmt:
			if n.Value != nil && c.length(n.X) {
				c.mark(c.object(n.Value))
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok && c.length(n.Value) {
				if v, ok := c.info.Uses[id].(*types.Var); ok && v.IsField() {
					c.mark(v)
				}
			}
		case *ast.CallExpr:
			c.pass(n)
		case *ast.ReturnStmt:
			c.returns(n, stack)
		}
		return true
	})
}

func (c *checker) assign(lhs, rhs []ast.Expr) {
	for i, l := range lhs {
		switch {
		case len(lhs) == len(rhs):
			if c.length(rhs[i]) {
				c.mark(c.object(l))
			}
		case len(rhs) == 1:
			if call, ok := rhs[0].(*ast.CallExpr); ok && c.lengthCall(call, i) {
				c.mark(c.object(l))
			}
		}
	}
}

// pass marks the parameters of a function of this package that lengths are handed to.
func (c *checker) pass(call *ast.CallExpr) {
	f := c.called(call)
	if f == nil {
		return
	}
	signature, ok := f.Type().(*types.Signature)
	if !ok {
		return
	}
	params := signature.Params()
	for i, arg := range call.Args {
		if i >= params.Len() {
			i = params.Len() - 1
		}
		if i >= 0 && c.length(arg) {
			c.mark(params.At(i))
		}
	}
}

func (c *checker) returns(r *ast.ReturnStmt, stack []ast.Node) {
	for i := len(stack) - 1; i >= 0; i-- {
		switch fn := stack[i].(type) {
		case *ast.FuncLit:
			return
		case *ast.FuncDecl:
			o := c.info.Defs[fn.Name]
			for j, e := range r.Results {
				call, tuple := e.(*ast.CallExpr)
				if len(r.Results) == 1 && tuple {
					if t, ok := c.info.Types[e].Type.(*types.Tuple); ok {
						for k := range t.Len() {
							if c.lengthCall(call, k) {
								c.result(o, k)
							}
						}
						continue
					}
				}
				if c.length(e) {
					c.result(o, j)
				}
			}
			if signature := o.Type().(*types.Signature); len(r.Results) == 0 {
				for j := range signature.Results().Len() {
					if c.lengths[signature.Results().At(j)] {
						c.result(o, j)
					}
				}
			}
			return
		}
	}
}

func (c *checker) result(f types.Object, i int) {
	if c.results[f] == nil {
		c.results[f] = map[int]bool{}
	}
	if !c.results[f][i] {
		c.results[f][i], c.changed = true, true
	}
}

// directive marks code that works with constants only.
const directive = "//dim:known"

// report collects what must not be done with a length.
func (c *checker) report(f *ast.File) {
	allowed := map[int]bool{}
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, directive) {
				line := c.set.Position(comment.Pos()).Line
				allowed[line], allowed[line+1] = true, true
			}
		}
	}
	asked := map[int]bool{} // lines that ask whether a length is a constant
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if o := c.called(call); o != nil && o.Pkg() != nil && o.Pkg().Path() == module+"kernels/ir/dim" && strings.HasSuffix(o.Name(), "Known") {
				asked[c.set.Position(call.Pos()).Line] = true
			}
		}
		return true
	})
	add := func(n ast.Node, what string) {
		if p := c.set.Position(n.Pos()); !allowed[p.Line] {
			c.found = append(c.found, Finding{p, what})
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Doc != nil {
				for _, comment := range n.Doc.List {
					if strings.HasPrefix(comment.Text, directive) {
						return false
					}
				}
			}
		case *ast.BinaryExpr:
			if arithmetic(n.Op) && c.isInt(n) && (c.length(n.X) || c.length(n.Y)) {
				add(n, fmt.Sprintf("%v of a length", n.Op))
			}
			if ordered(n.Op) && c.isInt(n.X) && (c.length(n.X) || c.length(n.Y)) && !asked[c.set.Position(n.Pos()).Line] {
				add(n, fmt.Sprintf("%v of a length", n.Op))
			}
		case *ast.AssignStmt:
			if n.Tok != token.ASSIGN && n.Tok != token.DEFINE && (c.length(n.Lhs[0]) || c.length(n.Rhs[0])) {
				add(n, fmt.Sprintf("%v of a length", n.Tok))
			}
		case *ast.IncDecStmt:
			if c.length(n.X) {
				add(n, fmt.Sprintf("%v of a length", n.Tok))
			}
		case *ast.ForStmt:
			if b, ok := n.Cond.(*ast.BinaryExpr); ok && (c.isInt(b.X) && c.length(b.X) || c.isInt(b.Y) && c.length(b.Y)) {
				add(n, "a loop up to a length")
			}
		case *ast.RangeStmt:
			if c.isInt(n.X) && c.length(n.X) {
				add(n, "a loop up to a length")
			}
		case *ast.CallExpr:
			c.reportCall(n, add)
		}
		return true
	})
}

func (c *checker) reportCall(call *ast.CallExpr, add func(ast.Node, string)) {
	if tv := c.info.Types[call.Fun]; tv.IsType() {
		if b, ok := tv.Type.Underlying().(*types.Basic); ok && b.Info()&types.IsNumeric != 0 && b.Kind() != types.Int && c.length(call.Args[0]) {
			add(call, "a length turned into a number")
		}
		return
	}
	f := c.called(call)
	if f == nil || f.Pkg() != nil {
		if f != nil && f.Pkg().Path() == "slices" && (f.Name() == "Max" || f.Name() == "Min" || f.Name() == "Repeat" && c.isInt(call.Args[1]) && c.length(call.Args[1])) && c.anyLength(call.Args) {
			add(call, "slices."+f.Name()+" of a length")
		}
		return
	}
	switch f.Name() {
	case "min", "max":
		if c.isInt(call) && c.anyLength(call.Args) {
			add(call, f.Name()+" of a length")
		}
	case "make":
		if c.anyLength(call.Args[1:]) {
			add(call, "memory of a length")
		}
	}
}

func arithmetic(t token.Token) bool {
	switch t {
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM, token.SHL, token.SHR, token.AND, token.OR, token.XOR:
		return true
	}
	return false
}

func ordered(t token.Token) bool {
	return t == token.LSS || t == token.GTR || t == token.LEQ || t == token.GEQ
}

func (c *checker) isInt(e ast.Expr) bool {
	t := c.info.Types[e].Type
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.Int || b.Kind() == types.UntypedInt)
}
