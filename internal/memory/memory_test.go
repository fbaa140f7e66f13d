package memory

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheck: what a machine has passes, and what none has is an error that says how much.
func TestCheck(t *testing.T) {
	require.NoError(t, Check("a buffer", 1<<10))
	require.ErrorContains(t, Check("a buffer", math.MaxInt), "a buffer takes ")
	require.ErrorContains(t, Check("a buffer", math.Inf(1)), "use smaller batches")
	require.Positive(t, Limit())
	require.LessOrEqual(t, Limit(), Addressable)
}

// TestGoMemoryLimit: what the garbage collector may not hold is refused, after it has looked for garbage.
func TestGoMemoryLimit(t *testing.T) {
	h := readHeap()
	was := debug.SetMemoryLimit(int64(h.mapped + 512<<20))
	defer debug.SetMemoryLimit(was)
	garbage := make([]byte, 400<<20)
	garbage[len(garbage)-1] = 1
	garbage = nil
	require.Nil(t, garbage)
	require.NoError(t, Check("a buffer", 300<<20))
	require.ErrorContains(t, Check("a buffer", 1<<30), "GOMEMLIMIT leaves")
	for range 100 {
		require.NoError(t, Check("a small buffer", 1<<20))
	}
}
