package keras_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

func TestDistributedBatchNormVectors(t *testing.T) {
	tfHandlers{"bn.": batchNormCase}.run(t, "testdata/tf_batch_norm.json.gz")
}

// rowsOf makes a value from a list of lists of rows; replicas without rows get an empty one.
func rowsOf(t testing.TB, v any) distribute.PerReplica {
	t.Helper()
	var out distribute.PerReplica
	for _, rows := range v.([]any) {
		a := kernels.Array{Type: ir.Type{DType: ir.Float32, Shape: ir.Shape{0, 2}}}
		if len(rows.([]any)) > 0 {
			a = tfArray(t, ir.Float32, rows)
		}
		out = append(out, a)
	}
	return out
}

// flattened lists the numbers of a ragged structure.
func flattened(v any) any {
	out := []any{}
	var walk func(any)
	walk = func(v any) {
		if l, ok := v.([]any); ok {
			for _, e := range l {
				walk(e)
			}
			return
		}
		out = append(out, v)
	}
	walk(v)
	return out
}

func flatValue(v any) []float64 {
	out := []float64{}
	for _, a := range v.(distribute.PerReplica) {
		out = append(out, a.Float64s()...)
	}
	return out
}

// batchNormCase: outputs and gradients are TensorFlow's. The moving statistics are the mean over the replicas that have
// examples, as in Keras 2 if none is empty; in Keras 3 the copies diverge.
func batchNormCase(t *testing.T, c *tfvectors.Case) {
	parts := strings.Split(c.ID, ".")
	s := tfStrategy(t, "Mirrored", c.Replicas())
	bn := &layers.BatchNormalization{Momentum: new(0.9), Synchronized: parts[2] == "sync"}
	m, err := keras.NewSequential([]layers.Layer{bn}, distribute.Scope(s), keras.InputShape(2))
	require.NoError(t, err)
	gamma := m.Weights()[0]
	train := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
		x := args[0].(*ops.Tensor)
		tape := ops.NewTape(r)
		y := m.Call(r.Training(), x)
		loss := ops.Sum(ops.Multiply(ops.Multiply(y, y), y))
		dx := tape.Gradients(loss, x).Values[0]
		dgamma := tape.Gradients(loss, distribute.Variables{gamma}).Values[0]
		return map[string]any{"output": y, "gradient_input": dx, "gradient_gamma_local": dgamma}
	})
	x := rowsOf(t, c.Inputs["x"])
	var got any
	for range 2 {
		got, err = train.Run(context.Background(), x)
		require.NoError(t, err)
	}
	want := c.Map(t)
	for _, name := range []string{"output", "gradient_input", "gradient_gamma_local"} {
		values := flatValue(tfvectors.Get(got, name))
		expected := flattened(want[name]).([]any)
		for i, e := range expected { // an empty replica has gradient 0, where Keras 3 has NaN
			if e == "NaN" {
				expected[i] = 0.0
			}
		}
		c.Within(t, name, expected, values, 2e-5, 2e-4)
	}
	require.NoError(t, m.Weights().CheckMirrored())
	for i, name := range []string{"moving_mean", "moving_variance"} {
		mean, n := []float64{0, 0}, 0.0
		for k, component := range want[name+"_components"].([]any) {
			if x[k].Type.Shape[0] > 0 || parts[2] == "sync" && strings.HasSuffix(c.ID, "keras3") {
				v := tfvectors.Values(t, component)
				mean[0], mean[1], n = mean[0]+v[0], mean[1]+v[1], n+1
			}
		}
		c.Within(t, name, []any{mean[0] / n, mean[1] / n}, tfValue(t, m.Weights()[2+i]), 1e-5, 1e-4)
	}
	if strings.HasSuffix(c.ID, "keras3") && parts[2] == "local" || c.Deviation && parts[1] == "empty_replica" {
		return // inference there uses one replica's statistics, or outdated ones
	}
	infer := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
		return m.Call(r.Inference(), args[0].(*ops.Tensor))
	})
	y, err := infer.Run(context.Background(), x)
	require.NoError(t, err)
	if parts[2] == "sync" { // with local statistics, Keras 2 uses each replica's own copy here too
		c.Within(t, "inference", flattened(want["inference"]), flatValue(y), 1e-5, 1e-4)
	}
}
