package data_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
)

type grade uint8

func TestToDense(t *testing.T) {
	three := mat.NewDense(3, 3, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	columns, err := dense([]int32{1, 2, 3, 4, 5, 6}, 2, 3).Slice(nil, tensor.S(1, 3))
	require.NoError(t, err)
	rows, err := dense([]int32{1, 2, 3, 4, 5, 6}, 3, 2).Slice(tensor.S(1, 3))
	require.NoError(t, err)
	transposed := dense([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, transposed.T())
	cube := dense([]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 2, 3, 2)
	require.NoError(t, cube.T(2, 0, 1))

	for name, c := range map[string]struct {
		in     any
		values any
		shape  []int
	}{
		"flat slice":         {[]float32{1, 2, 3}, []float32{1, 2, 3}, []int{3}},
		"one value":          {[]float64{4}, []float64{4}, []int{1}},
		"matrix":             {[][]float64{{1, 2}, {3, 4}, {5, 6}}, []float64{1, 2, 3, 4, 5, 6}, []int{3, 2}},
		"depth 4":            {[][][][]uint8{{{{1, 2}}, {{3, 4}}}}, []uint8{1, 2, 3, 4}, []int{1, 2, 1, 2}},
		"ints":               {[][]int{{1}, {2}}, []int{1, 2}, []int{2, 1}},
		"bools":              {[]bool{true, false}, []bool{true, false}, []int{2}},
		"Go arrays":          {[2][3]int16{{1, 2, 3}, {4, 5, 6}}, []int16{1, 2, 3, 4, 5, 6}, []int{2, 3}},
		"slices of arrays":   {[][2]int64{{1, 2}, {3, 4}}, []int64{1, 2, 3, 4}, []int{2, 2}},
		"named elements":     {[]grade{1, 2}, []uint8{1, 2}, []int{2}},
		"named nested":       {[][]grade{{1}, {2}}, []uint8{1, 2}, []int{2, 1}},
		"dense":              {dense([]uint16{1, 2}, 2), []uint16{1, 2}, []int{2}},
		"dense rows":         {rows, []int32{3, 4, 5, 6}, []int{2, 2}},
		"dense columns":      {columns, []int32{2, 3, 5, 6}, []int{2, 2}},
		"dense transposed":   {transposed, []float32{1, 4, 2, 5, 3, 6}, []int{3, 2}},
		"dense axes rotated": {cube, []uint8{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}, []int{2, 2, 3}},
		"dense column-major": {tensor.New(tensor.WithShape(2, 3), tensor.AsFortran([]float32{1, 2, 3, 4, 5, 6})), []float32{1, 2, 3, 4, 5, 6}, []int{2, 3}},
		"gonum matrix":       {mat.NewDense(2, 1, []float64{1, 2}), []float64{1, 2}, []int{2, 1}},
		"gonum part":         {three.Slice(1, 3, 0, 2), []float64{4, 5, 7, 8}, []int{2, 2}},
		"gonum transpose":    {mat.NewDense(1, 2, []float64{1, 2}).T(), []float64{1, 2}, []int{2, 1}},
		"gonum vector":       {mat.NewVecDense(2, []float64{1, 2}), []float64{1, 2}, []int{2}},
		"gonum column":       {three.ColView(1), []float64{2, 5, 8}, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := data.ToDense(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.values, d.Data())
			assert.Equal(t, c.shape, shapeOf(d))
		})
	}
}

func TestToDenseSharesMemoryWhereItCan(t *testing.T) {
	flat, d := []float32{1, 2}, dense([]float32{1, 2}, 2)
	shared, err := data.ToDense(flat)
	require.NoError(t, err)
	flat[0] = 9
	assert.Equal(t, []float32{9, 2}, shared.Data())

	same, err := data.ToDense(d)
	require.NoError(t, err)
	assert.Same(t, d, same)

	m := mat.NewDense(1, 2, []float64{1, 2})
	shared, err = data.ToDense(m)
	require.NoError(t, err)
	m.Set(0, 0, 9)
	assert.Equal(t, []float64{9, 2}, shared.Data())
}

func TestToDenseRejects(t *testing.T) {
	masked := tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1, 2}, []bool{true, false}))
	sparse := tensor.CSRFromCoord(tensor.Shape{2, 2}, []int{0}, []int{1}, []float32{1})
	for name, c := range map[string]struct {
		in   any
		want string
	}{
		"nil":             {nil, "is nil"},
		"nil dense":       {(*tensor.Dense)(nil), "is nil"},
		"nil matrix":      {(*mat.Dense)(nil), "is nil"},
		"number":          {1.5, "single float64"},
		"string":          {"x.npy", "elements of type string"},
		"strings":         {[]string{"a"}, "elements of type string; expected float32"},
		"complex":         {[][]complex128{{1}}, "complex128"},
		"structs":         {[]struct{}{{}}, "struct {}"},
		"empty":           {[]float32{}, "empty []float32"},
		"empty inside":    {[][]int{{}, {1}}, "value[0] is an empty []int"},
		"ragged":          {[][]int{{1, 2}, {3}}, "value[1] is ragged: length 1 on axis 1, but 2"},
		"ragged longer":   {[][]int{{1}, {3, 4}}, "value[1] is ragged: length 2 on axis 1, but 1"},
		"ragged deep":     {[][][]int{{{1}, {2}}, {{3}, {4, 5}}}, "value[1][1] is ragged: length 2 on axis 2, but 1"},
		"ragged mid":      {[][][]int{{{1}, {2}}, {{3}}}, "value[1] is ragged: length 1 on axis 1, but 2"},
		"ragged, empty":   {[][]int{{1}, nil}, "value[1] is ragged: length 0"},
		"nested any":      {[][]any{{1}}, "elements of type interface {}"},
		"masked":          {masked, "masked"},
		"sparse":          {sparse, "*tensor.CS"},
		"complex dense":   {dense([]complex64{1}, 1), "complex64"},
		"empty gonum":     {&mat.Dense{}, "empty matrix"},
		"empty gonum vec": {&mat.VecDense{}, "empty vector"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := data.ToDense(c.in)
			require.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "data: ToDense: ")
		})
	}
}

func ExampleToDense() {
	d, err := data.ToDense([][]float64{{1, 2, 3}, {4, 5, 6}})
	fmt.Println(d.Shape(), d.Dtype(), err)

	_, err = data.ToDense([][]float64{{1, 2, 3}, {4, 5}})
	fmt.Println(err)
	// Output:
	// (2, 3) float64 <nil>
	// data: ToDense: value[1] is ragged: length 2 on axis 1, but 3 in the first entry; pad it (PadSequences) or cut it
}
