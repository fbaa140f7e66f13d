//go:build unix

package multiworker_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// TestLostWays: connections that lead nowhere, one way or both, from any byte on are replaced soon, also where what
// comes the other way still shows that the worker is there.
func TestLostWays(t *testing.T) {
	draws := max(40, *faults*10)
	if testing.Short() {
		draws = 20
	}
	for draw := range draws {
		rng := rand.New(rand.NewPCG(*schedule, uint64(draw)))
		f := clustertest.Fault{At: 95 + draw, Kind: clustertest.Deaf, For: linesDeadline / 4} // amid the first words of gRPC
		if draw%2 == 0 {
			f.At, f.Kind = int(math.Exp(rng.Float64()*math.Log(3000))), []clustertest.Kind{clustertest.Dark, clustertest.Deaf}[rng.IntN(2)]
		}
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			t.Parallel()
			clock := fairclock.Start()
			defer clock.Stop()
			_, errs := lineJob{workers: 2, replicas: 1, kind: "elastic", faults: [][]clustertest.Fault{nil, {f}}}.run(t)
			require.NoError(t, errs[0])
			require.NoError(t, errs[1])
			require.Less(t, clock.Elapsed(), 12*linesDeadline)
		})
	}
}
