package keras_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

// countedBatches is a dataset that counts the batches that it gives.
type countedBatches struct {
	*data.Loader
	n *atomic.Int64
}

func (c countedBatches) Batches(ctx context.Context, epoch int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		for b, err := range c.Loader.Batches(ctx, epoch) {
			c.n.Add(1)
			if !yield(b, err) {
				return
			}
		}
	}
}

// TestRoundsReadOnce: in synchronous training a worker that leaves batches to others continues reading at its position,
// instead of restarting the dataset for each step. The result is that of the same examples in memory.
func TestRoundsReadOnce(t *testing.T) {
	const steps, epochs = serverRows / 2, 2
	var read atomic.Int64
	train := func(inMemory bool) (weights [][]float64) {
		rounds := func(o *parameterserver.Options) {
			o.InFlight, o.Consistency = 1, parameterserver.Consistency{Synchronous: true, Replicas: 2}
		}
		require.NoError(t, onParameterServers(t, 2, 1, rounds, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			m := serverModel(t, "plain", s)
			if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.01}, Loss: "mse"}); err != nil {
				return err
			}
			var examples data.Dataset = countedBatches{serverData().Loader(1, false, 0), &read}
			options := []keras.FitOption{keras.StepsPerEpoch(steps), keras.Epochs(epochs)}
			if inMemory {
				examples, options = serverData(), append(options, keras.BatchSize(1), keras.Shuffle(false))
			}
			_, err := m.Fit(ctx, examples, options...)
			if s.IsCoordinator() {
				weights = valuesOfAll(t, m.Weights())
			}
			return err
		}))
		return weights
	}
	require.Equal(t, train(true), train(false))
	require.Less(t, read.Load(), int64(4*epochs*serverRows), "two workers read the examples of two epochs, and the coordinator a first batch")
}
