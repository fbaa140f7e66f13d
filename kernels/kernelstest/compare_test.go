package kernelstest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

func TestCompare(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	floats := func(d ir.DType, f ...float64) reference.Value {
		return reference.Value{Type: ir.Type{DType: d, Shape: ir.Shape{len(f)}}, F: f}
	}
	ints := func(i ...int64) reference.Value {
		return reference.Value{Type: ir.Type{DType: ir.Int64, Shape: ir.Shape{len(i)}}, I: i}
	}
	for _, c := range []struct {
		name      string
		got, want reference.Value
		units     float64
		whole     bool
		ok        bool
	}{
		{"equal", floats(ir.Float64, 1, -2, 0), floats(ir.Float64, 1, -2, 0), 0, false, true},
		{"NaN equals NaN", floats(ir.Float64, nan), floats(ir.Float64, nan), 0, false, true},
		{"NaN for a number", floats(ir.Float64, nan), floats(ir.Float64, 1), 1e300, true, false},
		{"a number for NaN", floats(ir.Float64, 1), floats(ir.Float64, nan), 1e300, true, false},
		{"infinity", floats(ir.Float64, inf), floats(ir.Float64, inf), 0, false, true},
		{"wrong infinity", floats(ir.Float64, -inf), floats(ir.Float64, inf), 1e300, true, false},
		{"a number for infinity", floats(ir.Float64, 1e308), floats(ir.Float64, inf), 1e300, true, false},
		{"infinity for a number", floats(ir.Float64, inf), floats(ir.Float64, 1e308), 1e10, true, false},
		{"zeros of both signs", floats(ir.Float64, math.Copysign(0, -1)), floats(ir.Float64, 0), 0, false, true},
		{"one unit", floats(ir.Float32, 1+0x1p-23), floats(ir.Float32, 1), 1, false, true},
		{"two units", floats(ir.Float32, 1+0x1p-22), floats(ir.Float32, 1), 1, false, false},
		{"one unit, none allowed", floats(ir.Float32, 1+0x1p-23), floats(ir.Float32, 1), 0, false, false},
		{"relative to a large number", floats(ir.Float32, 1024+0x1p-13), floats(ir.Float32, 1024), 1, false, true},
		{"relative to a small number", floats(ir.Float32, 0x1p-10+0x1p-23), floats(ir.Float32, 0x1p-10), 1, false, false},
		{"small number beside a large one", floats(ir.Float32, 0x1p-10+0x1p-23, 1), floats(ir.Float32, 0x1p-10, 1), 1, true, true},
		{"infinity does not count as large", floats(ir.Float32, 0.5, inf), floats(ir.Float32, 0, inf), 1, true, false},
		{"the wanted number is rounded first", floats(ir.BFloat16, 1), floats(ir.BFloat16, 1+0x1p-9), 0, false, true},
		{"rounded to infinity", floats(ir.Float16, inf), floats(ir.Float16, 70000), 0, false, true},
		{"flushed to zero", floats(ir.Float32, 0), floats(ir.Float32, 0x1p-130), 1, false, true},
		{"flushed, equality wanted", floats(ir.Float32, 0), floats(ir.Float32, 0x1p-130), 0, false, false},
		{"last of many", floats(ir.Float64, 1, 2, 3), floats(ir.Float64, 1, 2, 4), 1, true, false},
		{"integers", ints(1, -5), ints(1, -5), 0, false, true},
		{"integer off by one", ints(1, math.MaxInt64), ints(1, math.MaxInt64-1), 1e300, true, false},
		{"another type", floats(ir.Float32, 1), floats(ir.Float64, 1), 1e300, true, false},
		{"another shape", floats(ir.Float32, 1), floats(ir.Float32, 1, 1), 1e300, true, false},
		{"empty", floats(ir.Float32), floats(ir.Float32), 0, true, true},
	} {
		err := kernelstest.Compare(c.got, c.want, c.units, c.whole)
		assert.Equal(t, c.ok, err == nil, "%s: %v", c.name, err)
	}
}
