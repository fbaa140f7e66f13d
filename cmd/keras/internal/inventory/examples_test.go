package inventory_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documented are the packages whose layers, losses, metrics, optimizers, callbacks and so on each need an example.
var documented = []string{
	"layers", "layers/initializers", "layers/quantizers", "layers/regularizers", "layers/constraints", "losses", "metrics", "optimizers", "optimizers/schedules", "callbacks",
}

// configurable lists the exported types of a package that Keras has under some name: structs with fields for its
// configuration, and those that embed Base.
func configurable(files []*ast.File) (names []string) {
	for _, file := range files {
		for _, d := range file.Decls {
			types, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range types.Specs {
				t, ok := s.(*ast.TypeSpec)
				if !ok || !t.Name.IsExported() {
					continue
				}
				if fields, ok := t.Type.(*ast.StructType); ok && hasConfiguration(fields) {
					names = append(names, t.Name.Name)
				}
			}
		}
	}
	return names
}

func hasConfiguration(s *ast.StructType) bool {
	for _, f := range s.Fields.List {
		if f.Tag != nil && strings.Contains(f.Tag.Value, "keras:") {
			return true
		}
		if id, ok := f.Type.(*ast.Ident); ok && f.Names == nil && id.Name == "Base" {
			return true
		}
	}
	return false
}

// withExample lists the types that an example with checked output is about.
func withExample(tests []*ast.File) map[string]bool {
	names := map[string]bool{}
	for _, e := range doc.Examples(tests...) {
		name, _, _ := strings.Cut(e.Name, "_")
		if e.Output != "" || e.EmptyOutput {
			names[name] = true
		}
	}
	return names
}

// TestExamples: every layer, loss, metric, optimizer, callback and so on has an example whose output is checked.
func TestExamples(t *testing.T) {
	for _, pkg := range documented {
		var files, tests []*ast.File
		set := token.NewFileSet()
		entries, err := fs.ReadDir(os.DirFS(filepath.Join(root, pkg)), ".")
		require.NoError(t, err)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			f, err := parser.ParseFile(set, filepath.Join(root, pkg, e.Name()), nil, parser.ParseComments)
			require.NoError(t, err)
			if strings.HasSuffix(e.Name(), "_test.go") {
				tests = append(tests, f)
			} else {
				files = append(files, f)
			}
		}
		shown, all := withExample(tests), configurable(files)
		require.NotEmpty(t, all, pkg)
		for _, name := range all {
			assert.True(t, shown[name], "%s.%s has no Example%s with an Output", pkg, name, name)
		}
	}
}
