package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/layers"
)

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
