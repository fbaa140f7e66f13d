package ir

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestElementRoundTrip(t *testing.T) {
	for _, d := range DTypes() {
		values := []float64{0, 1, 2, 96}
		switch {
		case d == Bool:
			values = []float64{0, 1}
		case d.IsSigned():
			values = append(values, -1, -96)
		}
		var data []byte
		for _, v := range values {
			data = AppendElement(data, d, v)
		}
		assert.Len(t, data, len(values)*d.Size())
		for i, v := range values {
			assert.Equal(t, v, Element(data, d, i), "%v", d)
		}
	}
}

func TestAppendElementConverts(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		d       DType
		v, want float64
	}{
		{Bool, 0.3, 1}, {Bool, nan, 1}, {Bool, math.Copysign(0, -1), 0},
		{Int8, 2.9, 2}, {Int8, -2.9, -2}, {Int8, 127.5, 127}, {Int8, 128, 127}, {Int8, -128.9, -128}, {Int8, -129, -128}, {Int8, nan, 0}, {Int8, inf, 127}, {Int8, -inf, -128},
		{Uint8, 255.9, 255}, {Uint8, 256, 255}, {Uint8, -0.9, 0}, {Uint8, -1, 0}, {Uint8, nan, 0},
		{Int16, 40000, 32767}, {Uint16, 70000, 65535}, {Int32, 3e9, math.MaxInt32}, {Int32, -3e9, math.MinInt32}, {Uint32, 5e9, math.MaxUint32},
		{Int64, 0x1p63, 0x1p63}, {Int64, -0x1p63, -0x1p63}, {Int64, -1e30, -0x1p63}, {Uint64, 0x1p63, 0x1p63}, {Uint64, inf, 0x1p64}, {Uint64, -inf, 0},
		{Float32, 0.1, float64(float32(0.1))}, {Float16, 1 + 0x1p-11 + 0x1p-45, 1 + 0x1p-10}, {BFloat16, 1 + 0x1p-8 + 0x1p-45, 1 + 0x1p-7}, {Float64, 0.1, 0.1},
	} {
		assert.Equal(t, c.want, Element(AppendElement(nil, c.d, c.v), c.d, 0), "%v from %v", c.d, c.v)
	}
	assert.Equal(t, int64(math.MaxInt64), int64(binary.LittleEndian.Uint64(AppendElement(nil, Int64, inf))))
	assert.Equal(t, uint64(math.MaxUint64), binary.LittleEndian.Uint64(AppendElement(nil, Uint64, 1e30)))
	assert.Panics(t, func() { AppendElement(nil, Invalid, 1) })
	assert.Panics(t, func() { Element(nil, Invalid, 0) })
}

func TestLiterals(t *testing.T) {
	splat := Scalar(Float32, 2.5, 3, 4)
	assert.True(t, splat.Splat)
	assert.Len(t, splat.Data, 4)
	assert.Equal(t, 2.5, splat.At(11))
	assert.Equal(t, "float32[3 4](2.5)", splat.String())
	list, err := Floats(Int16, Shape{2, 2}, []float64{1, -2, 3, 4})
	require.NoError(t, err)
	assert.Equal(t, -2.0, list.At(1))
	assert.Equal(t, "int16[2 2][1 -2 3 4]", list.String())
	_, err = Floats(Float32, Shape{2, 2}, []float64{1})
	assert.EqualError(t, err, "ir: literal of shape [2 2] needs 4 elements, received 1")
	empty, err := Floats(Float32, Shape{0}, nil)
	require.NoError(t, err)
	assert.Equal(t, "float32[0][]", empty.String())
}

// Literals that differ print differently, long ones and neighbours beyond 2^53 too: hashes are made of this text.
func TestLiteralTextIsExact(t *testing.T) {
	wide := func(d DType, v uint64) string {
		return Literal{Type: Type{d, Shape{1}}, Data: binary.LittleEndian.AppendUint64(nil, v)}.String()
	}
	assert.Equal(t, "int64[1][1152921504606846977]", wide(Int64, 1<<60+1))
	assert.Equal(t, "int64[1][-1]", wide(Int64, math.MaxUint64))
	assert.Equal(t, "uint64[1][18446744073709551615]", wide(Uint64, math.MaxUint64))
	assert.NotEqual(t, Scalar(Float64, 0.1).String(), Scalar(Float64, math.Nextafter(0.1, 1)).String())
	assert.NotEqual(t, Scalar(Float32, 0).String(), Scalar(Float32, math.Copysign(0, -1)).String())
	long := make([]float64, 20)
	a, err := Floats(Float32, Shape{20}, long)
	require.NoError(t, err)
	long[13] = 1
	b, err := Floats(Float32, Shape{20}, long)
	require.NoError(t, err)
	assert.Regexp(t, `^float32\[20\]\(20 elements, [0-9a-f]{16}\)$`, a.String())
	assert.NotEqual(t, a.String(), b.String())
}
