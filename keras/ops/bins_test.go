package ops_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestHistogramOfBorders counts elements on borders and right beside them, outside, infinite and NaN: the bins are
// those found by comparing with every border.
func TestHistogramOfBorders(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.BFloat16} {
		for _, r := range [][2]float64{{-1, 1}, {0, 1e-30}, {-7.3, 900.1}, {1e4, 1e4 + 3}, {1e6, 1e6 + 1}, {-3e38, 3e38}} {
			if d == ir.BFloat16 && r[1]-r[0] < r[1]/100 {
				continue // both ends are the same number
			}
			for _, bins := range []int{1, 20, 21, 64, 1000} {
				requireBins(t, d, bins, r[0], r[1])
			}
		}
	}
}

func requireBins(t *testing.T, d ir.DType, bins int, low, high float64) {
	name := fmt.Sprintf("%v: %d bins from %v to %v", d, bins, low, high)
	histogram := func(g *ops.Graph, x tensors) tensors {
		counts, borders := ops.Histogram(x[0], bins, low, high)
		return list(counts, borders)
	}
	borders := opstest.EvalOn(t, "cpu", histogram, opstest.Floats([]int{1}, low).As(d))[1].F
	x := []float64{math.Inf(-1), math.Inf(1), math.NaN(), low, high, 0, (low + high) / 2}
	for _, b := range borders {
		next, last := math.Nextafter(b, math.Inf(1)), math.Nextafter(b, math.Inf(-1))
		if d == ir.Float32 {
			next, last = float64(math.Nextafter32(float32(b), math.MaxFloat32)), float64(math.Nextafter32(float32(b), -math.MaxFloat32))
		}
		x = append(x, b, next, last)
	}
	x = slices.DeleteFunc(x, func(v float64) bool { return v != 0 && math.Abs(v) < d.LeastNormal() }) // kernels read them as zero
	values := opstest.Floats([]int{len(x)}, x...).As(d)
	want := make([]float64, bins)
	for _, v := range values.F {
		bin := -1
		for _, b := range borders {
			if v >= b {
				bin++
			}
		}
		if v == borders[bins] {
			bin = bins - 1
		}
		if 0 <= bin && bin < bins {
			want[bin]++
		}
	}
	require.Equal(t, want, opstest.EvalOn(t, "cpu", histogram, values)[0].F, name)
}
