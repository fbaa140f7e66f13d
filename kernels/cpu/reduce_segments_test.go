package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestReduceLongExamples reduces examples of many elements. The results are those of float64, and an example has the
// same bits in a batch of any size.
func TestReduceLongExamples(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 11))
	for range 30 {
		d := []ir.DType{ir.Float32, ir.Float64}[r.IntN(2)]
		kind := []ir.Kind{ir.Sum, ir.Prod, ir.Max}[r.IntN(3)]
		inner := []int{1, 1 + r.IntN(40), 500 + r.IntN(3000)}[r.IntN(3)]
		length := 1 + (50000+r.IntN(100000))/inner
		axes := [][]int{{1}, {1, 2}, {2}}[r.IntN(3)]
		examples := manyGroups + r.IntN(4)
		program := func(examples int) *ir.Program {
			g := graphBuilder{t, ir.New("examples")}
			x := g.p.AddInput("x", ir.Type{DType: d, Shape: ir.Shape{examples, length, inner}})
			g.p.AddOutput("y", g.one(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: axes}, x))
			return g.p
		}
		size := length * inner
		values := make([]float64, examples*size)
		for i := range values {
			values[i] = math.Exp(1e-3*r.NormFloat64()) * float64(1-2*r.IntN(2))
		}
		few := 1 + r.IntN(manyGroups-1)
		var got [2]reference.Value
		for i, n := range []int{examples, few} {
			x, err := reference.New(d, ir.Shape{n, length, inner}, values[:n*size]...)
			require.NoError(t, err)
			got[i] = runOnce(t, program(n), []reference.Value{x}, false)[0]
			if i == 1 {
				want, err := reference.Run(program(n), []reference.Value{x})
				require.NoError(t, err)
				require.NoError(t, kernelstest.Compare(got[1], want[0], 3000, true), "%v over %v of %d examples of %dx%d", kind, axes, n, length, inner)
			}
		}
		for i := range got[1].Type.Shape.Size() {
			require.Equal(t, math.Float64bits(got[1].At(i)), math.Float64bits(got[0].At(i)), "%v over %v of %dx%d, %d examples and %d, element %d", kind, axes, length, inner, few, examples, i)
		}
	}
}
