package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestLargestRows compares the rows of the largest elements with a plain search, with numbers that differ only in sign,
// zeros, infinities and NaN.
func TestLargestRows(t *testing.T) {
	numbers := []float64{0, math.Copysign(0, -1), 1, -1, 2, -2, 1e-30, -1e30, math.Inf(1), math.Inf(-1), math.NaN()}
	r := rand.New(rand.NewPCG(1, 7))
	for range 200 {
		n := 1 + r.IntN(8)
		k, most := r.IntN(n), 1+r.IntN(len(numbers))
		rows := make([]float64, (n-k)*n*vec.Lanes)
		halves := make([]float32, len(rows))
		for i := range rows {
			rows[i] = numbers[r.IntN(most)]
			halves[i] = float32(rows[i])
		}
		var want, double, single [vec.Lanes]int
		for l := range vec.Lanes {
			best := 0.0
			for row := range n - k {
				v := math.Abs(rows[(row*n+k)*vec.Lanes+l])
				if v > best || v != v && best == best {
					best, want[l] = v, row
				}
			}
		}
		largestRows(&double, block.View[uint64](unsafe.Pointer(&rows[0]), len(rows)), n, k)
		largestRows(&single, block.View[uint32](unsafe.Pointer(&halves[0]), len(halves)), n, k)
		require.Equal(t, want, double)
		require.Equal(t, want, single)
	}
}
