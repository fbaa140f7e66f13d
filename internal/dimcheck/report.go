package dimcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// directive marks code that works with constants only.
const directive = "//dim:known"

// report collects what must not be done with a length.
func (c *checker) report(f *ast.File) {
	allowed, asked := c.allowedLines(f), c.askingLines(f)
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

// allowedLines are the lines of a file that a directive speaks of: its own, or the next one where it stands alone.
func (c *checker) allowedLines(f *ast.File) map[int]bool {
	code := map[int]bool{} // lines on which code begins or ends
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return n != nil
		}
		code[c.set.Position(n.Pos()).Line], code[c.set.Position(n.End()).Line] = true, true
		return true
	})
	allowed := map[int]bool{}
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, directive) {
				line := c.set.Position(comment.Pos()).Line
				if allowed[line] = true; !code[line] {
					allowed[line+1] = true
				}
			}
		}
	}
	return allowed
}

// askingLines are the lines that ask whether a length is a constant.
func (c *checker) askingLines(f *ast.File) map[int]bool {
	asked := map[int]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if o := c.called(call); o != nil && o.Pkg() != nil && o.Pkg().Path() == module+"kernels/ir/dim" && strings.HasSuffix(o.Name(), "Known") {
				asked[c.set.Position(call.Pos()).Line] = true
			}
		}
		return true
	})
	return asked
}
