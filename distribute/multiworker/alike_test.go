package multiworker_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// ownState is a layer with variables of all kinds, to which each replica assigns what its own examples give.
type ownState struct {
	layers.Base
	vars []*distribute.Variable
}

// Build implements [layers.Layer].
func (l *ownState) Build(b *layers.Builder, _ []ir.Shape) {
	l.vars = nil
	for _, synchronization := range []distribute.VariableSynchronization{distribute.OnWrite, distribute.OnRead} {
		for _, aggregation := range []distribute.VariableAggregation{distribute.None, distribute.Sum, distribute.Mean, distribute.OnlyFirstReplica} {
			for _, frozen := range []bool{true, false} {
				if aggregation == distribute.None && !frozen { // a weight whose copies may not differ
					continue
				}
				l.vars = append(l.vars, b.AddWeight(fmt.Sprint(synchronization, "_", aggregation, "_", frozen), ir.Shape{2},
					layers.WeightOptions{Initializer: "ones", Frozen: frozen, Synchronization: synchronization, Aggregation: aggregation}))
			}
		}
	}
	b.AddWeight("empty", ir.Shape{0}, layers.WeightOptions{Initializer: "ones"})
}

// Forward implements [layers.Layer].
func (l *ownState) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	if c.Training {
		x := ops.Cast(ops.StopGradient(in[0]), ir.Float32)
		for _, v := range l.vars {
			c.Assign(v, ops.Add(ops.MultiplyScalar(c.Read(v), 0.25), ops.BroadcastTo(ops.Sum(x), 2)))
		}
	}
	return []*ops.Tensor{in[0]}
}

// TestWeightsThatMayDiffer: state that each replica has for itself, and weights that have come to NaN and infinity on
// all workers, are no difference at the end of an epoch, whatever parts of a batch the replicas have.
func TestWeightsThatMayDiffer(t *testing.T) {
	dense := func() layers.Layer { return &layers.Dense{Units: 4, Activation: "tanh"} }
	for name, c := range map[string]struct {
		layers func() []layers.Layer
		policy string
		steps  bool // full batches alone
	}{
		"variables": {layers: func() []layers.Layer { return []layers.Layer{&ownState{}, dense()} }},
		"moving":    {layers: func() []layers.Layer { return []layers.Layer{dense(), &layers.BatchNormalization{}} }},
		"renormed":  {layers: func() []layers.Layer { return []layers.Layer{dense(), &layers.BatchNormalization{Renorm: true}} }},
		"together":  {layers: func() []layers.Layer { return []layers.Layer{dense(), &layers.BatchNormalization{Synchronized: true}} }},
		"kept":      {layers: func() []layers.Layer { return []layers.Layer{&layers.BatchNormalization{Frozen: true}, dense()} }},
		"random": {layers: func() []layers.Layer {
			return []layers.Layer{&layers.GaussianNoise{Stddev: 1}, dense(), &layers.Dropout{Rate: 0.5}}
		}},
		"spectral":   {layers: func() []layers.Layer { return []layers.Layer{&layers.SpectralNormalization{Layer: dense()}} }},
		"bfloat16":   {layers: func() []layers.Layer { return []layers.Layer{dense(), &layers.BatchNormalization{}} }, policy: "bfloat16"},
		"eight bits": {layers: func() []layers.Layer { return []layers.Layer{dense()} }, policy: "float8_from_mixed_bfloat16"},
		"recurrent": {layers: func() []layers.Layer {
			return []layers.Layer{&layers.Reshape{TargetShape: []int{2, 2}}, &layers.LSTM{Units: 3, Stateful: true}}
		}, steps: true},
	} {
		for replicas := 1; replicas <= 2; replicas++ {
			t.Run(fmt.Sprint(name, " ", replicas), func(t *testing.T) {
				t.Parallel()
				_, errs := workers(t, 2, func(_ int, o *multiworker.Options) { o.Devices = []string{"cpu:0", "cpu:1"}[:replicas] },
					func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (int, error) {
						policy := c.policy
						if policy == "" {
							policy = "float32"
						}
						m, err := keras.NewSequential(append(c.layers(), &layers.Dense{Units: 2}), distribute.Scope(s), keras.DTypePolicy(policy), keras.Seed(3), keras.InputShape(4))
						if err != nil {
							return 0, err
						}
						if err := m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse", Metrics: []string{"mae"}}); err != nil {
							return 0, err
						}
						options := []keras.FitOption{keras.BatchSize(4), keras.Epochs(3), keras.Callbacks(&callbacks.LambdaCallback{EpochEnd: func(epoch int, _ *callbacks.Logs) error {
							return spoil(m, epoch, s.Rank())
						}})}
						if c.steps {
							options = append(options, keras.StepsPerEpoch(3), keras.Shuffle(false))
						}
						_, err = m.Fit(ctx, trainings()[0].arrays(false), options...) // the last batch has an example for one replica alone
						return 0, err
					})
				for rank, err := range errs {
					require.NoError(t, err, "worker %d", rank)
				}
			})
		}
	}
}

// spoil gives three elements of the last kernel, at the end, what no number is near, and what differs by rounding.
func spoil(m *keras.Model, epoch, rank int) error {
	var kernel *distribute.Variable
	for _, v := range m.Weights() {
		if v.Name() == "kernel" {
			kernel = v
		}
	}
	a, err := kernel.Value()
	if err != nil || epoch != 2 {
		return err
	}
	for i, x := range []float64{math.NaN(), math.Inf(-1), 1 + float64(rank)/128} {
		if err := a.SetFloat64s(i, []float64{x}); err != nil {
			return err
		}
	}
	return kernel.SetValue(a)
}

// constants is a layer with a frozen weight, which no step assigns.
type constants struct {
	layers.Base
	weight *distribute.Variable
}

// Build implements [layers.Layer].
func (l *constants) Build(b *layers.Builder, _ []ir.Shape) {
	l.weight = b.AddWeight("constant", ir.Shape{1}, layers.WeightOptions{Initializer: "ones", Frozen: true})
}

// Forward implements [layers.Layer].
func (l *constants) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Multiply(in[0], c.Read(l.weight))}
}

// TestFrozenWeightsThatDiffer: a frozen weight that a callback changes on one worker alone is an error at the end of
// the epoch, also beside state that each replica has for itself.
func TestFrozenWeightsThatDiffer(t *testing.T) {
	_, errs := workers(t, 2, func(int, *multiworker.Options) {}, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (int, error) {
		odd := &constants{}
		m, err := keras.NewSequential([]layers.Layer{&ownState{}, odd, &layers.Dense{Units: 2}}, distribute.Scope(s), keras.InputShape(4))
		if err != nil {
			return 0, err
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}); err != nil {
			return 0, err
		}
		_, err = m.Fit(ctx, trainings()[0].arrays(false), keras.BatchSize(4), keras.Epochs(3), keras.Callbacks(&callbacks.LambdaCallback{EpochEnd: func(epoch int, _ *callbacks.Logs) error {
			if epoch != 1 || s.Rank() != 1 {
				return nil
			}
			a, err := odd.weight.Value()
			if err == nil {
				err = a.SetFloat64s(0, []float64{2})
			}
			if err != nil {
				return err
			}
			return odd.weight.SetValue(a)
		}}))
		return 0, err
	})
	require.ErrorContains(t, errs[1], "constant is not what the chief has: element 0 is 2 here and 1 there")
	require.Error(t, errs[0])
}
