package kernels

import (
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

func TestZeroArray(t *testing.T) {
	var a Array
	assert.True(t, a.IsZero())
	assert.Zero(t, a.Len())
	assert.Zero(t, a.Rank())
	assert.Nil(t, Values[float32](a))
	assert.ErrorContains(t, a.Check(), "zero Array")
	assert.Equal(t, "no array", a.String())
	assert.True(t, a.Clone().IsZero())
	_, err := View[float32](a)
	assert.ErrorContains(t, err, "zero Array")
	_, err = a.Strings()
	assert.ErrorContains(t, err, "zero Array")
	assert.False(t, NewArray(ir.Type{DType: ir.Float32}).IsZero(), "a scalar is an array")
	assert.False(t, Must(ArrayOf([]float32{})).IsZero(), "an array without elements is an array")
}

// ArrayOf and View share memory; Clone and Values do not.
func TestViewsShareMemory(t *testing.T) {
	values := []float32{1, 2, 3, 4, 5, 6}
	a, err := ArrayOf(values, 2, 3)
	require.NoError(t, err)
	copied, clone := a.Float32s(), a.Clone()
	view, err := View[float32](a)
	require.NoError(t, err)
	view[4] = 50
	assert.Equal(t, float32(50), values[4])
	assert.Equal(t, 50.0, a.At(1, 1))
	assert.Equal(t, 50.0, a.Row(1).At(1))
	assert.Equal(t, 50.0, a.Slice(1, 2).At(0, 1))
	assert.Equal(t, float32(5), copied[4])
	assert.Equal(t, 5.0, clone.Element(4))
	assert.False(t, a.Equal(clone))
	assert.True(t, a.Equal(a.Clone()))
	assert.Zero(t, testing.AllocsPerRun(10, func() { _, _ = View[float32](a) }))
}

func TestEveryElementType(t *testing.T) {
	check := func(a Array, err error, want ir.DType) {
		require.NoError(t, err)
		assert.Equal(t, want, a.DType())
		assert.Equal(t, []float64{1, 0}, a.Float64s(), "%v", want)
		assert.Equal(t, []int32{1, 0}, a.Int32s(), "%v", want)
		assert.Equal(t, []int64{1, 0}, a.Int64s(), "%v", want)
		assert.Equal(t, []bool{true, false}, a.Bools(), "%v", want)
	}
	type label uint8
	for _, c := range []struct {
		a    Array
		want ir.DType
	}{
		{Must(ArrayOf([]bool{true, false})), ir.Bool}, {Must(ArrayOf([]int8{1, 0})), ir.Int8}, {Must(ArrayOf([]int16{1, 0})), ir.Int16},
		{Must(ArrayOf([]int32{1, 0})), ir.Int32}, {Must(ArrayOf([]int64{1, 0})), ir.Int64}, {Must(ArrayOf([]uint8{1, 0})), ir.Uint8},
		{Must(ArrayOf([]uint16{1, 0})), ir.Uint16}, {Must(ArrayOf([]uint32{1, 0})), ir.Uint32}, {Must(ArrayOf([]uint64{1, 0})), ir.Uint64},
		{Must(ArrayOf([]float32{1, 0})), ir.Float32}, {Must(ArrayOf([]float64{1, 0})), ir.Float64}, {Must(ArrayOf([]label{1, 0})), ir.Uint8},
	} {
		check(c.a, nil, c.want)
	}
	a, err := ArrayOf([]int{1, 0})
	check(a, err, DTypeOf[int]())
	b, err := ArrayOf([]uint{1, 0})
	check(b, err, DTypeOf[uint]())
	for _, half := range []ir.DType{ir.Float16, ir.BFloat16} {
		h, err := a.Convert(half)
		check(h, err, half)
	}
}

// Integers beyond 2^53 pass through no float64.
func TestLargeIntegersAreExact(t *testing.T) {
	big := []int64{math.MaxInt64, math.MinInt64, 1<<53 + 1}
	a := Must(ArrayOf(big))
	assert.Equal(t, big, a.Int64s())
	assert.Equal(t, uint64(math.MaxInt64), Values[uint64](a)[0])
	u, err := a.Convert(ir.Uint64)
	require.NoError(t, err)
	assert.Equal(t, uint64(1<<53+1), Values[uint64](u)[2])
	assert.Equal(t, "[ 9223372036854775807 -9223372036854775808     9007199254740993]", a.String())
}

func TestArrayErrors(t *testing.T) {
	_, err := ArrayOf([]float32{1, 2, 3}, 2, 2)
	assert.EqualError(t, err, "kernels: ArrayOf: received 3 values for shape [2 2], which holds 4")
	_, err = ArrayOf([]float32{1, 2, 3}, -1)
	assert.EqualError(t, err, "kernels: ArrayOf: received shape [-1]; expected lengths of at least 0")
	_, err = ArrayOf([]float32{1}, -1, -1)
	assert.Error(t, err)
	_, err = ArrayOf([]float32{}, 0, math.MaxInt, math.MaxInt)
	assert.NoError(t, err)
	a := Must(ArrayOf([]float32{1, 2, 3, 4}, 2, 2))
	_, err = View[float64](a)
	assert.EqualError(t, err, "kernels: View: the array holds float32, not float64; Values converts")
	_, err = View[float32](Array{a.Type, a.Data[:8]})
	assert.ErrorContains(t, err, "has 8 bytes; expected 16")
	odd := Array{ir.Type{DType: ir.Float32, Shape: ir.Shape{3}}, append(make([]byte, 0, 17), make([]byte, 17)...)[1:13]}
	_, err = View[float32](odd)
	assert.ErrorContains(t, err, "not aligned")
	assert.Equal(t, []float32{0, 0, 0}, odd.Float32s())
	_, err = View[bool](Array{ir.Type{DType: ir.Bool, Shape: ir.Shape{1}}, []byte{7}})
	assert.ErrorContains(t, err, "other than 0 and 1")
	assert.Panics(t, func() { a.At(1) })
	assert.Panics(t, func() { a.At(1, 2) })
	assert.Panics(t, func() { a.Row(2) })
	assert.Panics(t, func() { a.Slice(1, 0) })
	assert.Panics(t, func() { Must(ArrayOf([]int8{1}, 2)) })
	_, err = a.Reshape(3, -1)
	assert.ErrorContains(t, err, "does not hold")
	_, err = a.Reshape(-1, -1)
	assert.Error(t, err)
	_, err = a.Convert(ir.Invalid)
	assert.Error(t, err)
}

func TestReshape(t *testing.T) {
	a := Must(ArrayOf([]int32{1, 2, 3, 4, 5, 6}, 2, 3))
	b, err := a.Reshape(3, -1)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 2}, b.Shape())
	b.Data[0] = 9
	assert.Equal(t, 9.0, a.At(0, 0))
	assert.Equal(t, []int{2, 3}, a.Shape())
	empty, err := Must(ArrayOf([]int32{}, 0, 3)).Reshape(-1, 3)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 3}, empty.Shape())
}

func TestRowsOfArrays(t *testing.T) {
	rows, err := Rows[int](Must(ArrayOf([]float32{1, 2, 3, 4}, 2, 2, 1)))
	require.NoError(t, err)
	assert.Equal(t, [][]int{{1, 2}, {3, 4}}, rows)
	rows, err = Rows[int](Must(ArrayOf([]bool{true}, []int{}...)))
	require.NoError(t, err)
	assert.Equal(t, [][]int{{1}}, rows)
	rows, err = Rows[int](Must(ArrayOf([]float32{}, 3, 0)))
	require.NoError(t, err)
	assert.Len(t, rows, 3)
	_, err = Rows[int](Array{})
	assert.Error(t, err)
}

func TestTextArrays(t *testing.T) {
	a, err := TextArray([]string{"a", "", "größe", "d"}, 2, 2)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 2, 7}, a.Shape())
	words, err := a.Strings()
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "", "größe", "d"}, words)
	for _, c := range []struct {
		values []string
		shape  []int
		want   string
	}{
		{[]string{"a"}, []int{2}, "expected as many as that has places"}, {nil, nil, "at least one"}, {[]string{"a\x00"}, nil, "zero byte"}, {[]string{"a"}, []int{-1, -1}, "places"},
	} {
		_, err := TextArray(c.values, c.shape...)
		assert.ErrorContains(t, err, c.want)
	}
	_, err = Must(ArrayOf([]int32{1})).Strings()
	assert.ErrorContains(t, err, "array of text")
}

func TestArrayImage(t *testing.T) {
	gray, err := Must(ArrayOf([]float32{0, 254.6, 300, -1, float32(math.NaN()), 7}, 2, 3, 1)).Image()
	require.NoError(t, err)
	assert.Equal(t, []uint8{0, 255, 255, 0, 0, 7}, gray.(*image.Gray).Pix)
	colours, err := Must(ArrayOf([]uint8{1, 2, 3, 4, 5, 6}, 1, 2, 3)).Image()
	require.NoError(t, err)
	assert.Equal(t, image.Rect(0, 0, 2, 1), colours.Bounds())
	assert.Equal(t, color.NRGBA{4, 5, 6, 255}, colours.At(1, 0))
	clear, err := Must(ArrayOf([]uint8{1, 2, 3, 4}, 1, 1, 4)).Image()
	require.NoError(t, err)
	assert.Equal(t, color.NRGBA{1, 2, 3, 4}, clear.At(0, 0))
	_, err = Must(ArrayOf([]uint8{1, 2}, 1, 1, 2)).Image()
	assert.ErrorContains(t, err, "1, 3 or 4 channels")
	_, err = Array{}.Image()
	assert.Error(t, err)
}

func TestArrayPrints(t *testing.T) {
	assert.Equal(t, "[[  1   2   3]\n [  4 0.1  -6]]", Must(ArrayOf([]float32{1, 2, 3, 4, 0.1, -6}, 2, 3)).String())
	assert.Equal(t, "7", Must(ArrayOf([]int32{7}, []int{}...)).String())
	assert.Equal(t, "[ true false]", Must(ArrayOf([]bool{true, false})).String())
	assert.Equal(t, "[[[1 2]]\n\n [[3 4]]]", Must(ArrayOf([]int8{1, 2, 3, 4}, 2, 1, 2)).String())
	assert.Equal(t, "[]", Must(ArrayOf([]float32{}, 0, 2)).String())
	long := make([]int32, 2000)
	for i := range long {
		long[i] = int32(i)
	}
	assert.Equal(t, "[   0    1    2 ... 1997 1998 1999]", Must(ArrayOf(long)).String())
	assert.Contains(t, Array{ir.Type{DType: ir.Float32, Shape: ir.Shape{2}}, nil}.String(), "has 0 bytes")
}
