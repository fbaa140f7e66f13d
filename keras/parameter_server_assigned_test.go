package keras_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestParameterServerAssignedWeights: a layer that assigns a trained weight in each step, like SpectralNormalization,
// trains on parameter servers as on one device, with the model's own step and with a user's.
func TestParameterServerAssignedWeights(t *testing.T) {
	own := func(s *keras.Step) keras.StepLogs {
		y := s.Model().Call(s.Training(), s.X[0])
		s.Minimize(s.Optimizer(), s.ComputeLoss(y), s.Model().TrainableVariables())
		return s.ComputeMetrics(y)
	}
	x, y := line(40)
	for name, step := range map[string]keras.StepFunc{"own": own, "usual": nil} {
		t.Run(name, func(t *testing.T) {
			trainsAlike(t, func(ctx context.Context, s distribute.Strategy) (*keras.Model, *keras.History, error) {
				m := sequential(t, []keras.Option{distribute.Scope(s), keras.Seed(4), keras.InputShape(2)},
					&layers.SpectralNormalization{Layer: &layers.Dense{Units: 5, Activation: "tanh"}}, &layers.BatchNormalization{Momentum: pointer(0.5)}, &layers.Dense{Units: 1})
				require.NoError(t, m.Compile(keras.CompileConfig{
					Optimizer: &optimizers.SGD{LearningRate: 0.05, Momentum: 0.5, Options: optimizers.Options{WeightDecay: pointer(0.1)}}, Loss: "mse", TrainStep: step,
				}))
				h, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(16), keras.StepsPerEpoch(3), keras.Epochs(2), keras.Shuffle(false)) // the last batch is shorter
				return m, h, err
			})
		})
	}
}

// TestParameterServerAssignedByMany: if several workers train asynchronously, assigned weights keep a value that one of
// them has assigned: moving statistics are those of a batch, and a kernel's largest singular value is about one.
func TestParameterServerAssignedByMany(t *testing.T) {
	x, y := line(40)
	require.NoError(t, onParameterServers(t, 8, 1, nil, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		m := sequential(t, []keras.Option{distribute.Scope(s), keras.Seed(4), keras.InputShape(2)},
			&layers.Dense{Units: 200, Activation: "tanh"}, &layers.SpectralNormalization{Layer: &layers.Dense{Units: 200, Activation: "tanh"}}, &layers.BatchNormalization{Momentum: pointer(0)}, &layers.Dense{Units: 1})
		if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 1e-3}, Loss: "mse"}); err != nil {
			return err
		}
		if _, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(8), keras.StepsPerEpoch(120)); err != nil || !s.IsCoordinator() {
			return err
		}
		for i, values := range valuesOfAll(t, m.Weights()) {
			largest := 0.0
			for _, v := range values {
				largest = max(largest, math.Abs(v))
			}
			assert.LessOrEqual(t, largest, 2.5, m.Weights()[i].Path())
		}
		return nil
	}))
}

// TestParameterServerAssignedAtTimes: a step that assigns a trained weight only for batches of one shape is an error.
func TestParameterServerAssignedAtTimes(t *testing.T) {
	x, y := line(40)
	err := onParameterServers(t, 1, 1, oneAtATime, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		m := sequential(t, []keras.Option{distribute.Scope(s), keras.Seed(4), keras.InputShape(2)}, &layers.Dense{Units: 1})
		step := func(s *keras.Step) keras.StepLogs {
			if w := s.Model().TrainableVariables()[0]; s.X[0].Dim(0) < 16 { // the last batch
				s.AssignMirrored(w, ops.MultiplyScalar(s.Read(w), 0.5))
			}
			y := s.Model().Call(s.Training(), s.X[0])
			s.Minimize(s.Optimizer(), s.ComputeLoss(y), s.Model().TrainableVariables())
			return s.ComputeMetrics(y)
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", TrainStep: step}); err != nil {
			return err
		}
		_, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(16), keras.StepsPerEpoch(3), keras.Shuffle(false))
		return err
	})
	require.ErrorContains(t, err, "dense/kernel for batches of some shapes alone")
}

// assigning is a layer of the user's whose steps assign, each replica what its examples give: a weight that is trained
// too, the largest number so far, which begins with -∞, and that of the first replica; and that count steps and
// examples.
type assigning struct {
	layers.Base
	scale, most, first, steps, examples *distribute.Variable
}

func (l *assigning) Build(b *layers.Builder, in []ir.Shape) {
	l.scale = b.AddWeight("scale", ir.Shape{in[0][1]}, layers.WeightOptions{Initializer: "ones", Aggregation: distribute.Mean})
	l.most = b.AddWeight("most", ir.Shape{}, layers.WeightOptions{Initializer: &initializers.Constant{Value: math.Inf(-1)}, Frozen: true, Aggregation: distribute.Mean})
	l.first = b.AddWeight("first", ir.Shape{}, layers.WeightOptions{Initializer: "zeros", Frozen: true, Aggregation: distribute.OnlyFirstReplica})
	l.steps = b.AddWeight("steps", ir.Shape{}, layers.WeightOptions{Initializer: "zeros", Frozen: true})
	l.examples = b.AddWeight("examples", ir.Shape{}, layers.WeightOptions{Initializer: "zeros", Frozen: true, Aggregation: distribute.Sum})
}

func (l *assigning) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	y := ops.Multiply(in[0], c.Read(l.scale)) // before replicas agree on the next one, which parts of a round do later
	if c.Training {
		x := ops.StopGradient(in[0])
		c.Assign(l.scale, ops.Add(ops.MultiplyScalar(c.Read(l.scale), 0.9), ops.MultiplyScalar(ops.Mean(x, 0), 0.2)))
		c.Assign(l.most, ops.Maximum(c.Read(l.most), ops.Max(x)))
		c.Assign(l.first, ops.Add(c.Read(l.first), ops.Mean(x)))
		c.AssignAdd(l.steps, ops.Scalar(x, 1))
		c.AssignAdd(l.examples, ops.Scalar(x, float64(x.Dim(0))))
	}
	return []*ops.Tensor{y}
}

// TestParameterServerAssignedRounds: rounds of three closures give the results of three replicas, on any number of
// workers: assigned values of all parts are averaged before the weight decays, takes the gradient and is constrained.
func TestParameterServerAssignedRounds(t *testing.T) {
	const parts, batch = 3, 4
	x, y := line(3 * parts * batch)
	fit := func(ctx context.Context, s distribute.Strategy, batch int) (*keras.Model, *keras.History, error) {
		m := sequential(t, []keras.Option{distribute.Scope(s), keras.Seed(4), keras.InputShape(2)}, &assigning{},
			&layers.SpectralNormalization{Layer: &layers.Dense{Units: 5, Activation: "tanh", KernelConstraint: "non_neg"}}, &layers.BatchNormalization{Momentum: pointer(0.5)}, &assigning{}, &layers.Dense{Units: 1})
		require.NoError(t, m.Compile(keras.CompileConfig{
			Optimizer: &optimizers.Adam{LearningRate: 0.05, Epsilon: pointer(1e-2), Options: optimizers.Options{WeightDecay: pointer(0.5)}}, Loss: "mse",
		}))
		h, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(batch), keras.StepsPerEpoch(3), keras.Epochs(2), keras.Shuffle(false))
		return m, h, err
	}
	mirrored, history, err := fit(t.Context(), tfStrategy(t, "Mirrored", parts), parts*batch)
	require.NoError(t, err)
	want := valuesOfAll(t, mirrored.Weights())
	for workers := 1; workers <= 3; workers++ {
		rounds := func(o *parameterserver.Options) {
			o.VariablePartitioner, o.Consistency = partitioners.FixedShards{Shards: 2}, parameterserver.Consistency{Synchronous: true, Replicas: parts}
		}
		require.NoError(t, onParameterServers(t, workers, 2, rounds, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			m, h, err := fit(ctx, s, batch)
			if err != nil || !s.IsCoordinator() {
				return err
			}
			for i, w := range want {
				assert.InDeltaSlice(t, w, valuesOfAll(t, m.Weights())[i], 2e-5, "%d workers: %s", workers, m.Weights()[i].Path())
			}
			assert.InDeltaSlice(t, history.Logs["loss"], h.Logs["loss"], 1e-5)
			return nil
		}))
	}
}

// TestParameterServerCounts: all contributions of asynchronous workers to weights that steps add to are counted.
func TestParameterServerCounts(t *testing.T) {
	x, y := line(40)
	require.NoError(t, onParameterServers(t, 3, 2, nil, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		counting := &assigning{}
		m := sequential(t, []keras.Option{distribute.Scope(s), keras.Seed(4), keras.InputShape(2)}, counting, &layers.Dense{Units: 1})
		if err := m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}); err != nil {
			return err
		}
		if _, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(8), keras.StepsPerEpoch(60)); err != nil || !s.IsCoordinator() {
			return err
		}
		got := valuesOfAll(t, distribute.Variables{counting.steps, counting.examples})
		assert.Equal(t, [][]float64{{60}, {60 * 8}}, got)
		return nil
	}))
}
