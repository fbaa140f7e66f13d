package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestWeightsOfLayers: the weights of single layers can be copied from model to model, also those of nested models.
func TestWeightsOfLayers(t *testing.T) {
	encoder := func(seed uint64) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}, &layers.BatchNormalization{}}, keras.InputShape(4), keras.Seed(seed), keras.Name("encoder"))
		require.NoError(t, err)
		return m
	}
	from, inner := encoder(1), encoder(2)
	to, err := keras.NewSequential([]layers.Layer{inner, &layers.Dense{Units: 1}}, keras.InputShape(4), keras.Seed(3))
	require.NoError(t, err)
	before, err := to.GetWeights()
	require.NoError(t, err)

	dense, err := from.GetLayerWeights(from.Layers()[0])
	require.NoError(t, err)
	all, err := from.GetWeights()
	require.NoError(t, err)
	require.Equal(t, all[:2], dense)
	require.NoError(t, to.SetLayerWeights(inner.Layers()[0], dense))
	after, err := to.GetWeights()
	require.NoError(t, err)
	require.Equal(t, append(dense[:2:2], before[2:]...), after)
	require.NotEqual(t, before[0], after[0])
	require.NoError(t, to.SetLayerWeights(inner, all))
	got, err := to.GetLayerWeights(inner)
	require.NoError(t, err)
	require.Equal(t, all, got)

	require.ErrorContains(t, to.SetLayerWeights(from.Layers()[0], dense), `keras: SetLayerWeights: layer "dense" is not in model "sequential"; take one from its GetLayer or Layers`)
	require.ErrorContains(t, to.SetLayerWeights(inner.Layers()[0], dense[:1]), `keras: SetLayerWeights: layer "dense" has 2 weights, received 1`)
	require.ErrorContains(t, to.SetLayerWeights(inner.Layers()[0], []data.Array{dense[1], dense[0]}), "weight 0, dense/kernel, has shape [4 3], received shape [3]")
	_, err = to.GetLayerWeights(nil)
	require.ErrorContains(t, err, "keras: GetLayerWeights: the layer is nil")
	same, err := to.GetLayerWeights(inner)
	require.NoError(t, err)
	require.Equal(t, all, same)
}
