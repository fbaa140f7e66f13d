package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked are calls whose results decide whether a test can run.
var asked = map[string]bool{"Getenv": true, "LookupEnv": true, "Short": true, "LookPath": true, "Available": true}

// A test that leaves without a word counts as passed though it saw nothing: it says what is missing, with Skip.
func TestNoTestLeavesSilently(t *testing.T) {
	for _, name := range files(t) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		for _, where := range silent(t, name, string(text)) {
			t.Errorf("%s returns silently where something is missing; call Skip, and say what", where)
		}
	}
}

func TestSilent(t *testing.T) {
	const head = "package a\nfunc TestX(t *testing.T) {\n"
	require.Len(t, silent(t, "a_test.go", head+"if os.Getenv(\"A\") == \"\" {\nreturn\n}\n}"), 1)
	require.Len(t, silent(t, "a_test.go", head+"path := os.Getenv(\"A\")\nif path == \"\" {\nreturn\n}\n}"), 1)
	require.Len(t, silent(t, "a_test.go", head+"t.Run(\"b\", func(t *testing.T) {\nif testing.Short() {\nreturn\n}\n})\n}"), 1)
	require.Empty(t, silent(t, "a_test.go", head+"if testing.Short() {\nt.Skip(\"long\")\n}\n}"))
	require.Empty(t, silent(t, "a_test.go", head+"if err := f(); err != nil {\nreturn\n}\n}"))
	require.Empty(t, silent(t, "a_test.go", "package a\nfunc TestMain(m *testing.M) {\nif os.Getenv(\"A\") != \"\" {\nreturn\n}\n}"))
}

// silent finds conditions in tests on what a machine has, or on variables set from that, under which the test only
// returns.
func silent(t *testing.T, name, text string) (places []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	require.NoError(t, err)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" || f.Body == nil {
			continue
		}
		answers := map[string]bool{} // variables
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, x := range n.Lhs {
					if id, ok := x.(*ast.Ident); ok {
						answers[id.Name] = asks(n.Rhs[0], nil)
					}
				}
			case *ast.IfStmt:
				if len(n.Body.List) != 1 || n.Else != nil {
					break
				}
				if _, leaves := n.Body.List[0].(*ast.ReturnStmt); leaves && (asks(n.Cond, answers) || n.Init != nil && asks(n.Init, nil)) {
					places = append(places, set.Position(n.Pos()).String())
				}
			}
			return true
		})
	}
	return places
}

// asks reports whether a part of a test calls one of what is asked, or names one of the answers.
func asks(n ast.Node, answers map[string]bool) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && asked[s.Sel.Name] {
				found = true
			}
		case *ast.Ident:
			found = found || answers[n.Name]
		}
		return !found
	})
	return found
}
