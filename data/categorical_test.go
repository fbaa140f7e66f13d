package data_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// flatten turns decoded JSON into numbers and the shape of the nested list.
func flatten(v any) (numbers []float64, shape []int) {
	list, ok := v.([]any)
	if !ok {
		return []float64{v.(float64)}, nil
	}
	for _, e := range list {
		var inner []float64
		var rest []int
		inner, rest = flatten(e)
		numbers, shape = append(numbers, inner...), append([]int{len(list)}, rest...)
	}
	return numbers, shape
}

func TestToCategoricalIsThatOfKeras(t *testing.T) {
	cases := kerasUtilities(t).OneHot
	require.Len(t, cases, 5)
	for _, c := range cases {
		numbers, shape := flatten(c.Labels)
		want, wantShape := flatten(c.Result)
		labels := make([]int16, len(numbers))
		for i, v := range numbers {
			labels[i] = int16(v)
		}
		for _, in := range []any{dense(labels, shape...), dense(numbers, shape...)} { // float labels too
			d, err := data.ToCategorical(in, c.Classes)
			require.NoError(t, err)
			assert.Equal(t, wantShape, shapeOf(d))
			for i, v := range d.Elements().([]float32) {
				assert.Equal(t, want[i], float64(v))
			}
		}
	}
	d, err := data.ToCategorical([]bool{true, false}, 0)
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 1, 1, 0}, d.Elements())
	d, err = data.ToCategorical(dense([]uint8{1}), 3)
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 1, 0}, d.Elements(), "a single label")
}

func TestToCategoricalRejects(t *testing.T) {
	for want, c := range map[string]struct {
		labels  any
		classes int
	}{
		"label 1 is -1; expected 0 to 1": {[]int{1, -1}, 0},
		"label 0 is 3; expected 0 to 2":  {[]int{3}, 3},
		"label 0 is 0.5":                 {[]float32{0.5}, 3},
		"label 1 is NaN":                 {[]float64{0, math.NaN()}, 3},
		"-1 classes":                     {[]int{1}, -1},
		"too large for memory":           {[]int64{math.MaxInt64}, 0},
		"is too large for memory":        {[]uint64{math.MaxUint64}, 0},
		"labels is a []string":           {[]string{"a"}, 0},
	} {
		_, err := data.ToCategorical(c.labels, c.classes)
		require.ErrorContains(t, err, "data: ToCategorical: ", want)
		assert.ErrorContains(t, err, want)
	}
}

func ExampleToCategorical() {
	d, err := data.ToCategorical([]int{0, 2, 1}, 3)
	fmt.Println(d.Shape(), d.Elements(), err)
	// Output: [3 3] [1 0 0 0 0 1 0 1 0] <nil>
}
