package layers_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// runner calls a layer under a strategy, one batch after the other.
func runner(s distribute.Strategy, l layers.Layer) func(x opstest.Array) ([][]float64, error) {
	step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		return layers.Invoke(l, r.Training(), in.X)
	})
	return func(x opstest.Array) ([][]float64, error) {
		a, err := kernels.FromFloat64s(x.DType, x.Shape, x.F)
		if err != nil {
			return nil, err
		}
		split, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{a}})
		if err != nil {
			return nil, err
		}
		parts, err := s.Run(context.Background(), step, split)
		var out [][]float64
		for _, p := range parts {
			out = append(out, p.Float64s())
		}
		return out, err
	}
}

// stepsOf runs a new layer on batches and returns each result, with the replicas' parts joined.
func stepsOf(t *testing.T, s distribute.Strategy, l layers.Layer, batches ...opstest.Array) [][]float64 {
	t.Helper()
	run := runner(s, l)
	var all [][]float64
	for _, x := range batches {
		parts, err := run(x)
		require.NoError(t, err)
		var joined []float64
		for _, p := range parts {
			joined = append(joined, p...)
		}
		all = append(all, joined)
	}
	return all
}

func statefulLSTM() layers.Layer {
	return &layers.LSTM{Name: "memory", Units: 3, ReturnSequences: true, Stateful: true}
}

// sequence returns steps of an example batch: all of them, and divided into two batches.
func sequence(examples int) (whole, first, second opstest.Array) {
	whole = opstest.Normal(3, examples, 5, 2).As(ir.Float32)
	cut := func(from, to int) opstest.Array {
		out := opstest.Array{Shape: []int{examples, to - from, 2}, DType: whole.DType}
		for i := range examples {
			out.F = append(out.F, whole.F[(i*5+from)*2:(i*5+to)*2]...)
		}
		return out
	}
	return whole, cut(0, 2), cut(2, 5)
}

// TestStatefulGoesOn: two batches give the same as one long batch, for any number of replicas; ResetState starts over.
func TestStatefulGoesOn(t *testing.T) {
	const examples = 5
	whole, first, second := sequence(examples)
	want := stepsOf(t, distribute.Default(), &layers.LSTM{Name: "memory", Units: 3, ReturnSequences: true}, whole)[0]
	for _, devices := range [][]string{{"cpu:0"}, {"cpu:0", "cpu:1"}, {"cpu:0", "cpu:1", "cpu:2"}} {
		s, err := distribute.NewMirroredStrategy(devices...)
		require.NoError(t, err)
		l := statefulLSTM()
		run := runner(s, l)
		for range 2 {
			var got [2][]float64
			for i, x := range []opstest.Array{first, second} {
				parts, err := run(x)
				require.NoError(t, err)
				for _, p := range parts {
					got[i] = append(got[i], p...)
				}
			}
			for i := range examples {
				joined := append(append([]float64{}, got[0][i*6:i*6+6]...), got[1][i*9:i*9+9]...)
				for j, v := range joined {
					require.InDelta(t, want[i*15+j], v, 1e-6, "%d replicas, example %d, element %d", len(devices), i, j)
				}
			}
			require.NoError(t, l.(layers.StateResetter).ResetState())
		}
	}
}

// TestStatefulBatchSize: batches must have the same size, until the states are reset.
func TestStatefulBatchSize(t *testing.T) {
	five, _, _ := sequence(5)
	three, _, _ := sequence(3)
	l := statefulLSTM()
	run := runner(distribute.Default(), l)
	_, err := run(five)
	require.NoError(t, err)
	_, err = run(three)
	require.ErrorContains(t, err, "memory: a stateful layer needs batches of one size: expected 5 examples, received 3")
	fresh := stepsOf(t, distribute.Default(), statefulLSTM(), three)[0]
	require.NoError(t, l.(layers.StateResetter).ResetState())
	got, err := run(three)
	require.NoError(t, err)
	assert.Equal(t, fresh, got[0])
}

// TestStatefulStatesAreNoWeights: states are neither trained nor saved.
func TestStatefulStatesAreNoWeights(t *testing.T) {
	x, _, _ := sequence(2)
	l := &layers.Bidirectional{Layer: &layers.GRU{Units: 2, Stateful: true}}
	stepsOf(t, distribute.Default(), l, x, x)
	assert.Len(t, layers.Weights(l), 6)
	require.NoError(t, l.ResetState())
	require.NoError(t, (&layers.LSTM{Units: 2, Stateful: true}).ResetState(), "before the first call")
}
