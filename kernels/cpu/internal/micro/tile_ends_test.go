package micro

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSumsThatEndApart adds sums to C with a B that ends right after its last column, so that the last rows of B are
// not whole vectors.
func TestSumsThatEndApart(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 1))
		for try := range 400 {
			u := Tile[float32]{Rows: 1 + r.IntN(20), Cols: 1 + r.IntN(32), K: 1 + r.IntN(9)*r.IntN(9), Segments: 1 + r.IntN(4), Outer: 1 + r.IntN(3), ARow: 1, Accumulate: true}
			u.AK = u.Rows + r.IntN(3)
			u.BK = max(u.Cols-r.IntN(3), 1) + r.IntN(20)
			u.ASegment, u.BSegment = u.K*u.AK, u.K*u.BK+r.IntN(5)
			u.AOuter, u.BOuter = u.Segments*u.ASegment, u.Segments*u.BSegment
			u.CRow = u.Cols + r.IntN(3)
			some := func(n int) []float32 {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				return x
			}
			u.A, u.B, u.C = some(u.Outer*u.AOuter), some(u.lastB()+u.Cols), some((u.Rows-1)*u.CRow+u.Cols)
			before := append([]float32{}, u.C...)
			Run(&u)
			for i := range u.Rows {
				for c := range u.CRow {
					at := i*u.CRow + c
					if at >= len(before) {
						continue
					}
					want, size := float64(before[at]), math.Abs(float64(before[at]))
					for k := range u.Outer * u.Segments * u.K {
						if c >= u.Cols {
							break
						}
						o, s, k := k/u.K/u.Segments, k/u.K%u.Segments, k%u.K
						product := float64(u.A[o*u.AOuter+s*u.ASegment+i+k*u.AK]) * float64(u.B[o*u.BOuter+s*u.BSegment+k*u.BK+c])
						want, size = want+product, size+math.Abs(product)
					}
					require.InDelta(t, want, u.C[at], 2e-6*size, "%d: row %d, column %d of %+v", try, i, c, u.Cols)
				}
			}
		}
	})
}
