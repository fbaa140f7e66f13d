package layers_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestDiscretizationCounts compares bins with the number of boundaries below, for few and many boundaries, also equal
// ones, at boundaries, infinities and NaN, which is above all.
func TestDiscretizationCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 12))
	for _, n := range []int{1, 2, 7, 31, 32, 33, 64, 65, 70} {
		boundaries := make([]float64, n)
		for i := range boundaries {
			boundaries[i] = float64(r.IntN(2*n)-n) / 4
		}
		slices.Sort(boundaries)
		x := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0}
		for range 3 * n {
			x = append(x, float64(r.IntN(4*n)-2*n)/8)
		}
		y, err := evaluate(&layers.Discretization{BinBoundaries: boundaries}, false, []tensor{in(ir.Shape{1, len(x)}, x...)})
		require.NoError(t, err)
		for i, v := range x {
			want := 0
			for _, b := range boundaries {
				if !(v < b) {
					want++
				}
			}
			require.Equal(t, float64(want), y.At(i), "%v in %v", v, boundaries)
		}
	}
}
