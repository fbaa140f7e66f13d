package estimator_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// wave are 24 examples of two features and a target of each kind.
func wave() (x [][]float32, real [][]float32, class []int64) {
	for i := range 24 {
		a, b := math.Sin(float64(i)), math.Cos(float64(3*i))
		x = append(x, []float32{float32(a), float32(b)})
		real = append(real, []float32{float32(a*b - .5*a + .1)})
		class = append(class, int64(i%3))
	}
	return x, real, class
}

func waveInput(y any, batch int) estimator.InputFn {
	x, _, _ := wave()
	return func(distribute.InputContext) (data.Dataset, error) {
		return data.FromTensorSlices(map[string]any{"x": x}, y).Repeat(-1).Batch(batch, false), nil
	}
}

var waveColumn = []estimator.FeatureColumn{estimator.NumericColumn{Key: "x", Shape: []int{2}}}

// Ready-made models equal a Keras model with the same weights, loss and optimizer, step by step, on one replica and on
// two.
func TestCannedEqualKeras(t *testing.T) {
	x, real, class := wave()
	two := make([]int64, len(class))
	for i, c := range class {
		two[i] = c % 2
	}
	column := func(list []int64) [][]float32 {
		out := make([][]float32, len(list))
		for i, c := range list {
			out[i] = []float32{float32(c)}
		}
		return out
	}
	dense := func(units int, activation string) layers.Layer {
		return &layers.Dense{Units: units, Activation: activation}
	}
	hidden := []string{"dnn/hiddenlayer_0/kernel", "dnn/hiddenlayer_0/bias", "dnn/logits/kernel", "dnn/logits/bias"}
	linear := []string{"linear/linear_model/x/weights", "linear/linear_model/bias_weights"}
	for _, c := range []struct {
		name    string
		make    func(estimator.RunConfig) (*estimator.Estimator, error)
		labels  any
		model   func() ([]layers.Layer, optimizers.Optimizer)
		loss    losses.Loss
		y       any
		weights []string
	}{
		{"DNNRegressor", func(c estimator.RunConfig) (*estimator.Estimator, error) {
			return estimator.NewDNNRegressor(estimator.DNNRegressor{HiddenUnits: []int{5}, FeatureColumns: waveColumn, Config: c})
		}, real, func() ([]layers.Layer, optimizers.Optimizer) {
			return []layers.Layer{dense(5, "relu"), dense(1, "")}, &optimizers.Adagrad{LearningRate: .05}
		}, &losses.MeanSquaredError{}, real, hidden},
		{"DNNClassifier", func(c estimator.RunConfig) (*estimator.Estimator, error) {
			return estimator.NewDNNClassifier(estimator.DNNClassifier{HiddenUnits: []int{5}, NClasses: 3, FeatureColumns: waveColumn, Config: c,
				Optimizer: &optimizers.Adam{LearningRate: .01}, Activation: "tanh"})
		}, class, func() ([]layers.Layer, optimizers.Optimizer) {
			return []layers.Layer{dense(5, "tanh"), dense(3, "")}, &optimizers.Adam{LearningRate: .01}
		}, &losses.SparseCategoricalCrossentropy{FromLogits: true}, class, hidden},
		{"LinearClassifier", func(c estimator.RunConfig) (*estimator.Estimator, error) {
			return estimator.NewLinearClassifier(estimator.LinearClassifier{FeatureColumns: waveColumn, Config: c})
		}, two, func() ([]layers.Layer, optimizers.Optimizer) {
			return []layers.Layer{dense(1, "")}, &optimizers.Ftrl{LearningRate: .2}
		}, &losses.BinaryCrossentropy{FromLogits: true}, column(two), linear},
		{"LinearRegressor sum", func(c estimator.RunConfig) (*estimator.Estimator, error) {
			return estimator.NewLinearRegressor(estimator.LinearRegressor{FeatureColumns: waveColumn, Config: c, LossReduction: estimator.Sum,
				Optimizer: &optimizers.SGD{LearningRate: .01}})
		}, real, func() ([]layers.Layer, optimizers.Optimizer) {
			return []layers.Layer{dense(1, "")}, &optimizers.SGD{LearningRate: .01}
		}, &losses.MeanSquaredError{Reduction: losses.Sum}, real, linear},
	} {
		for _, replicas := range []int{1, 2} {
			t.Run(fmt.Sprint(c.name, " ", replicas), func(t *testing.T) {
				conf := config(t, replicas)
				conf.TFRandomSeed = 7
				e, err := c.make(conf)
				require.NoError(t, err)
				batch := 8 / replicas
				stop := errors.New("stop") // after the checkpoint of the beginning
				require.ErrorIs(t, e.Train(ctx, waveInput(c.labels, batch), estimator.Hooks(&recorder{quiet: true, fail: stop})), stop)
				stack, optimizer := c.model()
				m, err := keras.NewSequential(stack, keras.InputShape(2))
				require.NoError(t, err)
				require.NoError(t, m.SetWeights(arrays(t, e, c.weights)))
				require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: c.loss}))
				for step := range 6 {
					source := data.Arrays(x, c.y).Slice(8*(step%3), 8*(step%3)+8)
					_, err := m.TrainOnBatch(ctx, source)
					require.NoError(t, err)
				}
				require.NoError(t, e.Train(ctx, waveInput(c.labels, batch), estimator.Steps(6)))
				for i, want := range must(m.GetWeights()) {
					got := arrays(t, e, c.weights)[i].Float64s()
					for j, w := range want.Float64s() {
						require.True(t, math.Abs(got[j]-w) <= 2e-6+2e-5*math.Abs(w), "%s[%d] is %v, want %v", c.weights[i], j, got[j], w)
					}
				}
			})
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// arrays reads variables of the latest checkpoint.
func arrays(t *testing.T, e *estimator.Estimator, names []string) []kernels.Array {
	t.Helper()
	var out []kernels.Array
	for _, name := range names {
		d, err := e.VariableValue(name)
		require.NoError(t, err)
		a, err := kernels.FromFloat64s(ir.Float32, ir.Shape([]int(d.Shape())), numbers(t, d))
		require.NoError(t, err)
		out = append(out, a)
	}
	return out
}
