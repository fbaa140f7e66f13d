package keras_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// The argument training of a call also applies to a model that begins on the host: its program is called with the
// results of the host stage, not with the arguments of the call.
func TestTrainingOfACallOfHostModel(t *testing.T) {
	inner, err := keras.NewSequential([]layers.Layer{
		&layers.Hashing{NumBins: 1, OutputMode: "one_hot"},
		&layers.Dense{Units: 2, KernelInitializer: "ones"},
		&layers.Dropout{Rate: 0.5},
	}, keras.InputShape(1), keras.InputDType("int64"))
	require.NoError(t, err)
	in := keras.Input(keras.Shape(1), keras.DType("int64"))
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.ApplyWith(inner, layers.Keywords{"training": true}, in)))
	require.NoError(t, err)
	middle, next := m, keras.Input(keras.Shape(1), keras.DType("int64"))
	outer, err := keras.NewFunctional(keras.Inputs(next), keras.Outputs(layers.Apply(middle, next)))
	require.NoError(t, err)
	stack, err := keras.NewSequential([]layers.Layer{middle}, keras.InputShape(1), keras.InputDType("int64"))
	require.NoError(t, err)
	for _, m := range []*keras.Model{m, outer, stack} {
		checkDrops(t, m, data.Must(data.ArrayOf(slices.Repeat([]int64{1}, 64), 64, 1)))
	}
}
