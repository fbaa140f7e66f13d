package keras_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestParameterServerAssignedWeights: a layer that assigns the weight that is trained, as SpectralNormalization does in
// each step, trains on parameter servers as on one device, with the model's own step and with one of the user's.
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

// TestParameterServerAssignedByMany: where several workers go their own ways, what layers assign stays what one of them
// has assigned: moving statistics that are those of a batch, a kernel whose largest singular value is about one.
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

// TestParameterServerAssignedAtTimes: a step that assigns a trained weight for batches of one shape alone is an error.
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
