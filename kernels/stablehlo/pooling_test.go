package stablehlo_test

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// maximum is the gradient of a maximum over windows of two with the given padding.
func maximum(t *testing.T, low int, x ...float64) kernelstest.Case {
	attrs := ir.PoolAttrs{Window: []int{2}, Strides: []int{1}, PadLow: []int{low}, PadHigh: []int{0}}
	p := ir.New("maximum")
	in := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{1, len(x), 1}})
	windows := ir.Type{DType: ir.Float32, Shape: ir.Shape{1, len(x) + low - 1, 1}}
	y, dy := p.AddInput("y", windows), p.AddInput("dy", windows)
	dx, err := p.Add("pool", ir.MaxPoolGrad, attrs, in, y, dy)
	require.NoError(t, err)
	p.AddOutput("dx", dx[0])
	cells := reference.Value{Type: p.Type(in), F: x}
	largest, ones := make([]float64, windows.Shape.Size()), make([]float64, windows.Shape.Size())
	for i := range largest {
		largest[i], ones[i] = math.Inf(-1), math.Ldexp(1, i)
		for k := max(i-low, 0); k < i-low+2; k++ {
			largest[i] = math.Max(largest[i], x[k]) // NaN if one is
		}
	}
	return kernelstest.Case{Name: "max_pool_grad/NaN", Program: p, Inputs: []reference.Value{cells, {Type: windows, F: largest}, {Type: windows, F: ones}}, Units: 1}
}

// Of several maxima of a window the first takes the gradient, of NaN and numbers the first NaN: StableHLO's
// interpreter, which compares the elements in the order of its specification, agrees with the reference.
func TestFirstMaximum(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs jaxlib: set GOKERAS_PYTHON to a Python that has it")
	}
	nan, inf := math.NaN(), math.Inf(1)
	chosen := []kernelstest.Case{
		maximum(t, 0, 1, 1, 1, nan, 1, nan, nan, inf, inf, nan, -inf, -inf, 0, math.Copysign(0, -1), 0),
		maximum(t, 1, nan, nan, 3, 3, -inf, -inf),
		maximum(t, 1, -inf, 2, 2),
	}
	for _, c := range kernelstest.Cases() {
		if c.Op == ir.MaxPoolGrad && c.Program.Type(0).DType != ir.Float64 && interpretable(c) {
			chosen = append(chosen, c)
		}
	}
	compared, left := interpret(t, python, chosen)
	require.Empty(t, left)
	require.Equal(t, 3, compared["max_pool_grad/NaN"])
	require.Greater(t, len(compared), 30)
}

// Compilers for CPUs are given slices and pads, others one op; where windows are padded, only those for TPUs.
func TestGradientOfMaximum(t *testing.T) {
	for _, c := range []struct {
		platform string
		low      int
		one      bool
	}{{"", 1, true}, {"tpu", 0, true}, {"cuda", 0, true}, {"cuda", 1, false}, {"cpu", 0, false}} {
		m, err := stablehlo.Lower(maximum(t, c.low, 1, 2, 3).Program, stablehlo.Options{Platform: c.platform})
		require.NoError(t, err)
		if c.one {
			require.Contains(t, m.Text, "stablehlo.select_and_scatter", "%+v", c)
			require.NotContains(t, m.Text, "stablehlo.pad", "%+v", c)
		} else {
			require.Contains(t, m.Text, "stablehlo.pad", "%+v", c)
			require.NotContains(t, m.Text, "stablehlo.select_and_scatter", "%+v", c)
		}
	}
}
