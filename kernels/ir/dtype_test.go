package ir

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Significant bits and the least normal number are those of IEEE 754's formats and of bfloat16.
func TestPrecision(t *testing.T) {
	for d, want := range map[DType]struct {
		digits int
		least  float64
	}{
		Float16: {11, 0x1p-14}, BFloat16: {8, 0x1p-126}, Float32: {24, 0x1p-126}, Float64: {53, 0x1p-1022},
		Int32: {}, Uint64: {}, Bool: {}, Invalid: {},
	} {
		assert.Equal(t, want.digits, d.Digits(), "%v", d)
		assert.Equal(t, want.least, d.LeastNormal(), "%v", d)
		if !d.IsFloat() {
			continue
		}
		last := 1 + math.Ldexp(1, 1-want.digits) // the number after 1
		assert.Equal(t, last, RoundFloat(d, last), "%v", d)
		assert.Equal(t, 1.0, RoundFloat(d, 1+math.Ldexp(1, -want.digits)), "%v: ties go to even", d)
	}
}

func TestDTypes(t *testing.T) {
	for _, c := range []struct {
		d                      DType
		name, hlo              string
		size                   int
		float, integer, signed bool
	}{
		{Bool, "bool", "i1", 1, false, false, false},
		{Int8, "int8", "i8", 1, false, true, true},
		{Int16, "int16", "i16", 2, false, true, true},
		{Int32, "int32", "i32", 4, false, true, true},
		{Int64, "int64", "i64", 8, false, true, true},
		{Uint8, "uint8", "ui8", 1, false, true, false},
		{Uint16, "uint16", "ui16", 2, false, true, false},
		{Uint32, "uint32", "ui32", 4, false, true, false},
		{Uint64, "uint64", "ui64", 8, false, true, false},
		{Float16, "float16", "f16", 2, true, false, true},
		{BFloat16, "bfloat16", "bf16", 2, true, false, true},
		{Float32, "float32", "f32", 4, true, false, true},
		{Float64, "float64", "f64", 8, true, false, true},
	} {
		assert.Equal(t, c.name, c.d.String())
		assert.Equal(t, c.hlo, c.d.StableHLO())
		assert.Equal(t, c.size, c.d.Size())
		assert.Equal(t, c.float, c.d.IsFloat(), c.name)
		assert.Equal(t, c.integer, c.d.IsInteger(), c.name)
		assert.Equal(t, c.signed, c.d.IsSigned(), c.name)
		assert.True(t, c.d.Valid())
		parsed, err := ParseDType(c.name)
		require.NoError(t, err)
		assert.Equal(t, c.d, parsed)
	}
	assert.Len(t, DTypes(), int(dtypeCount)-1)
	assert.False(t, Invalid.Valid())
	assert.False(t, DType(200).Valid())
	assert.False(t, DType(200).IsFloat())
	assert.False(t, DType(200).IsSigned())
	assert.Equal(t, "dtype(200)", DType(200).String())
}

func TestParseDTypeUnknown(t *testing.T) {
	for _, name := range []string{"", "invalid", "float", "Float32"} {
		_, err := ParseDType(name)
		assert.ErrorContains(t, err, "known: [bool int8")
	}
}

func TestWholeNumbersOfIntegerTypes(t *testing.T) {
	for _, c := range []struct {
		d       DType
		v, want int64
		holds   bool
	}{
		{Uint8, 255, 255, true}, {Uint8, 256, 0, false}, {Uint8, -1, 255, false}, {Int8, 128, -128, false}, {Int8, -128, -128, true},
		{Int64, -1 << 63, -1 << 63, true}, {Uint64, 1<<63 - 1, 1<<63 - 1, true}, {Uint64, -1, -1, false}, {Int32, 1 << 40, 0, false},
	} {
		if got := c.d.Wrap(c.v); got != c.want || c.d.Holds(c.v) != c.holds {
			t.Errorf("%v: %d is %d and held %v; expected %d and %v", c.d, c.v, got, c.d.Holds(c.v), c.want, c.holds)
		}
	}
	if Float32.Holds(1) || Bool.Holds(1) {
		t.Error("only integer types have limits")
	}
}
