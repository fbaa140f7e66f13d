package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestCopyOfBoxes copies arrays with short last axes, with axes in any order, some of them reversed or partial, in
// pieces, and compares them with index arithmetic.
func TestCopyOfBoxes(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 12))
	boxes, places := 0, 0
	for range 500 {
		size, n := 1<<r.IntN(4), 2+r.IntN(4)
		shape := make([]int, n)
		for i := range shape {
			shape[i] = 1 + r.IntN(9)
		}
		shape[r.IntN(n)] *= 1 + r.IntN(40)
		full, total := make([]int, n), size
		for i := n - 1; i >= 0; i-- {
			full[i] = total
			total *= shape[i] + r.IntN(2)*r.IntN(2)
		}
		perm := r.Perm(n)
		if r.IntN(2) == 0 { // the outer axes stay in their places
			perm = r.Perm(n)[:0]
			for i := range n {
				perm = append(perm, i)
			}
		}
		dims, src, from := make([]int, n), make([]int, n), 0
		for i, p := range perm {
			dims[i], src[i] = shape[p], full[p]
			if r.IntN(3) == 0 {
				from += (shape[p] - 1) * full[p]
				src[i] = -full[p]
			}
		}
		dst, bytes := make([]int, n), size
		for i := n - 1; i >= 0; i-- {
			dst[i] = bytes
			bytes *= dims[i]
		}
		x, got, want := make([]byte, total), make([]byte, bytes), make([]byte, bytes)
		for i := range x {
			x[i] = byte(r.Uint32())
		}
		naive(dims, dst, src, func(d, s int) { copy(want[d:d+size], x[from+s:]) })
		c := newCopy(size, dims, dst, src)
		if c.boxes != nil {
			boxes++
		}
		if c.places != nil {
			places++
		}
		for at := 0; at < c.dims[0]; {
			next := min(at+1+r.IntN(c.dims[0]), c.dims[0])
			c.run(plan.PointerTo(got), plan.PointerTo(x[from:]), at, next)
			at = next
		}
		require.Equal(t, want, got, "%d bytes: dims %v, from %v", size, dims, src)
	}
	if vec.NewRearranged(12, 24, func(i int) int { return i }) != nil { // the processor has a kernel
		require.Greater(t, boxes, 30)
	}
	if !bigEndian {
		require.Greater(t, places, 10)
	}
}

// TestWholePiecesAreRows: pieces of more than a vector that are repeated, or whose axes are permuted, are copied whole.
// Rearranging them took 1.3 to 2 times as long.
func TestWholePiecesAreRows(t *testing.T) {
	repeated := func(times, bytes int) *ndCopy {
		return newCopy(4, []int{500, times, bytes / 4}, []int{times * bytes, bytes, 4}, []int{bytes, 0, 4})
	}
	for _, bytes := range []int{68, 96, 256, 512} {
		require.True(t, repeated(2, bytes).boxes == nil, "%d bytes", bytes)
		dst, src := []int{27 * bytes, 3 * bytes, bytes, 4}, []int{27 * bytes, bytes, 9 * bytes, 4}
		require.True(t, newCopy(4, []int{30, 9, 3, bytes / 4}, dst, src).boxes == nil, "%d bytes", bytes)
	}
	if vec.NewRearranged(12, 24, func(i int) int { return i }) != nil {
		require.True(t, repeated(8, 64).boxes != nil)
	}
}
