package keras_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestTrainingInSixteenBits trains networks with each kind of layer that multiplies. Their losses must be those of
// float32 within the precision of their types, with the same bits for one thread and three.
func TestTrainingInSixteenBits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	steps := 8
	if testing.Short() {
		steps = 3
	}
	for name, c := range map[string]struct {
		input []int
		list  func() []layers.Layer
	}{
		"dense": {[]int{237}, func() []layers.Layer { return []layers.Layer{&layers.Dense{Units: 248, Activation: "relu"}} }}, // enough that pairs pay in matrix registers
		"convolutions": {[]int{9, 11, 4}, func() []layers.Layer {
			return []layers.Layer{&layers.Conv2D{Filters: 16, KernelSize: []int{3, 3}, Padding: "same", Activation: "relu"},
				&layers.Conv2D{Filters: 32, KernelSize: []int{1, 1}}, &layers.Conv2D{Filters: 16, KernelSize: []int{3, 3}, Strides: []int{2, 2}}, &layers.Flatten{}}
		}},
		"lstm": {[]int{6, 20}, func() []layers.Layer { return []layers.Layer{&layers.LSTM{Units: 24}} }},
		"gru":  {[]int{6, 20}, func() []layers.Layer { return []layers.Layer{&layers.GRU{Units: 24}} }},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			const examples, classes = 48, 5
			size := examples
			for _, n := range c.input {
				size *= n
			}
			x, y := make([]float32, size), make([]int32, examples)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			for i := range y {
				y[i] = int32(r.IntN(classes))
			}
			batch := data.Arrays(shaped(x, append([]int{examples}, c.input...)...), shaped(y, examples))
			train := func(policy string, threads int) (losses []float64) {
				runtime.GOMAXPROCS(threads)
				m, err := keras.NewSequential(append(c.list(), &layers.Dense{Units: classes, Activation: "softmax", DType: "float32"}), keras.Seed(4),
					keras.InputShape(c.input...), keras.DTypePolicy(policy))
				require.NoError(t, err)
				require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.003}, Loss: "sparse_categorical_crossentropy"}))
				for range steps {
					logs, err := m.TrainOnBatch(t.Context(), batch)
					require.NoError(t, err)
					losses = append(losses, logs["loss"])
				}
				return losses
			}
			want := train("float32", 1)
			for policy, tolerance := range map[string]float64{"mixed_bfloat16": 0.04, "mixed_float16": 0.02} {
				got := train(policy, 1)
				for i := range want {
					require.InDelta(t, want[i], got[i], tolerance, "%s, step %d", policy, i)
				}
				require.Equal(t, got, train(policy, 3), "%s: three threads", policy)
			}
		})
	}
}
