package keras_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/optimizers"
)

// oneAtATime makes training on servers equal that on one device, with variables in two shards.
func oneAtATime(o *parameterserver.Options) {
	o.InFlight, o.Consistency.Staleness, o.VariablePartitioner = 1, 1, partitioners.FixedShards{Shards: 2}
}

// trainsAlike compares training on one device with that on parameter servers: the weights and the history.
func trainsAlike(t *testing.T, fit func(ctx context.Context, s distribute.Strategy) (*keras.Model, *keras.History, error)) {
	t.Helper()
	local, want, err := fit(t.Context(), distribute.Default())
	require.NoError(t, err)
	weights := valuesOfAll(t, local.Weights())
	for name, change := range map[string]func(*parameterserver.Options){
		"asynchronous": oneAtATime,
		"rounds": func(o *parameterserver.Options) {
			oneAtATime(o)
			o.Consistency = parameterserver.Consistency{Synchronous: true, Replicas: 1}
		},
	} {
		require.NoError(t, onParameterServers(t, 1, 2, change, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			m, h, err := fit(ctx, s)
			if err != nil {
				return err
			}
			for i, w := range weights {
				assert.InDeltaSlice(t, w, valuesOfAll(t, m.Weights())[i], 2e-5, "%s: weight %d of worker %d", name, i, s.Worker())
			}
			for log := range want.Logs {
				assert.InDeltaSlice(t, want.Logs[log], h.Logs[log], 1e-5, "%s: %s", name, log)
			}
			return nil
		}), name)
	}
}

// TestParameterServerConstraints: servers apply constraints to the whole of a weight after each update, as one device
// does: to rows with and without a gradient, along any axes, of weights in one shard and in two.
func TestParameterServerConstraints(t *testing.T) {
	embedding := func(c any) []layers.Layer {
		return []layers.Layer{&layers.Embedding{InputDim: 30, OutputDim: 3, EmbeddingsConstraint: c}, &layers.Flatten{}, &layers.Dense{Units: 1, KernelConstraint: "non_neg"}}
	}
	for name, stack := range map[string]func() []layers.Layer{
		"rows of a table":    func() []layers.Layer { return embedding(constraints.MaxNorm{MaxValue: pointer(0.05), Axis: []int{1}}) },
		"columns of a table": func() []layers.Layer { return embedding(&constraints.MaxNorm{MaxValue: pointer(0.05)}) },
		"all of a table":     func() []layers.Layer { return embedding(&constraints.UnitNorm{Axis: []int{0, -1}}) },
		"half the way": func() []layers.Layer {
			return embedding(&constraints.MinMaxNorm{MinValue: 0.1, MaxValue: pointer(0.2), Rate: pointer(0.5), Axis: []int{1}})
		},
		"numbers of a table": func() []layers.Layer { return embedding("non_neg") },
		"kernels and filters": func() []layers.Layer {
			return []layers.Layer{&layers.Embedding{InputDim: 11, OutputDim: 4}, &layers.Conv1D{Filters: 5, KernelSize: []int{2}, KernelConstraint: &constraints.MaxNorm{MaxValue: pointer(0.5), Axis: []int{0, 1}}},
				&layers.Conv1D{Filters: 4, KernelSize: []int{1}, KernelConstraint: &constraints.UnitNorm{Axis: []int{0, 2}}, BiasConstraint: "max_norm"},
				&layers.Conv1D{Filters: 4, KernelSize: []int{1}, KernelConstraint: &constraints.MinMaxNorm{MinValue: 0.4, Axis: []int{2}}},
				&layers.Flatten{}, &layers.Dense{Units: 1, KernelConstraint: "unit_norm"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			trainsAlike(t, func(ctx context.Context, s distribute.Strategy) (*keras.Model, *keras.History, error) {
				m, err := keras.NewSequential(stack(), keras.InputShape(2), keras.Seed(3), distribute.Scope(s))
				require.NoError(t, err)
				h, err := fitServerModel(ctx, m, &optimizers.Adam{LearningRate: 0.02})
				return m, h, err
			})
		})
	}
}

// halving is a user's constraint: it moves a weight halfway to its mean, in a loop.
type halving struct{}

func (halving) Apply(w *ops.Tensor) *ops.Tensor {
	mean := ops.BroadcastTo(ops.Mean(w), w.Shape()...)
	final, _ := ops.Scan(func(carry, _ []*ops.Tensor) (next, out []*ops.Tensor) {
		return []*ops.Tensor{ops.Add(ops.MultiplyScalar(carry[0], 0.75), ops.MultiplyScalar(mean, 0.25))}, nil
	}, []*ops.Tensor{w}, nil, ops.ScanOptions{Length: 2})
	return final[0]
}

// TestParameterServerOwnConstraints: servers apply users' constraints, types and functions, to the whole weight.
func TestParameterServerOwnConstraints(t *testing.T) {
	trainsAlike(t, func(ctx context.Context, s distribute.Strategy) (*keras.Model, *keras.History, error) {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Embedding{InputDim: 30, OutputDim: 3, EmbeddingsConstraint: func(w *ops.Tensor) *ops.Tensor { return ops.Clip(w, -0.02, 0.03) }}, &layers.Flatten{},
			&layers.Dense{Units: 4, KernelConstraint: &halving{}, BiasConstraint: func(w *ops.Tensor) *ops.Tensor { return w }}, &layers.Dense{Units: 1},
		}, keras.InputShape(2), keras.Seed(3), distribute.Scope(s))
		require.NoError(t, err)
		h, err := fitServerModel(ctx, m, &optimizers.Adam{LearningRate: 0.02})
		return m, h, err
	})
}

// TestParameterServerBadConstraint: an invalid constraint is an error that names the weight, on the caller's side.
func TestParameterServerBadConstraint(t *testing.T) {
	for text, f := range map[string]func(w *ops.Tensor) *ops.Tensor{
		"shape [1] of a variable of type float32 and shape [6 1]": func(w *ops.Tensor) *ops.Tensor { return ops.Sum(w, 0) },
		"needs a random state":  func(w *ops.Tensor) *ops.Tensor { return ops.Add(w, ops.RandomUniform(w, ir.Float32, 0, 1, 1, 6, 1)) },
		"no tensor made of its": func(w *ops.Tensor) *ops.Tensor { return nil },
	} {
		err := onParameterServers(t, 1, 1, nil, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			m, err := keras.NewSequential([]layers.Layer{&layers.Embedding{InputDim: 11, OutputDim: 3}, &layers.Flatten{}, &layers.Dense{Name: "d", Units: 1, KernelConstraint: f}}, keras.InputShape(2), distribute.Scope(s))
			require.NoError(t, err)
			_, err = fitServerModel(ctx, m, &optimizers.SGD{})
			return err
		})
		require.ErrorContains(t, err, "keras: Fit: weight d/kernel: the constraint of type constraints.Func: ")
		require.ErrorContains(t, err, text)
	}
}
