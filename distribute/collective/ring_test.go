package collective

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// However the workers of a ring take turns, what is on its way between two of them stays bounded: else all could wait
// for room.
func TestRingIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{2, 3, 5, 8} {
		rings := make([]*ring, n)
		queues := make([][]segment, n) // by the rank that receives
		for rank := range rings {
			rings[rank] = newRing(plan{op: Sum, dtype: ir.Float32, rank: rank, n: n, count: 1000 * n}, 40)
		}
		most := 0
		step := func(rank int) error {
			r, right := rings[rank], (rank+1)%n
			for own, ok := r.next(); ok; own, ok = r.next() {
				queues[right] = append(queues[right], own)
			}
			if len(queues[rank]) > 0 {
				s := queues[rank][0]
				queues[rank] = queues[rank][1:]
				if !r.valid(s) {
					return errors.New("not valid")
				}
				if _, _, _, _, forward, onward := r.accept(s); forward {
					queues[right] = append(queues[right], onward)
				}
			}
			most = max(most, len(queues[right]))
			return nil
		}
		for slices.ContainsFunc(rings, func(r *ring) bool { return !r.done() }) {
			rank := random.IntN(n)
			for range random.IntN(200) {
				require.NoError(t, step(rank))
			}
		}
		t.Logf("%d workers: %d", n, most)
		require.LessOrEqual(t, most, 2*lead*n, "%d workers", n)
	}
}
