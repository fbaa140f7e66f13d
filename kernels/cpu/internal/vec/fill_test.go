package vec

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestFillRows fills rows of every length and writes nothing past them.
func TestFillRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 4))
		for n := 1; n < 200; n++ {
			for _, step := range []int{4, 12} {
				rows := 1 + r.IntN(6)
				src, dst := make([]uint32, rows*step/4), make([]uint32, rows*n+1)
				want := make([]uint32, rows*n+1)
				for i := range src {
					src[i] = r.Uint32()
				}
				for i := range rows * n {
					want[i] = src[i/n*step/4]
				}
				FillRows(dst[:rows*n], unsafe.Pointer(&src[0]), n, step)
				require.Equal(t, want, dst, "%d rows of %d", rows, n)
			}
		}
	})
}
