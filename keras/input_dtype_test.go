package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Inputs have their declared element type within the model, as in Keras, which gives the same results for these models.
func TestInputsHaveTheirElementType(t *testing.T) {
	predict := func(dtype, operation string, x data.Array, more ...any) data.Array {
		in := keras.Input(keras.Shape(4), keras.DType(dtype))
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Op(operation, append([]any{in}, more...)...)))
		require.NoError(t, err)
		y, err := m.PredictOnBatch(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err)
		return y
	}
	x := data.Must(data.ArrayOf([]float32{1, 2, 3, 4, 0.1, 1.7, -1.7, 70000}, 2, 4))

	halves := predict("float16", "view", x, layers.Keywords{"dtype": "uint8"})
	require.Equal(t, []int{2, 8}, halves.Shape(), "float16 is seen as two bytes")
	require.Equal(t, []uint8{0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44}, halves.Elements().([]uint8)[:8])

	whole := predict("int32", "multiply", x, 2)
	require.Equal(t, []int32{2, 4, 6, 8, 0, 2, -2, 140000}, whole.Elements())
}
