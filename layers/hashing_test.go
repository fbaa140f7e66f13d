package layers_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestHashingMistakes: types and salts that do not exist.
func TestHashingMistakes(t *testing.T) {
	x := ir.Type{DType: ir.Int32, Shape: ir.Shape{3, 1}}
	_, err := (&layers.Hashing{NumBins: 3, DType: "int65"}).HostType(x)
	require.ErrorContains(t, err, `unknown dtype policy "int65"`)
	_, err = (&layers.HashedCrossing{NumBins: 3, DType: "int65"}).HostType(x, x)
	require.ErrorContains(t, err, `unknown dtype policy "int65"`)
	_, err = (&layers.Hashing{NumBins: 3, Salt: []int{}}).Transform(layers.HostArray{Shape: []int{1}, Ints: []int64{3}})
	require.ErrorContains(t, err, "Salt must have one or two numbers, received []; leave it nil for none")
}

// In Python True is the number 1, also as the value to mask.
func TestHashingMasksTrue(t *testing.T) {
	l, err := layers.FromObject(json.RawMessage(`{"class_name":"Hashing","config":{"num_bins":3,"mask_value":true}}`))
	require.NoError(t, err)
	y, err := l.(*layers.Hashing).Transform(layers.HostArray{Shape: []int{2}, Ints: []int64{1, 2}})
	require.NoError(t, err)
	require.Zero(t, y.Ints[0])
	require.NotZero(t, y.Ints[1])
}

// TestHashingMasksFloats: floats are compared with the MaskValue before they are truncated. The bins are Keras's.
func TestHashingMasksFloats(t *testing.T) {
	x := layers.HostArray{Shape: []int{6}, Floats: []float64{3, 3.7, -3.2, 4.5, 4, 3}}
	for _, c := range []struct {
		mask any
		want []int64
	}{
		{3, []int64{0, 4, 4, 6, 6, 0}},
		{3.0, []int64{0, 4, 4, 6, 6, 0}},
		{4.5, []int64{4, 4, 4, 0, 6, 4}},
	} {
		y, err := (&layers.Hashing{NumBins: 7, MaskValue: c.mask}).Transform(x)
		require.NoError(t, err)
		require.Equal(t, c.want, y.Ints, "mask %v", c.mask)
	}
}
