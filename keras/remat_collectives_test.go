package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// centered subtracts the mean over the replicas: it has collectives in its forward pass and in its gradient.
type centered struct{ layers.Base }

func (l *centered) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	sum := c.AllReduce(ir.Sum, ops.Sum(in[0], 0), ops.Sum(ops.Square(in[0]), 0))
	return []*ops.Tensor{ops.Tanh(ops.Subtract(in[0], ops.Divide(sum[0], ops.AddScalar(sum[1], 1))))}
}

// Layers with collectives are recomputed for the gradient like others: by all replicas in the same order, even if one
// has no example of a batch.
func TestRematOfCollectives(t *testing.T) {
	x, y := make([]float32, 13*6), make([]float32, 13*2)
	for i := range x {
		x[i], y[i%26] = float32(i*7919%101)/50-1, float32(i*31%17)/8-1
	}
	for _, replicas := range [][]string{{"cpu:0", "cpu:1"}, {"cpu:0", "cpu:1", "cpu:2"}} {
		trained := func(s *keras.RematScope, execution int) *keras.Model {
			m := sequential(t, []keras.Option{keras.InputShape(6), keras.Seed(5), distribute.Scope(mirrored(t, replicas...))},
				&layers.Dense{Units: 7, Activation: "tanh", Name: "first"}, &layers.BatchNormalization{Synchronized: true, Name: "norm"}, &layers.Dropout{Rate: 0.2},
				&layers.Dense{Units: 5, Activation: "gelu"}, &centered{}, &layers.BatchNormalization{Synchronized: true, Renorm: true}, &layers.Dense{Units: 2})
			compile(t, m, keras.CompileConfig{Optimizer: "adam", Loss: "mse", Remat: s, StepsPerExecution: execution})
			require.NoError(t, fit(m, data.Arrays(shaped(x, 13, 6), shaped(y, 13, 2)), keras.BatchSize(6), keras.Epochs(2), keras.Shuffle(false)))
			return m
		}
		want := trained(nil, 1)
		for _, s := range []keras.RematScope{{}, {Mode: "activations"}, {Mode: "larger_than", OutputSizeThreshold: 12}, {Mode: "list_of_layers", LayerNames: []string{"norm"}}} {
			requireClose(t, want, trained(&s, 1))
			requireClose(t, want, trained(&s, 2))
		}
	}
}
