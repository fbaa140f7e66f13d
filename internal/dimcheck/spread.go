package dimcheck

import (
	"go/ast"
	"go/types"
)

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
