package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/layers"
)

// Inputs of the mask tests; the expected numbers were computed by Keras 3.15.1 from the same ones.
var (
	mergeA     = float32s([]int{2, 3, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	mergeB     = float32s([]int{2, 3, 2}, 7, -1, 2, 9, 4, 4, -3, 8, 1, 1, 20, 6)
	mergeC     = constant(5, 2, 3, 2)
	mergeMaskA = opstest.Bools([]int{2, 3}, 1, 0, 1, 0, 1, 0)
	mergeMaskB = opstest.Bools([]int{2, 3}, 1, 1, 0, 0, 0, 1)
)

func TestMergeMasks(t *testing.T) {
	for _, row := range []struct {
		class, which string
		want, mask   []float64
	}{
		{"Add", "both", []float64{8, 1, 5, 13, 9, 10, 4, 16, 10, 11, 31, 18}, []float64{1, 1, 1, 0, 1, 1}},
		{"Add", "first", []float64{8, 1, 5, 13, 9, 10, 4, 16, 10, 11, 31, 18}, nil},
		{"Add", "three", []float64{13, 6, 10, 18, 14, 15, 9, 21, 15, 16, 36, 23}, []float64{1, 1, 1, 0, 1, 1}},
		{"Subtract", "both", []float64{-6, 3, 1, -5, 1, 2, 10, 0, 8, 9, -9, 6}, []float64{1, 1, 1, 0, 1, 1}},
		{"Subtract", "second", []float64{-6, 3, 1, -5, 1, 2, 10, 0, 8, 9, -9, 6}, nil},
		{"Multiply", "both", []float64{7, -2, 2, 9, 5, 6, 0, 0, 9, 10, 20, 6}, []float64{1, 1, 1, 0, 1, 1}},
		{"Multiply", "first", []float64{7, -2, 2, 9, 20, 24, -3, 8, 9, 10, 20, 6}, nil},
		{"Multiply", "second", []float64{7, -2, 6, 36, 5, 6, 7, 8, 9, 10, 220, 72}, nil},
		{"Multiply", "three", []float64{35, -10, 2, 9, 25, 30, 0, 0, 45, 50, 20, 6}, []float64{1, 1, 1, 0, 1, 1}},
		{"Average", "both", []float64{4, 0.5, 2.5, 6.5, 4.5, 5, 2, 8, 5, 5.5, 15.5, 9}, []float64{1, 1, 1, 0, 1, 1}},
		{"Maximum", "both", []float64{7, 2, 2, 9, 5, 6, 7, 8, 9, 10, 20, 6}, []float64{1, 1, 1, 0, 1, 1}},
		{"Maximum", "first", []float64{7, 2, 2, 9, 5, 6, -3, 8, 9, 10, 20, 6}, nil},
		{"Maximum", "second", []float64{7, 2, 3, 9, 5, 6, 7, 8, 9, 10, 20, 12}, nil},
		{"Maximum", "three", []float64{7, 5, 2, 9, 5, 6, 7, 8, 9, 10, 20, 6}, []float64{1, 1, 1, 0, 1, 1}},
		{"Minimum", "both", []float64{1, -1, 2, 9, 5, 6, 7, 8, 9, 10, 20, 6}, []float64{1, 1, 1, 0, 1, 1}},
		{"Minimum", "first", []float64{1, -1, 2, 9, 4, 4, -3, 8, 1, 1, 20, 6}, nil},
		{"Minimum", "second", []float64{1, -1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 6}, nil},
		{"Minimum", "three", []float64{1, -1, 2, 9, 5, 5, 7, 8, 5, 5, 20, 6}, []float64{1, 1, 1, 0, 1, 1}},
	} {
		t.Run(row.class+"/"+row.which, func(t *testing.T) {
			l, err := layers.New(row.class)
			require.NoError(t, err)
			c := layerCall{layer: l, inputs: []opstest.Array{mergeA, mergeB}}
			switch row.which {
			case "both":
				c.masks = []opstest.Array{mergeMaskA, mergeMaskB}
			case "first":
				c.masks = []opstest.Array{mergeMaskA}
			case "second":
				c.masks = []opstest.Array{{}, mergeMaskB}
			case "three":
				c.inputs, c.masks = append(c.inputs, mergeC), []opstest.Array{mergeMaskA, mergeMaskB, mergeMaskA}
			}
			a := c.run(t)
			assert.Equal(t, row.want, a.outputs[0].F)
			if row.mask == nil {
				assert.Nil(t, a.mask)
				return
			}
			require.NotNil(t, a.mask)
			assert.Equal(t, row.mask, a.mask.F)
		})
	}
}

func TestConcatenateMasks(t *testing.T) {
	for _, row := range []struct {
		axis  int
		masks []opstest.Array
		want  []float64
	}{
		{1, []opstest.Array{mergeMaskA, mergeMaskB}, []float64{1, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 1}},
		{1, []opstest.Array{mergeMaskA}, []float64{1, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 1}},
		{-1, []opstest.Array{mergeMaskA, mergeMaskB}, []float64{1, 1, 1, 0, 1, 1}},
		{-1, []opstest.Array{mergeMaskA}, []float64{1, 1, 1, 1, 1, 1}},
	} {
		a := layerCall{layer: &layers.Concatenate{Axis: &row.axis}, inputs: []opstest.Array{mergeA, mergeB}, masks: row.masks}.run(t)
		require.NotNil(t, a.mask)
		assert.Equal(t, row.want, a.mask.F)
	}
	assert.Nil(t, invoke(t, &layers.Concatenate{}, false, mergeA, mergeB).mask)
}
