package ir

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLengths: products and sums that do not fit an int stop at its ends.
func TestLengths(t *testing.T) {
	assert.Equal(t, 1, MulLengths())
	assert.Equal(t, -30, MulLengths(2, -3, 5))
	assert.Equal(t, math.MaxInt, MulLengths(1<<31, 1<<32))
	assert.Equal(t, math.MaxInt, MulLengths(1<<32, 1<<32), "what wraps to 0")
	assert.Equal(t, math.MinInt, MulLengths(-1<<32, 1<<32))
	assert.Equal(t, math.MaxInt, MulLengths(math.MinInt, math.MinInt))
	assert.Equal(t, 0, MulLengths(1<<40, 1<<40, 0))
	assert.Equal(t, 0, AddLengths())
	assert.Equal(t, 4, AddLengths(2, -3, 5))
	assert.Equal(t, math.MaxInt, AddLengths(math.MaxInt, 1))
	assert.Equal(t, math.MinInt, AddLengths(math.MinInt, -1))
}

// TestTypesEnd: no rule of an operation makes a type whose elements cannot be counted, or wraps round to a small one.
func TestTypesEnd(t *testing.T) {
	p := New("limits")
	x := p.AddInput("x", Type{Float32, Shape{1, 1 << 31, 1}})
	zero := p.AddInput("zero", Type{Float32, nil})
	kernel := p.AddInput("kernel", Type{Float32, Shape{3, 1, 1}})
	conv := func(dilation, high int) ConvAttrs {
		return ConvAttrs{Strides: []int{1}, Dilation: []int{dilation}, PadLow: []int{0}, PadHigh: []int{high}, Groups: 1}
	}
	for name, add := range map[string]func() ([]Value, error){
		"broadcast": func() ([]Value, error) {
			return p.Add("", Broadcast, BroadcastAttrs{Shape: Shape{1 << 30, 1 << 30, 1 << 31, 1}, Axes: []int{1, 2, 3}}, x)
		},
		"pad": func() ([]Value, error) {
			return p.Add("", Pad, PadAttrs{[]int{0, 0, 0}, []int{0, 0, 0}, []int{0, 1 << 33, 0}}, x, zero)
		},
		"pad ends": func() ([]Value, error) {
			return p.Add("", Pad, PadAttrs{[]int{0, math.MaxInt, 0}, []int{0, 5, 0}, []int{0, 0, 0}}, x, zero)
		},
		"conv pad": func() ([]Value, error) { return p.Add("", Conv, conv(1, math.MaxInt), x, kernel) },
		"iota":     func() ([]Value, error) { return p.Add("", Iota, IotaAttrs{Type: Type{Int32, Shape{1 << 62}}}) },
		"window": func() ([]Value, error) {
			return p.Add("", MaxPool, PoolAttrs{[]int{1 << 30}, []int{1}, []int{0}, []int{0}}, x)
		},
	} {
		_, err := add()
		assert.Error(t, err, name)
	}
	_, err := p.Add("", Conv, conv(math.MaxInt, 0), x, kernel)
	assert.Error(t, err, "a span that does not fit an int")
}

// TestProgramsEnd: a program that is traced in an endless loop ends in an error.
func TestProgramsEnd(t *testing.T) {
	p := New("long")
	x := p.AddInput("x", Type{Float32, nil})
	p.Nodes = make([]Node, MaxNodes-1)
	_, err := p.Add("", Neg, nil, x)
	require.NoError(t, err)
	_, err = p.Add("", Neg, nil, x)
	require.ErrorContains(t, err, "more than 1048576 operations")
}
