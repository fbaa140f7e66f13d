package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestFoldedRows combines rows of every length that has its own kernels, some with a NaN.
func TestFoldedRows(t *testing.T) {
	folds := []struct {
		name  string
		run   func(dst, x []float32) bool
		start float32
		both  func(a, b float32) float32
	}{
		{"MulRows", MulRows[float32], 1, func(a, b float32) float32 { return a * b }},
		{"MaxRows", MaxRows[float32], float32(math.Inf(-1)), func(a, b float32) float32 { return max(a, b) }},
		{"MinRows", MinRows[float32], float32(math.Inf(1)), func(a, b float32) float32 { return min(a, b) }},
	}
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(8, 64))
		for _, n := range []int{8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 100, 130, 256} {
			for _, rows := range []int{1, 2, 3, 8, 33} {
				x := guard.Copy(t, make([]float32, rows*n), false)
				for i := range x {
					x[i] = float32(r.IntN(5)+1) / 2 * float32(1-2*r.IntN(2))
				}
				if rows == 8 {
					x[r.IntN(len(x))] = float32(math.NaN())
				}
				for _, f := range folds {
					dst := guard.Copy(t, make([]float32, n), false)
					if !f.run(dst, x) {
						return // no kernels
					}
					for c := range dst {
						want := f.start
						for k := range rows {
							want = f.both(want, x[k*n+c])
						}
						require.True(t, equal(want, dst[c]), fmt.Sprintf("%s of %d rows of %d: %v at %d, want %v", f.name, rows, n, dst[c], c, want))
					}
				}
			}
		}
	})
	require.False(t, MaxRows(make([]float64, 16), make([]float64, 64)))
	require.False(t, MaxRows(make([]float32, 16), make([]float32, 15)))
	require.False(t, MaxRows[float32](nil, nil))
}
