package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// TestMoveRows copies rows of every length with gaps between them. The gaps must not change.
func TestMoveRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for length := 1; length < 600; length += 1 + length/70 {
		n, to, from := 1+r.IntN(4), length+r.IntN(9), length+r.IntN(9)
		src, dst := make([]byte, n*from), bytes.Repeat([]byte{7}, n*to)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		want := bytes.Clone(dst)
		for i := range n {
			copy(want[i*to:i*to+length], src[i*from:])
		}
		moveRows(plan.PointerTo(dst), plan.PointerTo(src), n, length, to, from)
		require.Equal(t, want, dst, fmt.Sprint(length))
	}
}

// TestFillElement fills memory of every length, and must not write beyond it.
func TestFillElement(t *testing.T) {
	element := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, n := range []int{1, 3, 4, 7, 8, 9, 31, 33, 100, 511, 512, 1024, 1025, 4097, 12345} {
			got := make([]byte, n*size+1)
			fillElement(plan.PointerTo(got), plan.PointerTo(element), size, n)
			require.Equal(t, append(bytes.Repeat(element[:size], n), 0), got, "%d elements of %d bytes", n, size)
		}
	}
}

// TestGatherElements gathers backwards and with gaps.
func TestGatherElements(t *testing.T) {
	const middle = 100_000
	src := make([]byte, 2*middle)
	for i := range src {
		src[i] = byte(i*7>>2 ^ i>>9)
	}
	for _, size := range []int{1, 2, 4, 8} {
		for _, stride := range []int{-size, size, 2 * size, -3 * size, 5*size + 1} {
			for _, n := range []int{1, 5, 7, 8, 9, 16, 29, 64, 2309} {
				dst, want := make([]byte, n*size+1), make([]byte, n*size+1)
				for i := range n {
					copy(want[i*size:(i+1)*size], src[middle+i*stride:])
				}
				gatherElements(plan.PointerTo(dst), plan.PointerTo(src[middle:]), size, stride, n)
				require.Equal(t, want, dst, "%d elements of %d bytes, %d apart", n, size, stride)
			}
		}
	}
}

// TestLongestLast repeats pixels along two axes, as upsampling does: the loop over rows follows the longer axis.
func TestLongestLast(t *testing.T) {
	const lines, pixels, times, bytes = 3, 11, 2, 40
	src, dst := make([]byte, lines*pixels*bytes), make([]byte, lines*times*pixels*times*bytes)
	for i := range src {
		src[i] = byte(i * 5 >> 1)
	}
	c := newCopy(1, []int{lines, times, pixels, times, bytes},
		[]int{times * pixels * times * bytes, pixels * times * bytes, times * bytes, bytes, 1}, []int{pixels * bytes, 0, bytes, 0, 1})
	c.run(plan.PointerTo(dst), plan.PointerTo(src), 0, 2)
	c.run(plan.PointerTo(dst), plan.PointerTo(src), 2, lines)
	for i := range dst {
		pixel, line := i/bytes/times%pixels, i/bytes/times/pixels/times
		require.Equal(t, src[(line*pixels+pixel)*bytes+i%bytes], dst[i], i)
	}
}
