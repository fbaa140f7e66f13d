package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/stretchr/testify/require"
)

// TestCopyAgainstLoops compares random strided copies, whole and in pieces, with index arithmetic.
func TestCopyAgainstLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		size := []int{1, 2, 4, 8}[r.IntN(4)]
		rank := r.IntN(5)
		dims := make([]int, rank)
		for i := range dims {
			dims[i] = 1 + r.IntN([]int{3, 8, 40}[r.IntN(3)]/(1+rank/3))
		}
		if rank > 0 && rank < 4 && r.IntN(8) == 0 {
			dims[rank-1] = 1 + r.IntN(400) // rows that are reversed one by one
		}
		// Both sides store the axes in some order, some with gaps; the source may repeat or reverse an axis. Half of
		// the destinations are as results are, and then sources repeat more axes.
		plain := r.IntN(2) == 0
		layout := func(source bool) (strides []int, first, total int) {
			strides = make([]int, rank)
			total = size
			order := r.Perm(rank)
			if plain {
				slices.SortFunc(order, func(a, b int) int { return b - a })
			}
			for _, i := range order {
				if source && (r.IntN(6) == 0 || plain && r.IntN(3) == 0) {
					continue
				}
				if !plain {
					total *= 1 + r.IntN(4)/3
				}
				strides[i] = total
				total *= dims[i]
				if source && r.IntN(6) == 0 {
					first += (dims[i] - 1) * strides[i]
					strides[i] = -strides[i]
				}
			}
			return strides, first, total
		}
		dst, dstFirst, dstTotal := layout(false)
		src, srcFirst, srcTotal := layout(true)
		from, to, want := make([]byte, srcTotal), make([]byte, dstTotal), make([]byte, dstTotal)
		for i := range from {
			from[i] = byte(r.Uint32())
		}
		naive(dims, dst, src, func(d, s int) { copy(want[dstFirst+d:dstFirst+d+size], from[srcFirst+s:]) })
		c := newCopy(size, dims, dst, src)
		at := 0
		for at < c.dims[0] {
			next := min(at+1+r.IntN(c.dims[0]), c.dims[0])
			c.run(plan.PointerTo(to[dstFirst:]), plan.PointerTo(from[srcFirst:]), at, next)
			at = next
		}
		require.Equal(t, want, to, fmt.Sprintf("size %d dims %v dst %v src %v", size, dims, dst, src))
	}
}

// TestLargeCopyInPieces repeats values along several axes whose outer ones are larger than what is copied from one
// place. The pieces inside must be copied by rows too, and not element by element.
func TestLargeCopyInPieces(t *testing.T) {
	for _, channels := range []int{1, 3, 32, 74} {
		n := 12
		for channels*4*8*n*n*n < 2*mostRepeated {
			n += 8
		}
		cell := 4 * channels
		dims := []int{n, 2, n, 2, n, 2, channels}
		dst := []int{8 * n * n * cell, 4 * n * n * cell, 4 * n * cell, 2 * n * cell, 2 * cell, cell, 4}
		src := []int{n * n * cell, 0, n * cell, 0, cell, 0, 4}
		from, to, want := make([]byte, n*src[0]), make([]byte, n*dst[0]), make([]byte, n*dst[0])
		for i := range from {
			from[i] = byte(i * i >> 5)
		}
		naive(dims, dst, src, func(d, s int) { copy(want[d:d+4], from[s:]) })
		c := newCopy(4, dims, dst, src)
		require.NotNil(t, c.block)
		for b := c; b != nil; b = b.block {
			require.False(t, b.tile >= 0 && b.src[b.tile] != b.size, "%d channels: a plane of axis %d of %v, in steps of %v", channels, b.tile, b.dims, b.src)
		}
		c.run(plan.PointerTo(to), plan.PointerTo(from), 0, c.dims[0])
		require.True(t, slices.Equal(want, to), "%d channels", channels)
	}
}

func naive(dims, dst, src []int, f func(d, s int)) {
	if len(dims) == 0 {
		f(0, 0)
		return
	}
	for i := range dims[0] {
		naive(dims[1:], dst[1:], src[1:], func(d, s int) { f(d+i*dst[0], s+i*src[0]) })
	}
}
