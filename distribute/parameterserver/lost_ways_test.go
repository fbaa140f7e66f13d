package parameterserver_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// TestLostWays: connections that lead nowhere after any byte are replaced soon, long before the system or gRPC notices.
func TestLostWays(t *testing.T) {
	const deadline = 500 * time.Millisecond
	for _, kind := range []clustertest.Kind{clustertest.Dark, clustertest.Deaf} {
		for task, name := range []string{"worker", "server"} {
			for _, at := range []int{300, 1500, 4000, 7000} {
				t.Run(fmt.Sprint(name, " ", kind, " ", at), func(t *testing.T) {
					t.Parallel()
					faults := make([][]clustertest.Fault, 2)
					faults[task] = []clustertest.Fault{{At: at, Kind: kind, For: deadline / 5}}
					c := newLineCluster(t, 1, 1, func(i int) []clustertest.Fault { return faults[i] }, func(o *parameterserver.Options) { o.Deadline = deadline })
					clock := fairclock.Start()
					defer clock.Stop()
					require.NoError(t, c.count(t))
					t.Log(clock.Elapsed())
					require.Less(t, clock.Elapsed(), 6*deadline)
				})
			}
		}
	}
}
