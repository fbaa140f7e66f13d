package gorgonia_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/data/gorgonia"
	"github.com/gokeras/gokeras/kernels/ir"
)

func dense(backing any, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
}

func TestFromTensor(t *testing.T) {
	columns, err := dense([]int32{1, 2, 3, 4, 5, 6}, 2, 3).Slice(nil, tensor.S(1, 3))
	require.NoError(t, err)
	rows, err := dense([]int32{1, 2, 3, 4, 5, 6}, 3, 2).Slice(tensor.S(1, 3))
	require.NoError(t, err)
	transposed := dense([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, transposed.T())
	cube := dense([]float64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)
	require.NoError(t, cube.T(2, 0, 1))
	for name, c := range map[string]struct {
		in     *tensor.Dense
		values any
		shape  []int
	}{
		"dense":        {dense([]float32{1, 2, 3, 4}, 2, 2), []float32{1, 2, 3, 4}, []int{2, 2}},
		"bools":        {dense([]bool{true, false}, 2), []bool{true, false}, []int{2}},
		"column-major": {tensor.New(tensor.WithShape(2, 3), tensor.AsFortran([]float32{1, 2, 3, 4, 5, 6})), []float32{1, 2, 3, 4, 5, 6}, []int{2, 3}},
		"columns":      {columns.(*tensor.Dense), []int32{2, 3, 5, 6}, []int{2, 2}},
		"rows":         {rows.(*tensor.Dense), []int32{3, 4, 5, 6}, []int{2, 2}},
		"transpose":    {transposed, []float32{1, 4, 2, 5, 3, 6}, []int{3, 2}},
		"cube":         {cube, []float64{1, 3, 5, 7, 2, 4, 6, 8}, []int{2, 2, 2}},
		"scalar":       {tensor.New(tensor.FromScalar(int64(7))), []int64{7}, []int{}},
		"empty":        {tensor.NewDense(tensor.Float32, tensor.Shape{0, 3}), []float32{}, []int{0, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := gorgonia.FromTensor(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.values, a.Elements())
			assert.Equal(t, c.shape, append([]int{}, a.Shape()...))
		})
	}
	ints, err := gorgonia.FromTensor(dense([]int{1, 2}, 2))
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 2}, ints.Int64s())
}

func TestFromTensorRefuses(t *testing.T) {
	sparse := tensor.CSRFromCoord(tensor.Shape{2, 2}, []int{0}, []int{1}, []float32{1})
	masked := tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1, 2}, []bool{true, false}))
	for want, in := range map[string]tensor.Tensor{
		"is nil": nil, "tensor is nil": (*tensor.Dense)(nil), "*tensor.CS": sparse, "masked": masked, "complex64": dense([]complex64{1}, 1), "without an element type": &tensor.Dense{},
		"string": dense([]string{"a"}, 1),
	} {
		_, err := gorgonia.FromTensor(in)
		assert.ErrorContains(t, err, want)
	}
}

// Memory is shared in both directions.
func TestSharedMemory(t *testing.T) {
	values := []float32{1, 2, 3, 4}
	a, err := gorgonia.FromTensor(dense(values, 2, 2))
	require.NoError(t, err)
	values[0] = 10
	assert.Equal(t, 10.0, a.At(0, 0))
	d, err := gorgonia.ToTensor(a)
	require.NoError(t, err)
	require.NoError(t, d.SetAt(float32(40), 1, 1))
	assert.Equal(t, float32(40), values[3])
}

func TestToTensor(t *testing.T) {
	for _, a := range []data.Array{
		data.Must(data.ArrayOf([]int16{1, 2, 3, 4}, 2, 2)), data.Must(data.ArrayOf([]bool{true, false})), data.Must(data.ArrayOf([]uint64{1}, 1, 1)), data.Must(data.ArrayOf([]float64{7}, []int{}...)),
	} {
		d, err := gorgonia.ToTensor(a)
		require.NoError(t, err)
		back, err := gorgonia.FromTensor(d)
		require.NoError(t, err)
		assert.True(t, a.Equal(back), "%v came back as %v", a, back)
	}
	half, err := data.Must(data.ArrayOf([]float32{1.5})).Convert(ir.BFloat16)
	require.NoError(t, err)
	d, err := gorgonia.ToTensor(half)
	require.NoError(t, err)
	assert.Equal(t, []float32{1.5}, d.Data())
	for _, a := range []data.Array{{}, data.Must(data.Zeros[float32](0))} {
		_, err := gorgonia.ToTensor(a)
		assert.Error(t, err)
	}
}

// Tensors become examples, and arrays become tensors.
func Example() {
	x := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float32{1, 2, 3, 4}))
	a, err := gorgonia.FromTensor(x)
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range data.Arrays(a, nil).Batches(context.Background(), 0) {
		d, err2 := gorgonia.ToTensor(batch.X.Single())
		fmt.Println(d.Shape(), d.Data(), err, err2)
	}
	// Output: (2, 2) [1 2 3 4] <nil> <nil>
}
