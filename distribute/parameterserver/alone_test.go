package parameterserver_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
)

// TestNobodyCoordinates: a worker that no coordinator comes to says so after the deadline, and ends after JoinTimeout;
// servers say so and stay. When one comes, the worker says that, and nothing more is said.
func TestNobodyCoordinates(t *testing.T) {
	for name, replicas := range map[string]int{"one copy": 1, "two copies": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 2})
			var mu sync.Mutex
			var said []string
			count := func(part string) (n int) {
				mu.Lock()
				defer mu.Unlock()
				for _, s := range said {
					n += strings.Count(s, part)
				}
				return n
			}
			options := func(task *cluster.Task, join time.Duration) parameterserver.Options {
				return parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, Replicas: replicas, Deadline: 200 * time.Millisecond, JoinTimeout: join, Observe: func(text string) {
					mu.Lock()
					said = append(said, text)
					mu.Unlock()
				}}
			}
			ends := make(chan error, 3)
			for i := range 2 {
				go func() {
					ends <- parameterserver.Serve(t.Context(), options(&cluster.Task{Type: "ps", Index: i}, time.Minute))
				}()
			}
			waits := func(ctx context.Context, j parameters.Job) error { return j.Over(ctx) }
			began := time.Now()
			err := parameterserver.Run(t.Context(), options(&cluster.Task{Type: "worker"}, time.Second), waits)
			require.ErrorContains(t, err, "worker:0 has heard of no coordinator for 1s; start it, or end this worker if the job is over")
			require.GreaterOrEqual(t, time.Since(began), time.Second)
			require.Equal(t, 1, count("worker:0 has heard of no coordinator for "))
			require.Equal(t, 1, count("waiting up to 1s for it"))
			for i := range 2 {
				require.Equal(t, 1, count(fmt.Sprintf("ps:%d has heard of no coordinator for ", i)))
			}
			require.Empty(t, ends, "servers stay")

			go func() {
				ends <- parameterserver.Run(t.Context(), options(&cluster.Task{Type: "worker"}, time.Minute), waits)
			}()
			require.Eventually(t, func() bool { return count("worker:0 has heard of no coordinator for ") == 2 }, time.Minute, 10*time.Millisecond)
			o := options(nil, time.Minute)
			require.NoError(t, parameterserver.Run(t.Context(), o, func(context.Context, parameters.Job) error {
				require.Eventually(t, func() bool { return count("worker:0 has a coordinator after ") == 1 }, time.Minute, 10*time.Millisecond)
				return nil
			}))
			for range 3 {
				require.NoError(t, <-ends)
			}
			require.Equal(t, 4, count("has heard of no coordinator for "))
		})
	}
}
