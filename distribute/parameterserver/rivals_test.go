package parameterserver_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
)

// TestTwoCoordinators: of coordinators that take over the same servers at once all but one get an error soon, and what
// any of them was told to be done counts once.
func TestTwoCoordinators(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		c := newCluster(t, 2, 2, func(o *parameterserver.Options) {
			o.JoinTimeout = 3 * time.Second
			o.Replicas = 1 + round%2
		})
		c.register("increment", increment(func() parameters.Job { return c.workers[0] }, "v"))
		v, _, err := c.coordinate().Create(t.Context(), parameters.Spec{Name: "v"})
		require.NoError(t, err)
		clock := fairclock.Start()
		var told, all atomic.Int64
		var errs [3]error
		var jobs [len(errs)]parameters.Job
		var wait sync.WaitGroup
		for i := range errs {
			wait.Go(func() {
				jobs[i], errs[i] = parameterserver.Join(t.Context(), c.options(nil))
				for n := 0; n < 5 && errs[i] == nil; n++ {
					p, err := jobs[i].Schedule(t.Context(), "increment", nil, -1)
					if err == nil {
						all.Add(1)
						_, err = p.Fetch(t.Context())
					}
					if errs[i] = err; err == nil {
						told.Add(1)
					}
				}
			})
		}
		wait.Wait()
		require.Less(t, clock.Elapsed(), 2*time.Second)
		clock.Stop()
		for _, err := range errs {
			if err != nil {
				require.ErrorContains(t, err, "another coordinator has taken over; run one only")
			}
		}
		last := c.coordinate()
		got := int64(value(t, last, v)[0])
		require.GreaterOrEqual(t, got, told.Load(), "%d was scheduled; %v", all.Load(), errs)
		require.LessOrEqual(t, got, all.Load(), "%d was told; %v", told.Load(), errs)
		require.Positive(t, told.Load(), errs)
		for _, j := range jobs {
			if j != nil {
				require.NoError(t, j.Close())
			}
		}
		require.NoError(t, last.Close())
	}
}
