package keras_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// nodeRows takes positions, which must be integers: a graph network that receives the numbers of nodes.
type nodeRows struct{ Out *layers.Dense }

func (m *nodeRows) Call(c *layers.Context, at *ops.Tensor) *ops.Tensor {
	nodes := ops.Eye(c, ir.Float32, 4, 4)
	return ops.Take(layers.Invoke(m.Out, c, nodes), at, 0)
}

// Options for the input apply to models of users' own types, and are refused if they would have no effect.
func TestInputOptionsOfModels(t *testing.T) {
	make := func(options ...keras.Option) (*keras.Model, error) {
		return keras.NewModel(&nodeRows{&layers.Dense{Units: 2}}, options...)
	}
	m, err := make(keras.InputDType("int32"), keras.InputShape())
	require.NoError(t, err)
	require.Equal(t, 10, m.CountParams())
	m, err = make(keras.InputDType("int32"))
	require.NoError(t, err)
	require.NoError(t, m.Build([]int{8}))
	got, err := m.Predict(context.Background(), data.Arrays([]int32{3, 0, 3}, nil))
	require.NoError(t, err)
	require.Equal(t, []int{3, 2}, got.Shape())

	m, err = make()
	require.NoError(t, err)
	require.ErrorContains(t, m.Build([]int{8}), "positions must be integers")
	_, err = make(keras.InputDType("int23"))
	require.ErrorContains(t, err, "keras: InputDType: ")
	_, err = make(keras.InputDType("string"))
	require.ErrorContains(t, err, "takes no text")
	_, err = make(keras.InputShape(-2))
	require.ErrorContains(t, err, "keras: InputShape: ")

	x := keras.Input(keras.Shape(3))
	_, err = keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, x)), keras.InputDType("int32"))
	require.ErrorContains(t, err, "keras: NewFunctional: InputShape and InputDType are options of NewSequential and NewModel")
}

// A document that is no model says what one is.
func TestDocumentsOfNoModel(t *testing.T) {
	for document, want := range map[string]string{
		"":                            "the document is empty; expected {",
		" \n":                         "the document is empty; expected {",
		"{}":                          "the document has no class_name; expected {",
		`{"config": {}}`:              "the document has no class_name; expected {",
		`{"class_name":"Sequential"}`: "the document of a Sequential has no config; expected {",
	} {
		_, err := keras.ModelFromJSON([]byte(document))
		require.ErrorContains(t, err, "keras: ModelFromJSON: "+want)
	}
}
