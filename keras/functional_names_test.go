package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Names that a file could not tell apart are refused when the model is created, not by Save after training.
func TestNamesOfInputs(t *testing.T) {
	x := keras.Input(keras.Shape(3), keras.InputName("features"))
	named := &layers.Dense{Units: 2}
	layers.SetName(named, "features")
	_, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(named, x)))
	require.EqualError(t, err, `keras: Functional model: an input and a layer (Dense) are both named "features"; names must be unique within a model, so give one of them another`)

	a, b := keras.Input(keras.Shape(3), keras.InputName("a")), keras.Input(keras.Shape(3), keras.InputName("a"))
	_, err = keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(layers.ApplyAll(&layers.Add{}, a, b)[0]))
	require.ErrorContains(t, err, `an input and another input are both named "a"`)

	x = keras.Input(keras.Shape(3), keras.InputName("dense"))
	_, err = keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(&layers.Dense{Units: 2}, x)))
	require.ErrorContains(t, err, `an input and a layer (Dense) are both named "dense"`)
}
