package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// TestCopiesOfPieces transposes planes of pieces of a few elements, including 16 and 32 bytes, for every small number
// of rows and columns, with gaps and reversed, with unreadable memory after both sides, and in two parts.
func TestCopiesOfPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 32))
	for try := range 600 {
		size := []int{1, 2, 4, 8}[r.IntN(4)]
		bytes := []int{16, 32, 48, 64}[min(r.IntN(6), 3)]
		if try%2 == 0 {
			bytes = []int{16, 32}[r.IntN(2)]
		}
		outer, rows, cols := 1+r.IntN(3), 1+r.IntN([]int{4, 9, 40}[r.IntN(3)]), 1+r.IntN([]int{4, 9, 40}[r.IntN(3)])
		gap := r.IntN(3) / 2 * size * r.IntN(5)
		dims := []int{outer, rows, cols, bytes / size}
		dst := []int{rows * cols * bytes, cols * bytes, bytes, size}
		src := []int{rows * (cols*bytes + gap), bytes, rows*bytes + gap, size}
		src[0] = cols * src[2]
		from := guard.Copy(t, make([]byte, (outer-1)*src[0]+(rows-1)*src[1]+(cols-1)*src[2]+bytes), false)
		for i := range from {
			from[i] = byte(r.Uint32())
		}
		first := 0
		if r.IntN(3) == 0 {
			first, src[2] = (cols-1)*src[2], -src[2]
		}
		to := guard.Copy(t, make([]byte, outer*dst[0]), false)
		want := make([]byte, len(to))
		naive(dims, dst, src, func(d, s int) { copy(want[d:d+size], from[first+s:]) })
		c := newCopy(size, dims, dst, src)
		at := r.IntN(c.dims[0] + 1)
		if at > 0 {
			c.run(plan.PointerTo(to), plan.PointerTo(from[first:]), 0, at)
		}
		if at < c.dims[0] {
			c.run(plan.PointerTo(to), plan.PointerTo(from[first:]), at, c.dims[0])
		}
		require.Equal(t, want, to, fmt.Sprintf("size %d dims %v dst %v src %v", size, dims, dst, src))
	}
}
