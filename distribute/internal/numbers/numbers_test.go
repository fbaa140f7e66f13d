package numbers_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestCombine compares every kind, type and length around the blocks with float64 arithmetic that is rounded once.
func TestCombine(t *testing.T) {
	expected := map[ir.Kind]func(a, b float64) float64{
		ir.Sum: func(a, b float64) float64 { return a + b }, ir.Mean: func(a, b float64) float64 { return a + b },
		ir.Prod: func(a, b float64) float64 { return a * b }, ir.Min: math.Min, ir.Max: math.Max,
	}
	types := []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64, ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Uint8, ir.Uint16, ir.Uint32, ir.Uint64}
	for _, d := range types {
		for kind, f := range expected {
			for _, n := range []int{0, 1, 7, 8, 19} {
				var a, b, want []byte
				for i := range n {
					x, y := float64(i%5+1), float64((i*3)%7+1)
					if d.IsFloat() {
						x, y = x/4, -y/8 // exact in all types, and so are their sums and products
					}
					a, b, want = ir.AppendElement(a, d, x), ir.AppendElement(b, d, y), ir.AppendElement(want, d, f(x, y))
				}
				numbers.Combine(kind, d, a, a, b)
				require.Equal(t, want, a, fmt.Sprint(d, kind, n))
			}
		}
	}
}

// TestSpecialValues combines every pair of NaN, infinities, zeros of both signs, the least denormal and largest
// numbers.
func TestSpecialValues(t *testing.T) {
	expected := map[ir.Kind]func(a, b float64) float64{
		ir.Sum: func(a, b float64) float64 { return a + b }, ir.Prod: func(a, b float64) float64 { return a * b },
		ir.Min: func(a, b float64) float64 { return min(a, b) }, ir.Max: func(a, b float64) float64 { return max(a, b) },
	}
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64} {
		tiny := d.LeastNormal() / math.Exp2(float64(d.Digits()-1))
		special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), tiny, -tiny, 1.5, d.Largest()}
		for kind, f := range expected {
			var a, b, want []byte
			for _, x := range special {
				for _, y := range special {
					a, b, want = ir.AppendElement(a, d, x), ir.AppendElement(b, d, y), ir.AppendElement(want, d, f(x, y))
				}
			}
			numbers.Combine(kind, d, a, a, b)
			for i := range len(special) * len(special) {
				got, want := ir.Element(a, d, i), ir.Element(want, d, i)
				what := fmt.Sprint(d, kind, special[i/len(special)], special[i%len(special)])
				require.Equal(t, math.IsNaN(want), math.IsNaN(got), what)
				if !math.IsNaN(want) { // the bits, for the sign of zero
					require.Equal(t, math.Float64bits(want), math.Float64bits(got), what)
				}
			}
		}
	}
}

// TestBools: the maximum of bools is whether any is true, their minimum whether all are.
func TestBools(t *testing.T) {
	for kind, want := range map[ir.Kind][]byte{ir.Max: {0, 1, 1, 1}, ir.Min: {0, 0, 0, 1}} {
		got := []byte{0, 0, 1, 1}
		numbers.Combine(kind, ir.Bool, got, got, []byte{0, 1, 0, 1})
		require.Equal(t, want, got, "%v", kind)
	}
}

// TestHalvesRoundAtEachStep: 256 + 1 + 1 in bfloat16 stays 256.
func TestHalvesRoundAtEachStep(t *testing.T) {
	sum, one := ir.AppendElement(nil, ir.BFloat16, 256), ir.AppendElement(nil, ir.BFloat16, 1)
	for range 2 {
		numbers.Combine(ir.Sum, ir.BFloat16, sum, sum, one)
	}
	require.Equal(t, 256.0, ir.Element(sum, ir.BFloat16, 0))
	require.Equal(t, 3.0, numbers.View[float64](numbers.Bytes([]float64{3}))[0])
}

func TestDivide(t *testing.T) {
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64} {
		x := ir.AppendElement(ir.AppendElement(nil, d, 3), d, -1)
		numbers.Divide(d, x, 4)
		require.Equal(t, []float64{0.75, -0.25}, []float64{ir.Element(x, d, 0), ir.Element(x, d, 1)}, "%v", d)
	}
}
