package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is one change of one file.
type mutant struct {
	file   string
	line   int
	source string // the line as it stood
	what   string // "0.99 becomes 0.98"
	text   []byte // of the changed file
	target target
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.what) }

// key is what a change is found by in the list of those that change nothing.
func (m mutant) key() [3]string {
	return [3]string{filepath.ToSlash(m.file), m.source, m.what}
}

// choose returns the curated changes and then random ones, n in all at most. Every target has its share.
func choose(root string, n int, seed uint64) ([]mutant, error) {
	var out []mutant
	byTarget := make([][]mutant, len(targets))
	for i, t := range targets {
		for _, pattern := range t.files {
			files, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				text, err := os.ReadFile(file)
				if err != nil {
					return nil, err
				}
				all, err := changes(file, text)
				if err != nil {
					return nil, err
				}
				for k := range all {
					all[k].target = t
				}
				byTarget[i] = append(byTarget[i], all...)
				out = append(out, known(file, text, t)...)
			}
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for i := 0; len(out) < n && slices.ContainsFunc(byTarget, func(all []mutant) bool { return len(all) > 0 }); i++ {
		all := &byTarget[i%len(byTarget)]
		if len(*all) == 0 {
			continue
		}
		k := r.IntN(len(*all))
		out = append(out, (*all)[k])
		*all = slices.Delete(*all, k, k+1)
	}
	return out[:min(n, len(out))], nil
}

// known returns the curated changes of a file.
func known(file string, text []byte, t target) (out []mutant) {
	for _, c := range curated {
		if at := bytes.Index(text, []byte(c[1])); filepath.ToSlash(file) == c[0] && at >= 0 {
			out = append(out, replaced(file, text, at, at+len(c[1]), c[2], t))
		}
	}
	return out
}

func replaced(file string, text []byte, from, until int, with string, t target) mutant {
	begin := bytes.LastIndexByte(text[:from], '\n') + 1
	line, _, _ := bytes.Cut(text[begin:], []byte("\n"))
	return mutant{file, 1 + bytes.Count(text[:from], []byte("\n")), string(bytes.TrimSpace(line)), fmt.Sprintf("%s becomes %s", text[from:until], with),
		slices.Concat(text[:from], []byte(with), text[until:]), t}
}

// opposites are operators and what they are mistaken for.
var opposites = map[token.Token]string{
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	token.LAND: "||", token.LOR: "&&", token.SHL: ">>", token.SHR: "<<", token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "/=",
}

// relatives are functions that are mistaken for one another.
var relatives = map[string]string{
	"Add": "Subtract", "Subtract": "Add", "Multiply": "Divide", "Divide": "Multiply", "Maximum": "Minimum", "Minimum": "Maximum", "Sum": "Mean", "Mean": "Sum", "max": "min", "min": "max",
	"Exp": "Expm1", "Log": "Log1p", "Sqrt": "Abs", "Square": "Abs", "Sin": "Cos", "Cos": "Sin", "Floor": "Ceil", "Ceil": "Floor", "MaximumScalar": "MinimumScalar", "MinimumScalar": "MaximumScalar",
}

// changes lists what can be broken in a file. What only words an error, or says how a type prints, is left alone.
func changes(file string, text []byte) ([]mutant, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, 0)
	if err != nil {
		return nil, err
	}
	var out []mutant
	change := func(from, until token.Pos, with string) {
		out = append(out, replaced(file, text, set.Position(from).Offset, set.Position(until).Offset, with, target{}))
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR || n.Tok == token.CONST
		case *ast.FuncDecl:
			return n.Name.Name != "String" && n.Name.Name != "init" && !strings.HasPrefix(n.Name.Name, "Error")
		case *ast.CallExpr:
			name := called(n)
			if strings.HasPrefix(name, "Fail") || strings.HasPrefix(name, "Error") || name == "panic" || strings.HasSuffix(name, "rintf") || name == "fail" || name == "make" {
				return false
			}
			if other, ok := relatives[name]; ok {
				end := n.Fun.End()
				change(end-token.Pos(len(name)), end, other)
			}
			if len(n.Args) == 2 && (name == "Subtract" || name == "Divide" || name == "Pow" || name == "Matmul") {
				a, b := source(set, text, n.Args[0]), source(set, text, n.Args[1])
				if a != b {
					change(n.Args[0].Pos(), n.Args[1].End(), b+", "+a)
				}
			}
		case *ast.BinaryExpr:
			if other, ok := opposites[n.Op]; ok && !isNil(n.X) && !isNil(n.Y) {
				change(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other)
			}
		case *ast.AssignStmt:
			if other, ok := opposites[n.Tok]; ok {
				change(n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), other)
			}
		case *ast.UnaryExpr:
			if n.Op == token.SUB {
				change(n.OpPos, n.OpPos+1, "")
			}
		case *ast.BasicLit:
			if other, ok := anotherNumber(n); ok {
				change(n.Pos(), n.End(), other)
			}
		}
		return true
	})
	return out, nil
}

func called(n *ast.CallExpr) string {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func source(set *token.FileSet, text []byte, n ast.Node) string {
	return string(text[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset])
}

func isNil(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "nil"
}

// anotherNumber changes a constant by about a percent, or a whole one by 1.
func anotherNumber(n *ast.BasicLit) (string, bool) {
	switch n.Kind {
	case token.INT:
		v, err := strconv.ParseInt(n.Value, 0, 64)
		return strconv.FormatInt(v+1, 10), err == nil
	case token.FLOAT:
		v, err := strconv.ParseFloat(n.Value, 64)
		if v == 0 {
			return "0.01", err == nil
		}
		return strconv.FormatFloat(v*1.01, 'g', -1, 64), err == nil
	}
	return "", false
}
