package ops_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
)

// TestInventory checks that everything in the inventory exists.
func TestInventory(t *testing.T) {
	there := exported(t)
	all := ops.Inventory()
	require.True(t, slices.IsSortedFunc(all, func(a, b ops.Entry) int { return strings.Compare(a.Name, b.Name) }))
	for i, e := range all {
		assert.True(t, i == 0 || all[i-1].Name != e.Name, "%s occurs twice", e.Name)
		assert.Contains(t, []int{1, 2, 3}, e.Tier, e.Name)
		if e.Function != "" {
			assert.Contains(t, there, e.Function, e.Name)
		}
		assert.True(t, e.Tier > 1 || e.Function != "" || e.Difference != "", "%s is of the first tier, missing, and nothing says why", e.Name)
	}
}

// exported lists functions and methods of the package, methods as Type.Name.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	out := map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		require.NoError(t, err)
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
				if !ok {
					continue
				}
				if id, ok := star.X.(*ast.Ident); ok {
					name = id.Name + "." + name
				}
			}
			out[name] = true
		}
	}
	return out
}

func ExampleInventory() {
	for _, e := range ops.Inventory() {
		if e.Name == "dot" {
			fmt.Println(e.Name, e.Tier, e.Function)
		}
	}
	// Output: dot 1 NumpyDot
}
