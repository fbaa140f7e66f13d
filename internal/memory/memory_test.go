package memory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemTotal(t *testing.T) {
	require.Equal(t, 24684096<<10, memTotal([]byte("MemTotal:       24684096 kB\nMemFree:        15604192 kB\n")))
	for _, text := range []string{"", "MemFree: 3 kB\n", "MemTotal: x kB\n", "MemTotal: 99999999999999999999 kB\n", "MemTotal: -3 kB\n"} {
		require.Equal(t, Addressable, memTotal([]byte(text)), text)
	}
}

// TestCheck: what a machine has passes, and what none has is an error that says how much.
func TestCheck(t *testing.T) {
	require.NoError(t, Check("a buffer", 1<<10))
	require.ErrorContains(t, Check("a buffer", math.MaxInt), "a buffer takes ")
	require.ErrorContains(t, Check("a buffer", math.Inf(1)), "use smaller batches or layers")
	require.Positive(t, Limit())
	require.LessOrEqual(t, Limit(), Addressable)
}
