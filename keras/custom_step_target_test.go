package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestStepReadsAnotherModel: Q-learning with a target network that is not part of the model; the step reads it and
// moves it towards the model. The numbers are computed by hand.
func TestStepReadsAnotherModel(t *testing.T) {
	one := func(weight float64) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, NoBias: true, KernelInitializer: initializers.Constant{Value: weight}}}, keras.InputShape(1))
		require.NoError(t, err)
		return m
	}
	model, target := one(2), one(3)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, TrainStep: func(s *keras.Step) keras.StepLogs {
		future := target.Call(s.Inference(), s.X[1])
		want := ops.StopGradient(ops.Add(s.Y[0], ops.MultiplyScalar(future, 0.5)))
		loss := s.Mean(ops.Square(ops.Subtract(model.Call(s.Training(), s.X[0]), want)))
		s.Minimize(s.Optimizer(), loss, model.TrainableVariables())
		for i, v := range target.Weights() {
			s.Assign(v, ops.Add(ops.MultiplyScalar(s.Read(v), 0.9), ops.MultiplyScalar(s.Read(model.Weights()[i]), 0.1)))
		}
		return keras.StepLogs{"loss": loss}
	}}))
	column := func(v float32) [][]float32 { return [][]float32{{v}} }
	for _, want := range []struct{ loss, model, target float64 }{{2.25, 2.3, 2.93}, {1.2769, 2.526, 2.8896}} {
		logs, err := model.TrainOnBatch(t.Context(), data.Arrays([]any{column(1), column(2)}, column(0.5)))
		require.NoError(t, err)
		require.InDelta(t, want.loss, logs["loss"], 1e-5)
		for m, w := range map[*keras.Model]float64{model: want.model, target: want.target} {
			p, err := m.PredictOnBatch(t.Context(), data.Arrays(column(1), nil))
			require.NoError(t, err)
			require.InDelta(t, w, p.Element(0), 1e-5)
		}
	}
	// A target network that has not been built would have weights that nobody could save.
	loose, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}})
	require.NoError(t, err)
	target = loose
	require.NoError(t, model.Compile(keras.CompileConfig{TrainStep: func(s *keras.Step) keras.StepLogs {
		loss := s.Mean(ops.Subtract(model.Call(s.Training(), s.X[0]), target.Call(s.Inference(), s.X[0])))
		s.Minimize(s.Optimizer(), loss, model.TrainableVariables())
		return keras.StepLogs{"loss": loss}
	}}))
	_, err = model.TrainOnBatch(t.Context(), data.Arrays(column(1), nil))
	require.ErrorContains(t, err, "neither the model's")
}

// TestStepSeesThatAnotherModelChanges: the program of a step is made again when layers of a separate model get other
// weights.
func TestStepSeesThatAnotherModelChanges(t *testing.T) {
	one := func() *keras.Model {
		return sequential(t, []keras.Option{keras.InputShape(1)}, &layers.Dense{Units: 1, NoBias: true, KernelInitializer: initializers.Constant{Value: 2}})
	}
	model, target := one(), one()
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 1e-9}, TrainStep: func(s *keras.Step) keras.StepLogs {
		loss := s.Mean(ops.Square(ops.Subtract(model.Call(s.Training(), s.X[0]), target.Call(s.Inference(), s.X[0]))))
		s.Minimize(s.Optimizer(), loss, model.TrainableVariables())
		return keras.StepLogs{"loss": loss}
	}}))
	trains := func(want float64) {
		t.Helper()
		logs, err := model.TrainOnBatch(t.Context(), data.Arrays([][]float32{{1}}, nil))
		require.NoError(t, err)
		require.InDelta(t, want, logs["loss"], 1e-5)
	}
	trains(0)
	require.NoError(t, target.Layers()[0].(layers.LoraEnabler).EnableLora(1))
	trains(0)
	weights, err := target.GetWeights()
	require.NoError(t, err)
	require.Len(t, weights, 3)
	for i := range weights {
		weights[i].Elements().([]float32)[0] = 1
	}
	require.NoError(t, target.SetWeights(weights)) // 1 + 1·1
	trains(0)
	weights[0].Elements().([]float32)[0] = 3
	require.NoError(t, target.SetWeights(weights))
	trains(4)
}
