package keras

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rates that are joined by the greatest of each byte are told apart, whatever they are, and those who have none do not
// count.
func TestRatesOfWorkers(t *testing.T) {
	rates := []float32{0, 1e-3, 0.1, 0.2, 255, -1}
	join := func(senders ...[]byte) []byte {
		out := make([]byte, 2*sumBytes)
		for _, b := range senders {
			for i := range out {
				out[i] = max(out[i], b[i])
			}
		}
		return out
	}
	sent := func(rate float32) []byte {
		b := make([]byte, 2*sumBytes)
		putSum(b, math.Float32bits(rate))
		return b
	}
	none := make([]byte, 2*sumBytes)
	require.True(t, oneSum(join(none, none)))
	for _, a := range rates {
		require.True(t, oneSum(join(none, sent(a))))
		for _, b := range rates {
			require.Equal(t, a == b, oneSum(join(sent(a), none, sent(b))), "%v and %v", a, b)
		}
	}
}
