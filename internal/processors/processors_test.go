package processors

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShare: processes of one machine divide its processors, and each has at least one; GOMAXPROCS of the environment
// stands above that.
func TestShare(t *testing.T) {
	on(t, 8)
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

// on makes the machine one with so many processors.
func on(t *testing.T, processors int) {
	real := machine
	machine = func() int { return processors }
	t.Cleanup(func() { machine = real })
}

// TestShareOfBound: a process that has its part of the machine already does not give away parts of that.
func TestShareOfBound(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	t.Setenv(Variable, "")
	on(t, 32)
	for _, c := range []struct{ processes, want int }{{2, 8}, {4, 8}, {8, 4}, {64, 1}} {
		restore := Share(c.processes)
		require.Equal(t, c.want, Count(), "%d processes", c.processes)
		restore()
	}
}

func TestMachine(t *testing.T) {
	require.GreaterOrEqual(t, Machine(), runtime.NumCPU())
	for list, want := range map[string]int{"0": 1, "0-1\n": 2, "0-3,8,10-11": 7, "": 0, "a": 0, "3-1": 0, "0-": 0} {
		require.Equal(t, want, listed(list), "%q", list)
	}
}
