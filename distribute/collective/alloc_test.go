//go:build !race

package collective

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Over shared memory a step's collectives leave nothing for the garbage collector.
func TestSharedAllReduceAllocations(t *testing.T) {
	groups := join(t, 2, nil)
	if !groups[0].View().SharedMemory {
		require.NotEqual(t, "linux", runtime.GOOS)
		t.Skip("workers share memory on Linux only")
	}
	const rounds = 500
	work := func() {
		noErrors(t, together(groups, func(_ int, g *Group) error {
			small, large := make([]float32, 1000), make([]float32, 100_000)
			tensors, one := []Tensor{Of(small), Of(large)}, []Tensor{Of(small)}
			for range rounds {
				if err := g.AllReduce(background(), Sum, tensors); err != nil {
					return err
				}
				if err := g.AllReduce(background(), Mean, one); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	work()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	perCall := float64(after.Mallocs-before.Mallocs) / (2 * 2 * rounds)
	t.Logf("%.2f allocations a call", perCall)
	require.Less(t, perCall, 0.5)
}
