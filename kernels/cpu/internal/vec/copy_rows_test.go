package vec

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestCopyRows copies rows of every length, with gaps and with one row repeated, and writes nothing else.
func TestCopyRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		if _, ok := vectors(); !ok {
			return
		}
		r := rand.New(rand.NewPCG(4, 5))
		for bytes := LeastCopied; bytes < 400; bytes++ {
			n, gap, from := 1+r.IntN(5), r.IntN(40), bytes+r.IntN(40)
			if r.IntN(4) == 0 {
				from = 0
			}
			to := bytes + gap
			src, dst := make([]byte, (n-1)*from+bytes), make([]byte, (n-1)*to+bytes+70)
			for i := range src {
				src[i] = byte(r.Uint32())
			}
			for i := range dst {
				dst[i] = byte(r.Uint32())
			}
			want := append([]byte(nil), dst...)
			for i := range n {
				copy(want[i*to:i*to+bytes], src[i*from:])
			}
			require.True(t, CopyRows(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), n, bytes, to, from))
			require.Equal(t, want, dst, "%d rows of %d", n, bytes)
		}
	})
}
