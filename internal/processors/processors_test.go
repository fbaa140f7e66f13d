package processors

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShare: processes of one machine divide its processors, and each has at least one; GOMAXPROCS of the environment
// stands above that.
func TestShare(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	t.Setenv(Variable, "")
	require.Equal(t, 8, Count())
	for _, c := range []struct{ processes, want int }{{0, 8}, {1, 8}, {2, 4}, {3, 2}, {8, 1}, {100, 1}} {
		restore := Share(c.processes)
		require.Equal(t, c.want, Count(), "%d processes", c.processes)
		restore()
		require.Equal(t, 8, Count())
	}
	first, second := Share(4), Share(2)
	first()
	require.Equal(t, 4, Count())
	second()
	require.Equal(t, 8, Count())
	t.Setenv(Variable, "8")
	defer Share(4)()
	require.Equal(t, 8, Count())
}
