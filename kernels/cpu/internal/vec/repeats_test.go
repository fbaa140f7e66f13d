package vec

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestRepeats repeats groups of every size and writes nothing behind the last one.
func TestRepeats(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 9))
		some := false
		for words := 1; words <= 17; words++ {
			for times := 2; times <= 9; times++ {
				k := NewRepeats(words, times)
				if k == nil {
					continue
				}
				n := 1 + r.IntN(60)
				src, dst := make([]uint32, n*words), make([]uint32, n*words*times+20)
				for i := range src {
					src[i] = r.Uint32()
				}
				done := k.Run(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), n)
				require.LessOrEqual(t, done, n)
				some = some || done > 0
				want := make([]uint32, len(dst))
				for i := range done * words * times {
					want[i] = src[i/(words*times)*words+i%words]
				}
				require.Equal(t, want, dst, "%d groups of %d, %d times", n, words, times)
			}
		}
		require.Equal(t, repeatLanes() > 0, some)
	})
}
