package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	longestFunction = 70
	longestFile     = 500
)

// longFunctions may have 70 lines and more, because they are tables. Folders are left out, so that a file can move.
var longFunctions = map[string]string{
	"op.go init":                    "the table of ops",
	"traits.go init":                "the table of traits",
	"run.go init":                   "the table of computations",
	"instructions.go integers":      "the table of instructions",
	"check_programs.go aliases":     "a table of programs",
	"operation_shape.go init":       "a table of operations",
	"operation_signal.go init":      "a table of operations",
	"operation_elementwise.go init": "a table of operations",
	"operation_index.go init":       "a table of operations",
	"operation_more.go init":        "a table of operations",
	"cases.go cases":                "the table of shapes",
}

// longFiles may have more than 500 lines.
var longFiles = map[string]string{
	"distribute/collective/internal/membership/simulation_test.go": "one machine, its random schedules and what must hold",
	"distribute/internal/protocol/replica_test.go":                 "one machine, its random schedules and what must hold",
	"distribute/multiworker/chaos_test.go":                         "one run of processes under faults",
	"keras/bad_input_test.go":                                      "a table of mistakes",
	"keras/fit_options_test.go":                                    "a table of options",
	"kernels/reference/fill_random_test.go":                        "a generator of programs",
}

// Functions of 70 lines and more do several things, unless they are tables; files of more than 500 hold several
// concepts. Tests may be longer functions.
func TestSizes(t *testing.T) {
	names := files(t)
	functions, lengths := map[string]int{}, map[string]int{}
	for _, name := range names {
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "internal/asmgen/") { // text of assembly
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		if generated(string(text)) {
			continue
		}
		if n := strings.Count(string(text), "\n"); n > longestFile {
			lengths[name] = n
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				if n := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1; n >= longestFunction {
					functions[path.Base(name)+" "+f.Name.Name] = n
				}
			}
		}
	}
	compare(t, functions, longFunctions, "functions of 70 lines and more: split them, or list them in longFunctions if they are tables")
	compare(t, lengths, longFiles, "files of more than 500 lines: split them by concept")
}

func compare(t *testing.T, found map[string]int, allowed map[string]string, what string) {
	t.Helper()
	for name, n := range found {
		if allowed[name] == "" {
			t.Errorf("%s: %s has %d", what, name, n)
		}
	}
	for name := range allowed {
		if found[name] == 0 {
			t.Logf("%s is allowed to be long and is not; it can go from the list", name)
		}
	}
}
