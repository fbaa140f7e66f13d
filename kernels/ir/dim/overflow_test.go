package dim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Sums and products that no int holds do not come round to small ones.
func TestOverflow(t *testing.T) {
	for _, factors := range [][]int{{1 << 40, 1 << 40}, {1 << 32, 1 << 32, 1 << 32}, {math.MaxInt, 2}, {1 << 31, 1 << 31, 4}, {3, math.MaxInt / 2}} {
		require.Equal(t, dim.Overflow, dim.Mul(factors...), "%v", factors)
		require.Error(t, dim.Check(dim.Mul(factors...)))
	}
	require.Equal(t, 1<<52, dim.Mul(1<<50, 4), "more than any length, and an int")
	require.Zero(t, dim.Mul(1<<40, 1<<40, 0))
	require.Equal(t, dim.Overflow, dim.Add(math.MaxInt, 1))
	require.Equal(t, dim.Overflow, dim.Add(1<<62, 1<<62))
	require.Equal(t, -6, dim.Mul(2, -3))
	require.Equal(t, -1, dim.Add(2, -3))
}
