package keras_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// wordModels take sequences of numbers up to 20, with 0 as padding: one model has an output for each sequence, the
// other for each step.
func wordModels() map[string]func() []layers.Layer {
	return map[string]func() []layers.Layer{
		"sequence": func() []layers.Layer {
			return []layers.Layer{&layers.Embedding{InputDim: 21, OutputDim: 5, MaskZero: true}, &layers.Bidirectional{Layer: &layers.LSTM{Units: 4}}, &layers.Dense{Units: 3}}
		},
		"steps": func() []layers.Layer {
			return []layers.Layer{&layers.Embedding{InputDim: 21, OutputDim: 5, MaskZero: true}, &layers.GRU{Units: 4, ReturnSequences: true}, &layers.Dense{Units: 3}}
		},
	}
}

func wordModel(t *testing.T, stack []layers.Layer, options ...keras.Option) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential(stack, append(options, keras.Seed(5))...)
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: "mse"}))
	return m
}

// words draws sequences of the given lengths, with targets for each sequence or each step.
func words(steps bool, lengths ...int) *data.Pipeline {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([][]int, len(lengths))
	y := make([][]float32, len(lengths))
	for i, n := range lengths {
		for range n {
			x[i] = append(x[i], 1+r.IntN(20))
		}
		for range 3 {
			y[i] = append(y[i], float32(r.NormFloat64()))
		}
	}
	p := data.FromRagged(x, y)
	if !steps {
		return p
	}
	return p.Map(func(_ context.Context, e data.Batch) (data.Batch, error) {
		n := e.X.Single().Shape()[0]
		rows := make([][]float32, n)
		for i := range rows {
			rows[i] = []float32{float32(i), float32(i % 3), 1 / float32(i+1)}
		}
		target, err := data.ToArray(rows)
		e.Y = data.List(target)
		return e, err
	})
}

func bucketOptions(steps bool) []data.PadOption {
	if steps {
		return []data.PadOption{data.PadTargets()}
	}
	return nil
}

// A padded batch has the loss and the gradients of the sequences without padding.
func TestPaddingCountsForNothing(t *testing.T) {
	for name, stack := range wordModels() {
		t.Run(name, func(t *testing.T) {
			steps := name == "steps"
			bare, padded := wordModel(t, stack()), wordModel(t, stack())
			for range 3 {
				examples := words(steps, 5, 5, 5, 5)
				want, err := bare.Fit(context.Background(), examples.Batch(4, false))
				require.NoError(t, err)
				got, err := padded.Fit(context.Background(), examples.BucketBySequenceLength([]int{8, 16}, 4, bucketOptions(steps)...))
				require.NoError(t, err)
				require.InDelta(t, lastLoss(t, want), lastLoss(t, got), 1e-6)
			}
			requireClose(t, bare, padded)
		})
	}
}

func lastLoss(t *testing.T, h *callbacks.History) float64 {
	t.Helper()
	v, ok := h.Last("loss")
	require.True(t, ok)
	return v
}

func requireClose(t *testing.T, a, b *keras.Model) {
	t.Helper()
	x, y := a.Weights(), b.Weights()
	require.Len(t, y, len(x))
	for i := range x {
		v, err := x[i].Value()
		require.NoError(t, err)
		w, err := y[i].Value()
		require.NoError(t, err)
		require.InDeltaSlice(t, v.Float64s(), w.Float64s(), 2e-6, x[i].Path())
	}
}

// Two replicas train on buckets like one, although the sequences of their parts have different lengths, and every
// boundary costs one program.
func TestReplicasTrainOnBuckets(t *testing.T) {
	lengths := []int{3, 9, 4, 1, 15, 5, 8, 2, 12, 4, 7, 3, 11, 6, 2, 16, 5, 9, 13, 8}
	for name, stack := range wordModels() {
		t.Run(name, func(t *testing.T) {
			steps := name == "steps"
			s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
			require.NoError(t, err)
			one, two := wordModel(t, stack()), wordModel(t, stack(), distribute.Scope(s))
			buckets := words(steps, lengths...).BucketBySequenceLength([]int{4, 8, 16}, 4, bucketOptions(steps)...)
			want, err := one.Fit(context.Background(), buckets, keras.Epochs(2))
			require.NoError(t, err)
			got, err := two.Fit(context.Background(), buckets, keras.Epochs(2))
			require.NoError(t, err)
			require.InDelta(t, lastLoss(t, want), lastLoss(t, got), 1e-6)
			requireClose(t, one, two)
			require.LessOrEqual(t, keras.TrainingPrograms(one), 4, "three boundaries, and a smaller batch at the end")
		})
	}
}
