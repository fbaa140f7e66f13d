package data_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels/ir"
)

type grade uint8

func TestToArray(t *testing.T) {
	for name, c := range map[string]struct {
		in     any
		values any
		shape  []int
	}{
		"flat slice":       {[]float32{1, 2, 3}, []float32{1, 2, 3}, []int{3}},
		"one value":        {[]float64{4}, []float64{4}, []int{1}},
		"matrix":           {[][]float64{{1, 2}, {3, 4}, {5, 6}}, []float64{1, 2, 3, 4, 5, 6}, []int{3, 2}},
		"depth 4":          {[][][][]uint8{{{{1, 2}}, {{3, 4}}}}, []uint8{1, 2, 3, 4}, []int{1, 2, 1, 2}},
		"ints":             {[][]int{{1}, {2}}, dense([]int{1, 2}, 2).Elements(), []int{2, 1}},
		"bools":            {[]bool{true, false}, []bool{true, false}, []int{2}},
		"Go arrays":        {[2][3]int16{{1, 2, 3}, {4, 5, 6}}, []int16{1, 2, 3, 4, 5, 6}, []int{2, 3}},
		"slices of arrays": {[][2]int64{{1, 2}, {3, 4}}, []int64{1, 2, 3, 4}, []int{2, 2}},
		"named elements":   {[]grade{1, 2}, []uint8{1, 2}, []int{2}},
		"named nested":     {[][]grade{{1}, {2}}, []uint8{1, 2}, []int{2, 1}},
		"dense":            {dense([]uint16{1, 2}, 2), []uint16{1, 2}, []int{2}},
		"row of an array":  {dense([]int32{1, 2, 3, 4, 5, 6}, 3, 2).Row(1), []int32{3, 4}, []int{2}},
		"rows of an array": {dense([]int32{1, 2, 3, 4, 5, 6}, 3, 2).Slice(1, 3), []int32{3, 4, 5, 6}, []int{2, 2}},
		"pointer":          {pointer(dense([]uint16{1, 2}, 2)), []uint16{1, 2}, []int{2}},
		"arrayer":          {table{dense([]bool{true}, 1, 1)}, []bool{true}, []int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := data.ToArray(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.values, d.Elements())
			assert.Equal(t, c.shape, shapeOf(d))
		})
	}
}

func TestToArraySharesMemoryWhereItCan(t *testing.T) {
	flat, d := []float32{1, 2}, dense([]float32{1, 2}, 2)
	shared, err := data.ToArray(flat)
	require.NoError(t, err)
	flat[0] = 9
	assert.Equal(t, []float32{9, 2}, shared.Elements())

	same, err := data.ToArray(d)
	require.NoError(t, err)
	assert.Same(t, &d.Data[0], &same.Data[0])

	grades := []grade{1, 2}
	shared, err = data.ToArray(grades)
	require.NoError(t, err)
	grades[0] = 9
	assert.Equal(t, []uint8{9, 2}, shared.Elements())

	half, err := d.Convert(ir.Float16)
	require.NoError(t, err)
	wide, err := data.ToArray(half)
	require.NoError(t, err)
	assert.Equal(t, d, wide, "half precision is widened")
}

func TestToArrayRejects(t *testing.T) {
	for name, c := range map[string]struct {
		in   any
		want string
	}{
		"nil":           {nil, "is nil"},
		"nil dense":     {(*data.Array)(nil), "is nil"},
		"no array":      {data.Array{}, "the zero Array"},
		"number":        {1.5, "single float64"},
		"string":        {"x.npy", "elements of type string"},
		"strings":       {[]string{"a"}, "elements of type string; expected numbers"},
		"complex":       {[][]complex128{{1}}, "complex128"},
		"structs":       {[]struct{}{{}}, "struct {}"},
		"empty":         {[]float32{}, "empty []float32"},
		"empty inside":  {[][]int{{}, {1}}, "value[0] is an empty []int"},
		"ragged":        {[][]int{{1, 2}, {3}}, "value[1] is ragged: length 1 on axis 1, but 2"},
		"ragged longer": {[][]int{{1}, {3, 4}}, "value[1] is ragged: length 2 on axis 1, but 1"},
		"ragged deep":   {[][][]int{{{1}, {2}}, {{3}, {4, 5}}}, "value[1][1] is ragged: length 2 on axis 2, but 1"},
		"ragged mid":    {[][][]int{{{1}, {2}}, {{3}}}, "value[1] is ragged: length 1 on axis 1, but 2"},
		"ragged, empty": {[][]int{{1}, nil}, "value[1] is ragged: length 0"},
		"nested any":    {[][]any{{1}}, "elements of type interface {}"},
		"short":         {data.Array{Type: ir.Type{DType: ir.Float32, Shape: ir.Shape{2}}, Data: make([]byte, 4)}, "has 4 bytes; expected 8"},
		"arrayer fails": {table{}, "the zero Array"},
		"tensor":        {tensor.New(tensor.WithBacking([]float32{1})), "FromTensor of data/gorgonia"},
		"matrix":        {mat.NewDense(1, 1, nil), "FromMatrix of data/gonum"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := data.ToArray(c.in)
			require.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "data: ToArray: ")
		})
	}
}

func ExampleToArray() {
	d, err := data.ToArray([][]float64{{1, 2, 3}, {4, 5, 6}})
	fmt.Println(d.Shape(), d.DType(), err)

	_, err = data.ToArray([][]float64{{1, 2, 3}, {4, 5}})
	fmt.Println(err)
	// Output:
	// [2 3] float64 <nil>
	// data: ToArray: value[1] is ragged: length 2 on axis 1, but 3 in the first entry; pad it (PadSequences) or cut it
}
