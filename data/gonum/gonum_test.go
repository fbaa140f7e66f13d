package gonum_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/data/gonum"
)

func TestFromMatrix(t *testing.T) {
	three := mat.NewDense(3, 3, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	for name, c := range map[string]struct {
		in     mat.Matrix
		values []float64
		shape  []int
	}{
		"matrix":    {mat.NewDense(2, 1, []float64{1, 2}), []float64{1, 2}, []int{2, 1}},
		"part":      {three.Slice(1, 3, 0, 2), []float64{4, 5, 7, 8}, []int{2, 2}},
		"transpose": {mat.NewDense(1, 2, []float64{1, 2}).T(), []float64{1, 2}, []int{2, 1}},
		"symmetric": {mat.NewSymDense(2, []float64{1, 2, 0, 3}), []float64{1, 2, 2, 3}, []int{2, 2}},
		"vector":    {mat.NewVecDense(2, []float64{1, 2}), []float64{1, 2}, []int{2}},
		"column":    {three.ColView(1), []float64{2, 5, 8}, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := gonum.FromMatrix(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.values, a.Elements())
			assert.Equal(t, c.shape, a.Shape())
		})
	}
	for want, in := range map[string]mat.Matrix{"is nil": nil, "empty matrix": &mat.Dense{}, "empty vector": &mat.VecDense{}, "matrix is nil": (*mat.Dense)(nil), "vector is nil": (*mat.VecDense)(nil)} {
		_, err := gonum.FromMatrix(in)
		assert.ErrorContains(t, err, want)
	}
}

// float64 is shared in both directions.
func TestSharedMemory(t *testing.T) {
	values := []float64{1, 2, 3, 4}
	a, err := gonum.FromMatrix(mat.NewDense(2, 2, values))
	require.NoError(t, err)
	values[0] = 10
	assert.Equal(t, 10.0, a.At(0, 0))
	m, err := gonum.ToDense(a)
	require.NoError(t, err)
	m.Set(1, 1, 40)
	assert.Equal(t, 40.0, values[3])
	v, err := gonum.ToVector(a)
	require.NoError(t, err)
	v.SetVec(1, 20)
	assert.Equal(t, 20.0, values[1])
}

func TestToDense(t *testing.T) {
	m, err := gonum.ToDense(data.Must(data.ArrayOf([]int8{1, 2, 3, 4, 5, 6}, 3, 2, 1)))
	require.NoError(t, err)
	assert.True(t, mat.Equal(m, mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})))
	v, err := gonum.ToVector(data.Must(data.ArrayOf([]bool{true, false})))
	require.NoError(t, err)
	assert.True(t, mat.Equal(v, mat.NewVecDense(2, []float64{1, 0})))
	none := data.Must(data.Zeros[float32](0, 3))
	for _, a := range []data.Array{{}, none, {Type: none.Type, Data: []byte{1}}} {
		_, err = gonum.ToDense(a)
		assert.Error(t, err)
		_, err = gonum.ToVector(a)
		assert.Error(t, err)
	}
	_, err = gonum.ToDense(data.Must(data.ArrayOf([]float64{1}, []int{}...)))
	assert.ErrorContains(t, err, "shape []")
}

// The principal axes of some examples, found by gonum, as numbers for a model.
func Example() {
	x := data.Must(data.ArrayOf([]float32{2, 0, 0, 1, -2, 0, 0, -1}, 4, 2))
	m, err := gonum.ToDense(x)
	if err != nil {
		fmt.Println(err)
		return
	}
	var svd mat.SVD
	svd.Factorize(m, mat.SVDThin)
	a, err := gonum.FromMatrix(mat.NewVecDense(2, svd.Values(nil)))
	fmt.Printf("%.3f %v\n", a.Float64s(), err)
	// Output: [2.828 1.414] <nil>
}
