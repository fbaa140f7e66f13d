package vec_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestMix covers sums of several rows at arbitrary positions, in parts, of short rows and of rows longer than a call,
// with infinities and NaN. Nothing else is written.
func TestMix(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 44))
	for _, path := range isa.Paths() {
		defer isa.Override(path)()
		for _, taps := range []int{1, 2, 3, 4, 6, 11} {
			for _, c := range []int{7, 8, 9, 15, 16, 17, 24, 31, 48, 57, 160, 4096, 1<<15 - 3, 1 << 15} {
				rows, length := 1+r.IntN(9), 1+r.IntN(90)
				if c >= 4096 {
					length = 3
				}
				cells, weights := make([]int, length*taps), make([]float32, length*taps)
				for i := range cells {
					cells[i], weights[i] = r.IntN(rows), float32(r.NormFloat64())
				}
				m := vec.NewMix(cells, weights, taps, c, rows)
				if path == isa.Portable || c < 8 || taps < 2 {
					require.False(t, m.Works(), "%v: %d rows of %d", path, taps, c)
					continue
				}
				require.True(t, m.Works(), "%v: %d rows of %d", path, taps, c)
				x, dst := make([]float32, rows*c), make([]float32, length*c)
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				x[0], x[len(x)-1] = float32(math.Inf(1)), float32(math.NaN())
				lo := r.IntN(length)
				hi := lo + r.IntN(length-lo+1)
				for i := range dst {
					dst[i] = 77
				}
				m.Run(dst[lo*c:], x, lo, hi)
				for i, v := range dst {
					row, k := i/c, i%c
					if row < lo || row >= hi {
						require.Equal(t, float32(77), v)
						continue
					}
					want := 0.0
					for j := range taps {
						want += float64(weights[row*taps+j]) * float64(x[cells[row*taps+j]*c+k])
					}
					if math.IsNaN(want) || math.IsInf(want, 0) {
						require.Equal(t, math.IsNaN(want), v != v)
						continue
					}
					require.InDelta(t, want, v, 5e-6*(1+math.Abs(want)), "%v: %d rows of %d", path, taps, c)
				}
			}
		}
	}
	require.Panics(t, func() { vec.NewMix([]int{0, 3}, make([]float32, 2), 2, 8, 3) })
	require.Panics(t, func() { vec.NewMix([]int{0, -1}, make([]float32, 2), 2, 8, 3) })
}
