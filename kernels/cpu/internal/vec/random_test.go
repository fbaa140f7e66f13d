package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/philox"
)

// TestRandomWords compares runs of blocks of every length, also across the overflow of the counter's lowest word, with
// blocks that are computed one by one.
func TestRandomWords(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 4))
		for n := range 300 {
			counter, key := [4]uint32{r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32()}, [2]uint32{r.Uint32(), r.Uint32()}
			if n%3 == 0 {
				counter[0] = math.MaxUint32 - uint32(n)/8
			}
			dst := make([]uint32, n+1)
			dst[n] = 12345
			made := RandomWords(dst[:n], counter, key)
			require.True(t, made == 0 || made > n-32 && made%16 == 0, "%d of %d words", made, n)
			require.Equal(t, uint32(12345), dst[n])
			for i := 0; i < made; i += 4 {
				want := philox.Block(counter, key)
				require.Equal(t, want[:], dst[i:i+4], "words from %d on of %d", i, n)
				counter[0]++
			}
		}
	})
}

// TestDrop keeps numbers whose words reach the threshold, and writes nothing past the result; dropped numbers may be
// NaN.
func TestDrop(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(18, 4))
		for n := range 200 {
			threshold := r.Uint32N(1<<24 + 1)
			x, words, dst, want := make([]float32, n), make([]uint32, n), make([]float32, n+1), make([]float32, n+1)
			for i := range x {
				x[i], words[i] = float32(r.NormFloat64()), r.Uint32()
				if i%7 == 3 {
					words[i] = min(threshold, 1<<24-1)<<8 | r.Uint32N(256)
				}
				if want[i] = x[i] * 1.25; words[i]>>8 < threshold {
					want[i] = 0
					if i%5 == 0 {
						x[i] = float32(math.NaN())
					}
				}
			}
			want[n], dst[n] = 7, 7
			Drop(dst[:n], x, words, 1.25, threshold)
			for i := range want {
				require.Equal(t, math.Float32bits(want[i]), math.Float32bits(dst[i]), "element %d of %d", i, n)
			}
		}
	})
}
