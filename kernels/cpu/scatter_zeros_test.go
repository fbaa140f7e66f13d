package cpu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestScatterZeros: for zeros of different signs, a scatter of the maximum or minimum keeps the later one, whether rows
// have one element or many. NaN stays.
func TestScatterZeros(t *testing.T) {
	negative, none := math.Copysign(0, -1), math.NaN()
	same := func(x, y float64) bool { return x == y && math.Signbit(x) == math.Signbit(y) || x != x && y != y }
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Float16} {
		for _, kind := range []ir.Kind{ir.Max, ir.Min} {
			for _, n := range []int{1, 2, 7, 40} {
				for _, c := range []struct{ before, update, want float64 }{{0, negative, negative}, {negative, 0, 0}, {none, 0, none}, {0, none, none}, {none, 1, none}} {
					p, inputs := ir.New("zeros"), []reference.Value{}
					input := func(d ir.DType, value float64, shape ...int) ir.Value {
						values := make([]float64, ir.Shape(shape).Size())
						for i := range values {
							values[i] = value
						}
						v, err := reference.New(d, shape, values...)
						require.NoError(t, err)
						inputs = append(inputs, v)
						return p.AddInput("", v.Type)
					}
					y, err := p.Add("", ir.Scatter, ir.ScatterAttrs{Kind: kind}, input(d, c.before, 3, n), input(ir.Int32, 1, 1), input(d, c.update, 1, n))
					require.NoError(t, err)
					p.AddOutput("y", y[0])
					got, err := reference.FromBytes(inputs[0].Type, runWith(t, p, inputs, 1)[0])
					require.NoError(t, err)
					for i, v := range got.F {
						want := c.before
						if i/n == 1 {
							want = c.want
						}
						require.True(t, same(v, want), "%v of %v, rows of %d: %v and %v give %v", kind, d, n, c.before, c.update, v)
					}
				}
			}
		}
	}
}
