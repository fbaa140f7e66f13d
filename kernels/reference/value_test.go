package reference

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

func TestValueBytesRoundTrip(t *testing.T) {
	for _, d := range ir.DTypes() {
		v, err := New(d, ir.Shape{2, 3}, 0, 1, 2, 100, 1, 0)
		require.NoError(t, err)
		if d.IsSigned() {
			v, err = New(d, ir.Shape{2, 3}, 0, -1, 2, -100, 1, 0)
			require.NoError(t, err)
		}
		data := v.Bytes()
		assert.Len(t, data, v.Type.Bytes())
		back, err := FromBytes(v.Type, data)
		require.NoError(t, err)
		assert.Equal(t, v, back)
		assert.Equal(t, v, v.Clone())
		assert.Equal(t, v, FromLiteral(ir.Literal{Type: v.Type, Data: data}))
	}
}

func TestValueKeeps64Bits(t *testing.T) {
	v := Value{Type: ir.Type{DType: ir.Uint64, Shape: ir.Shape{2}}, I: []int64{-1, math.MinInt64 + 1}}
	back, err := FromBytes(v.Type, v.Bytes())
	require.NoError(t, err)
	assert.Equal(t, v, back)
	assert.Equal(t, float64(math.MaxUint64), v.At(0))
	signed := Value{Type: ir.Type{DType: ir.Int64, Shape: ir.Shape{1}}, I: []int64{math.MinInt64 + 1}}
	assert.Equal(t, float64(math.MinInt64), signed.At(0))
	back, err = FromBytes(signed.Type, signed.Bytes())
	require.NoError(t, err)
	assert.Equal(t, signed, back)
}

func TestValueRoundsToItsType(t *testing.T) {
	v := Value{Type: ir.Type{DType: ir.BFloat16, Shape: ir.Shape{2}}, F: []float64{1 + 0x1p-9, 3}}
	back, err := FromBytes(v.Type, v.Bytes())
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 3}, back.F)
	assert.Equal(t, 1+0x1p-9, v.At(0), "the value itself is not rounded")
}

func TestFromLiteralSplat(t *testing.T) {
	assert.Equal(t, []float64{2.5, 2.5, 2.5}, FromLiteral(ir.Scalar(ir.Float32, 2.5, 3)).F)
	assert.Equal(t, []int64{7, 7}, FromLiteral(ir.Scalar(ir.Uint8, 7, 2)).I)
}

func TestFromBytesWrongLength(t *testing.T) {
	_, err := FromBytes(ir.Type{DType: ir.Float32, Shape: ir.Shape{2}}, make([]byte, 7))
	assert.EqualError(t, err, "reference: a value of type float32[2] has 8 bytes, received 7")
}

func TestIndices(t *testing.T) {
	var seen [][]int
	for i, at := range indices(ir.Shape{2, 3}) {
		assert.Equal(t, i, position(ir.Shape{2, 3}, at))
		seen = append(seen, append([]int{}, at...))
	}
	assert.Equal(t, [][]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}, seen)
	for range indices(ir.Shape{2, 0}) {
		t.Fatal("an empty shape has no elements")
	}
	count := 0
	for range indices(nil) {
		count++
	}
	assert.Equal(t, 1, count, "a scalar has one")
}
