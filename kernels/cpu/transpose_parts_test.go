package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// TestTransposeParts transposes planes of 1-byte and 2-byte elements, of all sizes and with gaps, in pieces and as
// parts of copies, and compares them with index arithmetic.
func TestTransposeParts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for try := range 400 {
		size, outer, rows, cols := 1+r.IntN(2), 1+r.IntN(3), 1+r.IntN(70), 1+r.IntN(70)
		to, from := cols*size, (rows+r.IntN(3))*size
		if try%8 == 0 { // lines that evict each other from the cache
			cols = 2048 / size * (1 + r.IntN(2))
			to = cols * size
		}
		x, got, want := make([]byte, outer*cols*from), make([]byte, outer*rows*to), make([]byte, outer*rows*to)
		for i := range x {
			x[i] = byte(r.Uint32())
		}
		for o := range outer {
			for i := range rows {
				for k := range cols {
					copy(want[o*rows*to+i*to+k*size:][:size], x[o*cols*from+k*from+i*size:])
				}
			}
		}
		c := newCopy(size, []int{outer, rows, cols}, []int{rows * to, to, size}, []int{cols * from, size, from})
		for at := 0; at < c.dims[0]; {
			next := min(at+1+r.IntN(c.dims[0]), c.dims[0])
			c.run(plan.PointerTo(got), plan.PointerTo(x), at, next)
			at = next
		}
		require.Equal(t, want, got, "%d planes of %d x %d elements of %d bytes", outer, rows, cols, size)
	}
}
