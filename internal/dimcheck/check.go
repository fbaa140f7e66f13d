// Package dimcheck finds raw arithmetic on the lengths of axes in code that traces programs. Lengths may be expressions
// (see package kernels/ir/dim), which cannot be combined with + - * /, compared with <, used as the bound of a loop or
// as the length of a slice.
//
// It follows values through the assignments, calls, fields and results of a package, ignoring their order. A length
// comes from an element of an ir.Shape, from Shape.Size, Tensor.Dim, the batch sizes of a replica, and from package dim
// itself. If code has established that a length is a constant, a comment says so:
//
//	//dim:known the shapes of weights are constants
//
// on the line, alone on the line above, or in the comment of a function, which is then skipped entirely. A comparison
// may also ask dim.Known on its own line.
package dimcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

const module = "github.com/gokeras/gokeras/"

// Finding is one place.
type Finding struct {
	Position token.Position
	What     string
}

// String prints the place and what is done there.
func (f Finding) String() string { return fmt.Sprintf("%s: %s", f.Position, f.What) }

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
