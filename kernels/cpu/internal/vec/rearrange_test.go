package vec

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// TestRearranged copies boxes whose elements, of one to eight bytes, are permuted, have gaps or are read backwards, and
// reads and writes nothing else.
func TestRearranged(t *testing.T) {
	test := func(t *testing.T) {
		r := rand.New(rand.NewPCG(28, 11))
		kernels, done, more := 0, 0, 0
		for range 600 {
			size, count := 1<<r.IntN(4), 1+r.IntN(24)
			room := count + r.IntN(3)*r.IntN(count+1) // elements of a box of the source
			order := r.Perm(room)[:count]
			if r.IntN(3) == 0 {
				for i := range order {
					order[i] = count - 1 - i
				}
			}
			source := func(i int) int { return order[i/size]*size + i%size }
			step := (room + r.IntN(2)) * size
			box, n := count*size, 1+r.IntN(400/count+10)
			backwards := r.IntN(2) == 0
			if backwards {
				step = -step
			}
			k := NewRearranged(box, step, source)
			if k == nil {
				continue
			}
			kernels++
			first, last := 0, 0
			for i := range box {
				last = max(last, source(i)+1)
			}
			length := (n-1)*max(step, -step) + last
			if backwards {
				first = -(n - 1) * step
			}
			behind := r.IntN(2) * r.IntN(100)
			src, dst := guard.Copy(t, make([]uint8, length), r.IntN(2) == 0), guard.Copy(t, make([]uint8, n*box+behind), false)
			for i := range src {
				src[i] = uint8(r.Uint32())
			}
			_, least := k.Run(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[first]), n, 0)
			from, to := k.Run(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[first]), n, behind)
			require.LessOrEqual(t, to, n)
			require.GreaterOrEqual(t, to, least)
			more += to - least
			done += to - from
			var want, got []uint8
			for i := from * box; i < to*box; i++ {
				want, got = append(want, src[first+i/box*step+source(i%box)]), append(got, dst[i])
			}
			require.Equal(t, want, got, "%d boxes of %d elements of %d bytes, %d bytes apart: %v", n, count, size, step, order)
		}
		require.Equal(t, repeatLanes() > 0, kernels > 100 && done > 2000 && more > 50, "%d kernels, %d boxes, %d more with room behind", kernels, done, more)
	}
	forLevels(t, test)
	if isa.Detected().Has(isa.Vectors512) {
		t.Run("words", func(t *testing.T) { // as without AVX512_VBMI
			defer isa.Override(isa.Vectors512)()
			test(t)
		})
	}
}
