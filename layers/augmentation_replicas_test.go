package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// TestAugmentationOnReplicas: each replica mixes the images of its own part of a batch, the other layers run there too,
// and two runs give the same bits.
func TestAugmentationOnReplicas(t *testing.T) {
	const n = 16
	images, labels := waves(n, 6, 5, 3), waves(n, n)
	one := labels.Elements().([]float32)
	for i := range one {
		one[i] = 0
		if i%n == i/n {
			one[i] = 1
		}
	}
	run := func(mixer layers.Layer) (map[string][]float64, []float32) {
		strategy, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
		require.NoError(t, err)
		more := []layers.Layer{&layers.RandAugment{ValueRange: []float64{-1, 1}}, &layers.AugMix{ValueRange: []float64{-1, 1}, NumChains: 2}, &layers.RandomPerspective{}, &layers.RandomElasticTransform{}}
		m, err := keras.NewSequential(append(more, &layers.Flatten{}, &layers.Dense{Units: n}), keras.InputShape(6, 5, 3), distribute.Scope(strategy), keras.Seed(4))
		require.NoError(t, err)
		step := func(s *keras.Step) keras.StepLogs {
			mixed := layers.InvokeAll(mixer, s.Training(), s.X[0], s.Y[0])
			own := ops.Max(s.Y[0], 0) // 1 for the classes of this replica's examples
			foreign := ops.Sum(ops.Multiply(mixed[1], ops.Subtract(ops.OnesLike(own), own)))
			moved := ops.Sum(ops.Abs(ops.Subtract(mixed[1], s.Y[0])))
			s.X[0], s.Y[0] = mixed[0], mixed[1]
			loss := s.ComputeLoss(s.Model().Call(s.Training(), s.X...))
			s.Minimize(s.Optimizer(), loss, s.Model().TrainableVariables())
			return keras.StepLogs{"foreign": foreign, "moved": moved, "loss": loss}
		}
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", TrainStep: step}))
		history, err := m.Fit(t.Context(), data.Arrays(images, labels), keras.Epochs(3), keras.BatchSize(n))
		require.NoError(t, err)
		y, err := m.Predict(t.Context(), data.Arrays(images, nil))
		require.NoError(t, err)
		return history.Logs, y.Elements().([]float32)
	}
	for name, mixer := range map[string]func() layers.Layer{
		"mix up":  func() layers.Layer { return &layers.MixUp{Alpha: new(1.0)} },
		"cut mix": func() layers.Layer { return &layers.CutMix{Factor: []float64{1, 1}} },
	} {
		logs, y := run(mixer())
		for epoch := range 3 {
			assert.Zero(t, logs["foreign"][epoch], name)
			assert.Greater(t, logs["moved"][epoch], 1.0, name)
		}
		assert.NotEqual(t, logs["moved"][0], logs["moved"][1], name)
		again, z := run(mixer())
		assert.Equal(t, logs, again, name)
		assert.Equal(t, y, z, name)
	}
}
