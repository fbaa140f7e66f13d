package keras_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

// TestWorkerComesBackToOtherData: a restarted worker does not begin with the same data as before, but with those of
// another pass.
func TestWorkerComesBackToOtherData(t *testing.T) {
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
	var lives [2][]int // the passes that the worker begins, before it is killed and after
	run := func(ctx context.Context, task *cluster.Task, source data.Dataset) error {
		o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: 20 * time.Second}
		return parameterserver.RunStrategy(ctx, o, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			m := serverModel(t, "plain", s)
			if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.05}, Loss: "mse"}); err != nil {
				return err
			}
			_, err := m.Fit(ctx, source, keras.StepsPerEpoch(60), keras.Epochs(2))
			return err
		})
	}
	ended := make(chan error, 2)
	go func() { ended <- run(t.Context(), &cluster.Task{Type: "ps"}, nil) }()
	go func() {
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		_ = run(ctx, &cluster.Task{Type: "worker"}, passesOf(&lives[0], 40, kill)) // it is killed
		ended <- run(t.Context(), &cluster.Task{Type: "worker"}, passesOf(&lives[1], 0, nil))
	}()
	require.NoError(t, run(t.Context(), nil, passesOf(new([]int), 0, nil)))
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	require.Equal(t, 0, lives[0][0])
	require.Less(t, lives[0][len(lives[0])-1], 60)
	require.Equal(t, 0, lives[1][0], "the first batch is read to learn the shapes")
	require.Greater(t, lives[1][1], len(lives[0]), "pass")
}

// passesOf is a dataset that records the passes over it, and calls a function after the given number of batches.
func passesOf(begun *[]int, after int, then func()) data.Dataset {
	all, n := serverData(), 0
	return data.FromGenerator(func(ctx context.Context, pass int) iter.Seq2[data.Batch, error] {
		*begun = append(*begun, pass)
		return func(yield func(data.Batch, error) bool) {
			for b, err := range all.Loader(16, false, 1).Batches(ctx, pass) {
				if n++; n == after {
					then()
				}
				if !yield(b, err) {
					return
				}
			}
		}
	})
}
