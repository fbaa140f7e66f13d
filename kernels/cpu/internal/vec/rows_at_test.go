package vec_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestAddRowsAt covers rows of all lengths, some of them repeated, in order; what lies between them does not change.
func TestAddRowsAt(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for c := 1; c < 17_000; c += 1 + c/20 + c/400*16_000 {
		dst, x := make([]float32, 7*(c+3)), make([]float32, 200*(c+1))
		for i := range dst {
			dst[i] = float32(r.NormFloat64())
		}
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		x[0], x[len(x)-1] = float32(math.Inf(1)), float32(math.NaN())
		want := append([]float32(nil), dst...)
		wide, wideX := make([]float64, len(dst)), make([]float64, len(x))
		for i, v := range dst {
			wide[i] = float64(v)
		}
		for i, v := range x {
			wideX[i] = float64(v)
		}
		var pairs [][2]int
		for i := range 200 {
			pairs = append(pairs, [2]int{r.IntN(7) * (c + 3), i * (c + 1)})
			for k := range c {
				want[pairs[i][0]+k] += x[pairs[i][1]+k]
			}
		}
		vec.AddRowsAt(dst, x, pairs, c)
		for i, v := range want {
			require.True(t, v == dst[i] || v != v && dst[i] != dst[i], "%d: %v at %d, expected %v", c, dst[i], i, v)
		}
		vec.AddRowsAt(wide, wideX, pairs, c)
		for i, v := range wide {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				require.InDelta(t, v, dst[i], 3e-5)
			}
		}
	}
	require.Panics(t, func() { vec.AddRowsAt(make([]float32, 31), make([]float32, 64), [][2]int{{16, 0}}, 16) })
	require.Panics(t, func() { vec.AddRowsAt(make([]float32, 64), make([]float32, 31), [][2]int{{0, 16}}, 16) })
}

// TestDescendRowsAt: the bits are those of loops without vectors, for rows of all lengths, some of them repeated.
func TestDescendRowsAt(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	for c := 1; c < 17_000; c += 1 + c/20 + c/400*16_000 {
		dst, x := make([]float32, 200*(c+1)), make([]float32, 200*(c+1))
		for i := range dst {
			dst[i], x[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
		x[len(x)-1] = float32(math.Inf(1))
		want := append([]float32(nil), dst...)
		var pairs [][2]int
		const rate = 0.37
		for i := range 200 {
			pairs = append(pairs, [2]int{r.IntN(200) * (c + 1), i * (c + 1)})
			for k := range c {
				step := float32(rate) * x[pairs[i][1]+k]
				want[pairs[i][0]+k] -= float32(step)
			}
		}
		vec.DescendRowsAt(dst, x, pairs, c, rate)
		require.Equal(t, want, dst, "%d", c)
	}
	require.Panics(t, func() { vec.DescendRowsAt(make([]float32, 64), make([]float32, 31), [][2]int{{0, 16}}, 16, 1) })
	some, pairs := make([]float32, 64), [][2]int{{0, 16}, {16, 32}}
	require.Zero(t, testing.AllocsPerRun(20, func() { vec.DescendRowsAt(some, some, pairs, 16, 1) }))
	require.Zero(t, testing.AllocsPerRun(20, func() { vec.AddRowsAt(some, some, pairs, 16) }))
}
