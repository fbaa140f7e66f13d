package keras_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/regularizers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
)

// evaluation is a model with losses and metrics, and the labels that fit it.
type evaluation struct {
	network  rowNetwork
	compile  func() keras.CompileConfig
	labels   func(r *rand.Rand, n int) data.Array
	weighted bool
	exact    bool // the model has a program for each size
}

func classNumbers(classes int) func(r *rand.Rand, n int) data.Array {
	return func(r *rand.Rand, n int) data.Array {
		y := make([]int32, n)
		for i := range y {
			y[i] = int32(r.IntN(classes))
		}
		return data.Must(data.ArrayOf(y, n))
	}
}

func randomNumbers(of func(r *rand.Rand) float32, shape ...int) func(r *rand.Rand, n int) data.Array {
	return func(r *rand.Rand, n int) data.Array {
		y := make([]float32, n*ir.Shape(shape).Size())
		for i := range y {
			y[i] = of(r)
		}
		return data.Must(data.ArrayOf(y, append([]int{n}, shape...)...))
	}
}

func normal(r *rand.Rand) float32 { return float32(r.NormFloat64()) }
func coin(r *rand.Rand) float32   { return float32(r.IntN(2)) }

func evaluations() map[string]evaluation {
	dense := func(units int, activation string) rowNetwork {
		return rowNetwork{[]int{7}, func() []layers.Layer {
			return []layers.Layer{&layers.Dense{Units: 9, Activation: "relu"}, &layers.BatchNormalization{}, &layers.Dropout{Rate: 0.5}, &layers.Dense{Units: units, Activation: activation}}
		}}
	}
	with := func(loss any, list ...any) func() keras.CompileConfig {
		return func() keras.CompileConfig { return keras.CompileConfig{Loss: loss, Metrics: list} }
	}
	return map[string]evaluation{
		"classes": {network: dense(5, "softmax"), labels: classNumbers(5), compile: func() keras.CompileConfig {
			return keras.CompileConfig{Loss: "sparse_categorical_crossentropy", Metrics: []any{"accuracy", "sparse_top_k_categorical_accuracy", &metrics.MeanIoU{NumClasses: 5, DenseYPred: true}}}
		}},
		"binary": {network: dense(1, "sigmoid"), labels: randomNumbers(coin, 1), weighted: true, compile: func() keras.CompileConfig {
			list := []any{"accuracy", &metrics.AUC{}, &metrics.Precision{}, &metrics.Recall{Thresholds: []float64{0.3, 0.6}}, &metrics.F1Score{Threshold: new(0.5)}, &metrics.TruePositives{}}
			return keras.CompileConfig{Loss: &losses.BinaryCrossentropy{LabelSmoothing: 0.1}, Metrics: list, WeightedMetrics: []any{"binary_accuracy"}}
		}},
		"numbers": {network: dense(3, ""), labels: randomNumbers(normal, 3), compile: func() keras.CompileConfig {
			list := []any{"mae", &metrics.R2Score{}, &metrics.RootMeanSquaredError{}, &metrics.CosineSimilarity{}, &metrics.PearsonCorrelation{}, &metrics.Sum{}}
			return keras.CompileConfig{Loss: "mse", Metrics: list}
		}},
		"sum of losses":   {network: dense(3, ""), labels: randomNumbers(normal, 3), compile: with(&losses.MeanSquaredError{Reduction: losses.Sum})},
		"mean of weights": {network: dense(3, ""), labels: randomNumbers(normal, 3), weighted: true, compile: with(&losses.Huber{Reduction: losses.MeanWithSampleWeight})},
		"activity": {network: rowNetwork{[]int{7}, func() []layers.Layer {
			return []layers.Layer{&layers.Dense{Units: 3, ActivityRegularizer: &regularizers.L2{}, KernelRegularizer: &regularizers.L1{}}}
		}}, labels: randomNumbers(normal, 3), compile: with("mse")},
		"masks": {network: rowNetwork{[]int{6, 4}, func() []layers.Layer {
			return []layers.Layer{&layers.Lambda{Function: func(x *ops.Tensor) *ops.Tensor { return ops.Relu(ops.SubtractScalar(x, 0.5)) }}, &layers.Masking{}, &layers.LSTM{Units: 3, ReturnSequences: true}}
		}}, labels: randomNumbers(normal, 6, 3), compile: with("mse", "mae")},
		"functions of one's own": {network: dense(3, ""), labels: randomNumbers(normal, 3), compile: with(
			losses.Func("worst", func(t, p *ops.Tensor) *ops.Tensor { return ops.Max(ops.Abs(ops.Subtract(t, p)), -1) }),
			metrics.Func("largest of the batch", func(t, p *ops.Tensor) *ops.Tensor {
				return ops.Add(ops.ZerosLike(ops.Mean(p, -1)), ops.Max(p))
			}))},
		"place in the batch": {network: dense(3, ""), labels: randomNumbers(normal, 3), exact: true, compile: with(
			losses.Func("order", func(t, p *ops.Tensor) *ops.Tensor {
				return ops.Mean(ops.Abs(ops.Subtract(ops.Sort(t, 0), ops.Sort(p, 0))), -1)
			}))},
		"pairs": {network: dense(3, ""), labels: classNumbers(3), exact: true, compile: with(&losses.Circle{})},
		"size of the batch": {network: dense(3, ""), labels: randomNumbers(normal, 3), exact: true, compile: with(
			losses.Func("size", func(t, p *ops.Tensor) *ops.Tensor {
				return ops.MultiplyScalar(ops.Mean(ops.Square(ops.Subtract(t, p)), -1), float64(p.Dim(0)))
			}))},
	}
}

func (e evaluation) model(t *testing.T) *keras.Model {
	m := e.network.model(t)
	require.NoError(t, m.Compile(e.compile()))
	return m
}

func (e evaluation) data(n int) *data.ArraySource {
	r := rand.New(rand.NewPCG(uint64(n), 5))
	if !e.weighted {
		return data.Arrays(e.network.rows(n), e.labels(r, n))
	}
	w := randomNumbers(func(r *rand.Rand) float32 { return float32(r.IntN(3)) / 2 })(r, n)
	return data.Arrays(e.network.rows(n), e.labels(r, n), data.SampleWeight(w))
}

// Padded batches have the losses and metrics of a program for their own size, except for the last digits of float32:
// sums over the examples may be added in another order.
func TestEvaluationsOfManySizes(t *testing.T) {
	sizes := []int{20, 8, 9, 15, 16, 17, 3, 30, 33, 50, 64, 65, 100, 129, 20}
	for name, e := range evaluations() {
		t.Run(name, func(t *testing.T) {
			many := e.model(t)
			for _, n := range sizes {
				want, err := e.model(t).TestOnBatch(context.Background(), e.data(n))
				require.NoError(t, err)
				got, err := many.TestOnBatch(context.Background(), e.data(n))
				require.NoError(t, err)
				require.Len(t, got, len(want))
				for key, v := range want {
					require.False(t, math.IsNaN(v), key)
					require.InDelta(t, v, got[key], 2e-6*max(1, math.Abs(v)), "%s of %d examples", key, n)
				}
			}
			all, filled := keras.EvaluationPrograms(many)
			if e.exact {
				require.Zero(t, filled)
				return
			}
			require.Equal(t, 2, all-filled, "20 and 3")
			require.Equal(t, 6, filled, "8, 16, 32, 64, 128, 192")
		})
	}
}

// Evaluation sets of all sizes cost a handful of programs.
func TestEvaluationSetsOfAllSizes(t *testing.T) {
	e := evaluations()["classes"]
	many := e.model(t)
	for n := 32; n <= 150; n++ {
		want, err := e.model(t).Evaluate(context.Background(), e.data(n), keras.BatchSize(n))
		require.NoError(t, err)
		got, err := many.Evaluate(context.Background(), e.data(n))
		require.NoError(t, err)
		for key, v := range want {
			require.InDelta(t, v, got[key], 2e-6*max(1, v), "%s of %d examples", key, n)
		}
	}
	all, _ := keras.EvaluationPrograms(many)
	require.LessOrEqual(t, all, 11, "32, 1 to 7, 8, 16 and 32 that are filled up")
}
