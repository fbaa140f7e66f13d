package keras_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestModelString: a model prints as in Python, not as the fields of a struct.
func TestModelString(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}})
	require.NoError(t, err)
	require.Equal(t, "<Sequential name=sequential, built=False>", fmt.Sprint(m))
	require.NoError(t, m.Build([]int{layers.Unknown, 2}))
	require.Equal(t, "<Sequential name=sequential, built=True>", fmt.Sprintf("%v", m))
	x := keras.Input(keras.Shape(2))
	f, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(m, x)), keras.Name("net"))
	require.NoError(t, err)
	require.Equal(t, "<Functional name=net, built=True>", f.String())
	_, err = f.GetLayer("sequental")
	require.ErrorContains(t, err, `did you mean "sequential"?`)
}
