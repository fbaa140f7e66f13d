package vec

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestRepeats repeats groups of every size and writes nothing past the last one.
func TestRepeats(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 9))
		some := 0
		for group := 1; group <= 68; group++ {
			for times := 2; times <= 9; times++ {
				k := NewRepeats(group, times)
				if k == nil {
					continue
				}
				n := 1 + r.IntN(400/group+60)
				src, dst := guard.Copy(t, make([]uint8, n*group), false), make([]uint8, n*group*times+80)
				for i := range src {
					src[i] = uint8(r.Uint32())
				}
				done := k.Run(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), n)
				require.LessOrEqual(t, done, n)
				if done > 0 {
					some |= 1 << (group % 4)
				}
				want := make([]uint8, len(dst))
				for i := range done * group * times {
					want[i] = src[i/(group*times)*group+i%group]
				}
				require.Equal(t, want, dst, "%d groups of %d, %d times", n, group, times)
			}
		}
		require.Equal(t, repeatLanes() > 0, some == 15)
	})
}
