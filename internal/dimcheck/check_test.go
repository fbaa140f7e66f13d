package dimcheck

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// traced are the packages whose code is traced with open axes. Optimizers know the shapes of weights.
var traced = []string{
	"./kernels/ir", "./keras/ops", "./keras/ops/objectives", "./layers", "./layers/activations", "./layers/constraints", "./losses", "./metrics",
}

func TestNoRawArithmetic(t *testing.T) {
	found, err := Packages("../..", traced...)
	require.NoError(t, err)
	for _, f := range found {
		t.Errorf("%s; use the functions of package kernels/ir/dim, or say why it is a constant: %s reason", f, directive)
	}
}

// Each line that ends in a want comment must be found, and no other.
func TestFindings(t *testing.T) {
	const source = `package sample

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

type window struct{ input []int }

func rules(x *ops.Tensor, s ir.Shape, strides []int) int {
	_ = s[0] + 1 // want
	_ = x.Dim(1)*2 - 1 // want want
	_ = s.Size() / 4 // want
	_ = strides[0] * 2
	_ = len(s) + 1
	out := make([]int, len(s))
	for i, d := range s {
		out[i] = dim.Add(d, 1)
		_ = d % 3 // want
	}
	out[0]++ // want
	out[0] *= 2 // want
	_ = make([]float64, out[0]) // want
	for range x.Dim(0) { // want
	}
	for i := 0; i < out[0]; i++ { // want want
	}
	_ = float64(x.Dim(0)) // want
	_ = max(x.Dim(0), 1) // want
	_ = slices.Max(s) // want
	_ = x.Dim(0) < 3 // want
	_ = dim.Known(x.Dim(0)) && x.Dim(0) < 3
	_ = x.Dim(0) == 3
	_ = x.Dim(0) / 2 //dim:known
	_ = x.Dim(0) / 3 // want
	//dim:known
	_ = x.Dim(0) / 4
	_ = len(s)
	return half(x.Dim(0)) + 1 // want
}

func half(n int) int { return n / 2 } // want

func hold(s ir.Shape) window { return window{input: s[1:]} }

func (w window) first() int { return w.input[0] - 1 } // want

//dim:known data
func data(s ir.Shape) int { return s[0] + 1 }
`
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "sample.go", source, parser.ParseComments)
	require.NoError(t, err)
	listed, err := list("../..", "./keras/ops")
	require.NoError(t, err)
	exports := map[string]string{}
	for _, p := range listed {
		exports[p.ImportPath] = p.Export
	}
	var from types.Importer = importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	found, err := Files(set, "sample", []*ast.File{f}, from)
	require.NoError(t, err)
	got := map[int]int{}
	for _, f := range found {
		got[f.Position.Line]++
	}
	for i, line := range strings.Split(source, "\n") {
		require.Equal(t, strings.Count(line, "want"), got[i+1], "line %d: %s", i+1, line)
	}
}
