package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// temporalSoftmax is the layer of Keras's guide to masking: it requires the mask of its input.
type temporalSoftmax struct{ layers.Base }

func (l *temporalSoftmax) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	mask := in[0].Mask()
	if mask == nil {
		ops.Failf(c.Graph(), "the input has no mask")
	}
	broadcast := ops.ExpandDims(ops.Cast(mask, in[0].DType()), -1)
	e := ops.Multiply(ops.Exp(in[0]), broadcast)
	return []*ops.Tensor{ops.Divide(e, ops.KeepDims(ops.Sum(e, 1), e, 1))}
}

// TestMasksWhileDescribed: a layer can read the mask of its input while a Functional model is being defined, as in
// Keras, after layers that create, pass on or join masks or that are models, with unknown and fixed lengths.
func TestMasksWhileDescribed(t *testing.T) {
	ids := [][]int32{{3, 4, 5, 0, 0}, {7, 0, 0, 0, 0}}
	want := []float32{1. / 3, 1. / 3, 1. / 3, 0, 0, 1, 0, 0, 0, 0}
	embedded := func(in *layers.KerasTensor) *layers.KerasTensor {
		return layers.Apply(&layers.Embedding{InputDim: 10, OutputDim: 4, MaskZero: true, EmbeddingsInitializer: "ones"}, in)
	}
	dense := func(x *layers.KerasTensor) *layers.KerasTensor {
		return layers.Apply(&layers.Dense{Units: 1, KernelInitializer: "ones"}, x)
	}
	softmax := func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Apply(&temporalSoftmax{}, x) }
	for _, length := range []int{layers.Unknown, 5} {
		for name, describe := range map[string]func(in *layers.KerasTensor) *layers.KerasTensor{
			"passed on": func(in *layers.KerasTensor) *layers.KerasTensor { return softmax(dense(embedded(in))) },
			"joined": func(in *layers.KerasTensor) *layers.KerasTensor {
				return softmax(layers.Apply(&layers.Add{}, dense(embedded(in)), dense(embedded(in))))
			},
			"recurrent": func(in *layers.KerasTensor) *layers.KerasTensor {
				return softmax(layers.Apply(&layers.SimpleRNN{Units: 1, KernelInitializer: "zeros", ReturnSequences: true}, embedded(in)))
			},
			"by a model": func(in *layers.KerasTensor) *layers.KerasTensor {
				inner := keras.Input(keras.Shape(length), keras.DType("int32"))
				m, err := keras.NewFunctional(keras.Inputs(inner), keras.Outputs(dense(embedded(inner))))
				require.NoError(t, err)
				return softmax(layers.Apply(m, in))
			},
			"within a model": func(in *layers.KerasTensor) *layers.KerasTensor {
				m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, KernelInitializer: "ones"}, &temporalSoftmax{}})
				require.NoError(t, err)
				return layers.Apply(m, embedded(in))
			},
		} {
			in := keras.Input(keras.Shape(length), keras.DType("int32"))
			m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(describe(in)))
			require.NoError(t, err, name)
			got, err := m.PredictOnBatch(t.Context(), data.Arrays(ids, nil))
			require.NoError(t, err, name)
			require.InDeltaSlice(t, want, got.Float32s(), 1e-6, name)
		}
	}
	in := keras.Input(keras.Shape(5, 1))
	require.ErrorContains(t, layers.Apply(&temporalSoftmax{}, in).Err(), "the input has no mask")
	flat := layers.Apply(&layers.Reshape{TargetShape: []int{5, 4}}, embedded(keras.Input(keras.Shape(5))))
	require.ErrorContains(t, layers.Apply(&temporalSoftmax{}, flat).Err(), "the input has no mask", "a layer that does not pass it on ends a mask")
}
