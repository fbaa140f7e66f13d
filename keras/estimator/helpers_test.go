package estimator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

var ctx = context.Background()

const vectorFile = "testdata/tf_estimator.json.gz"

// strategy returns the strategy of a case: none, or Mirrored on the given number of CPU devices.
func strategy(t testing.TB, replicas int) distribute.Strategy {
	t.Helper()
	if replicas == 1 {
		return nil
	}
	names := []string{"cpu:0", "cpu:1", "cpu:2", "cpu:3"}
	s, err := distribute.NewMirroredStrategy(names[:replicas]...)
	require.NoError(t, err)
	return s
}

func config(t testing.TB, replicas int) estimator.RunConfig {
	t.Helper()
	s := strategy(t, replicas)
	return estimator.RunConfig{TrainDistribute: s, EvalDistribute: s, ModelDir: t.TempDir()}
}

// rows is an input function of rows in order.
func rows(x, y any, batch int) estimator.InputFn {
	return func(distribute.InputContext) (data.Dataset, error) {
		return data.FromTensorSlices(x, y).Batch(batch, false), nil
	}
}

// fixed is an initializer with given values.
type fixed []float64

func (f fixed) Initialize(into kernels.Array, _ uint64) error { return into.SetFloat64s(0, f) }

// linear is the model of the recorded cases: w = [[.5], [-.25]], b = [.1], gradient descent with rate .1.
func linear(reduce func(squares *ops.Tensor) *ops.Tensor) estimator.ModelFn {
	return func(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
		w := c.GetVariable(distribute.VariableSpec{Name: "w", Shape: ir.Shape{2, 1}, DType: ir.Float32, Initializer: fixed{.5, -.25}})
		b := c.GetVariable(distribute.VariableSpec{Name: "b", Shape: ir.Shape{1}, DType: ir.Float32, Initializer: fixed{.1}})
		y := ops.Add(ops.Matmul(features.First(), c.Read(w)), c.Read(b))
		spec := estimator.EstimatorSpec{Mode: mode, Predictions: map[string]*ops.Tensor{"y": y}}
		if mode == estimator.PREDICT {
			return spec, nil
		}
		spec.Loss = reduce(ops.Square(ops.Subtract(y, labels)))
		c.Fetch("bias", c.Read(b))
		if mode == estimator.EVAL {
			spec.EvalMetricOps = map[string]estimator.MetricOp{"mae": {Metric: &metrics.MeanAbsoluteError{}, Labels: labels, Predictions: y}}
			return spec, nil
		}
		spec.TrainOp = c.Minimize(&optimizers.SGD{LearningRate: 0.1}, spec.Loss)
		return spec, nil
	}
}

func meanLoss(x *ops.Tensor) *ops.Tensor { return ops.Mean(x) }

func float32s(t testing.TB, v any) data.Array {
	t.Helper()
	shape, values := tfvectors.Floats(t, v)
	list := make([]float32, len(values))
	for i, x := range values {
		list[i] = float32(x)
	}
	return data.Must(data.ArrayOf(list, shape...))
}

// numbers returns the elements of an array.
func numbers(t testing.TB, d data.Array) []float64 {
	t.Helper()
	switch list := d.Elements().(type) {
	case []float32:
		return widen(list)
	case []int64:
		return widen(list)
	case []int32:
		return widen(list)
	case float32:
		return []float64{float64(list)}
	case int64:
		return []float64{float64(list)}
	}
	require.Failf(t, "unknown array", "%T", d.Elements())
	return nil
}

func widen[T float32 | int64 | int32](list []T) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = float64(x)
	}
	return out
}

func value(t testing.TB, e *estimator.Estimator, name string) []float64 {
	t.Helper()
	d, err := e.VariableValue(name)
	require.NoError(t, err)
	return numbers(t, d)
}

// checkResults compares what Evaluate returned with a recorded dictionary.
func checkResults(t testing.TB, c *tfvectors.Case, want any, got map[string]float64) {
	t.Helper()
	m := want.(map[string]any)
	require.Len(t, got, len(m), "%v", got)
	for name, v := range m {
		require.Contains(t, got, name)
		c.Close(t, name, v, []float64{got[name]})
	}
}
