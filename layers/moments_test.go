package layers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestRunningMoments draws shapes, kept axes, types and batches, and compares with means and variances by their
// definition.
func TestRunningMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		shape := make(ir.Shape, 1+r.IntN(4))
		for i := range shape {
			shape[i] = []int{1, 2, 3, 5, 8, 40}[r.IntN(6)]
		}
		if r.IntN(10) == 0 {
			shape[len(shape)-1] = 2500 // longer than one run
		}
		var axes []int
		positions := 1
		for a := 1; a < len(shape); a++ {
			if r.IntN(2) == 0 {
				axes, positions = append(axes, a), positions*shape[a]
			}
		}
		m := runningMoments{axes, 0, make([]float64, positions), make([]float64, positions)}
		all := make([][]float64, positions)
		for range 1 + r.IntN(3) {
			shape[0] = 1 + r.IntN(6)
			values := make([]float64, shape.Size())
			for i := range values {
				values[i] = float64(float32(r.NormFloat64() + 100))
			}
			b, err := kernels.FromFloat64s([]ir.DType{ir.Float32, ir.Float64}[r.IntN(2)], slices.Clone(shape), values)
			require.NoError(t, err)
			for i, v := range values {
				at, rest, stride := 0, i, 1
				for a := len(shape) - 1; a >= 0; a-- {
					if slices.Contains(axes, a) {
						at, stride = at+rest%shape[a]*stride, stride*shape[a]
					}
					rest /= shape[a]
				}
				all[at] = append(all[at], v)
			}
			m.add(b)
		}
		for at, values := range all {
			mean, square := 0.0, 0.0
			for _, v := range values {
				mean += v / float64(len(values))
			}
			for _, v := range values {
				square += (v - mean) * (v - mean)
			}
			require.Equal(t, float64(len(values)), m.n, "%v %v", shape, axes)
			require.InDelta(t, mean, m.mean[at], 1e-10, "%v %v", shape, axes)
			require.InDelta(t, square, m.square[at], 1e-8*(1+square), "%v %v", shape, axes)
		}
	}
}

// TestSortedFloats compares the sort by bits with the standard library's, including infinities and both zeros.
func TestSortedFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	values := make([]float32, 20000)
	for i := range values {
		values[i] = math.Float32frombits(r.Uint32())
		if values[i] != values[i] || r.IntN(50) == 0 {
			values[i] = []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), 1}[r.IntN(5)]
		}
	}
	want := slices.Clone(values)
	slices.Sort(want)
	require.Equal(t, want, sortedFloats(values)) // zeros are equal
}
