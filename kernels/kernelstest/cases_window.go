package kernelstest

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// results runs one op on operands of the case in the reference and rounds its results, for operands that are themselves
// results (the y of a gradient).
func (d *draft) results(op ir.Op, attrs ir.Attrs, inputs ...reference.Value) []reference.Value {
	s := &suite{}
	f := s.new(op, "operand of %s", d.Name)
	f.add(attrs, inputs...)
	out, err := reference.Interpreter{Round: true}.Run(s.cases[0].Program, inputs)
	if err != nil {
		panic(fmt.Sprintf("kernelstest: case %s: %v", d.Name, err))
	}
	return out
}

type convCase struct {
	name      string
	x, kernel ir.Shape
	attrs     ir.ConvAttrs
}

// conv returns the attributes of a convolution.
func conv(strides, dilation, low, high []int, groups int) ir.ConvAttrs {
	return ir.ConvAttrs{Strides: strides, Dilation: dilation, PadLow: low, PadHigh: high, Groups: groups}
}

var (
	one2, none2 = []int{1, 1}, []int{0, 0}
	smallConvs  = []convCase{
		{"1d", ir.Shape{2, 7, 3}, ir.Shape{3, 3, 4}, conv([]int{1}, []int{1}, []int{0}, []int{0}, 1)},
		{"1d causal dilated", ir.Shape{2, 7, 3}, ir.Shape{3, 3, 4}, conv([]int{1}, []int{2}, []int{4}, []int{0}, 1)},
		{"1d strided", ir.Shape{1, 8, 2}, ir.Shape{2, 2, 3}, conv([]int{3}, []int{1}, []int{0}, []int{1}, 1)},
		{"2d valid", ir.Shape{2, 5, 6, 3}, ir.Shape{3, 2, 3, 4}, conv(one2, one2, none2, none2, 1)},
		{"2d same", ir.Shape{2, 5, 6, 3}, ir.Shape{3, 3, 3, 5}, conv(one2, one2, one2, one2, 1)},
		{"2d 1x1", ir.Shape{2, 4, 3, 7}, ir.Shape{1, 1, 7, 5}, conv(one2, one2, none2, none2, 1)},
		{"2d 1x1 strided", ir.Shape{1, 5, 5, 3}, ir.Shape{1, 1, 3, 2}, conv([]int{2, 3}, one2, none2, none2, 1)},
		{"2d strided uneven padding", ir.Shape{2, 7, 6, 3}, ir.Shape{3, 4, 3, 4}, conv([]int{2, 3}, one2, []int{0, 1}, []int{2, 1}, 1)},
		{"2d dilated", ir.Shape{1, 9, 8, 2}, ir.Shape{3, 2, 2, 3}, conv(one2, []int{2, 3}, []int{1, 0}, []int{0, 2}, 1)},
		{"2d strided dilated", ir.Shape{1, 9, 8, 2}, ir.Shape{2, 2, 2, 3}, conv([]int{2, 2}, []int{3, 2}, one2, one2, 1)},
		{"2d groups", ir.Shape{2, 4, 5, 6}, ir.Shape{2, 3, 3, 4}, conv(one2, one2, none2, one2, 2)},
		{"2d depthwise", ir.Shape{2, 5, 5, 3}, ir.Shape{3, 3, 1, 3}, conv(one2, one2, one2, one2, 3)},
		{"2d depthwise multiplier strided", ir.Shape{2, 5, 5, 3}, ir.Shape{3, 3, 1, 6}, conv([]int{2, 2}, one2, none2, one2, 3)},
		{"2d one channel", ir.Shape{1, 5, 4, 1}, ir.Shape{3, 3, 1, 1}, conv(one2, one2, one2, one2, 1)},
		{"2d window beyond input", ir.Shape{1, 2, 2, 2}, ir.Shape{5, 5, 2, 3}, conv(one2, one2, []int{2, 2}, []int{2, 2}, 1)},
		{"2d nothing fits", ir.Shape{2, 2, 2, 3}, ir.Shape{3, 3, 3, 4}, conv(one2, one2, none2, none2, 1)},
		{"2d empty batch", ir.Shape{0, 4, 4, 3}, ir.Shape{3, 3, 3, 4}, conv(one2, one2, none2, none2, 1)},
		{"2d no input channels", ir.Shape{1, 4, 4, 0}, ir.Shape{3, 3, 0, 4}, conv(one2, one2, none2, none2, 1)},
		{"2d no output channels", ir.Shape{1, 4, 4, 2}, ir.Shape{3, 3, 2, 0}, conv(one2, one2, none2, none2, 1)},
		{"2d padding never read", ir.Shape{1, 4, 4, 2}, ir.Shape{2, 2, 2, 2}, conv([]int{3, 3}, one2, none2, none2, 1)},
		{"3d", ir.Shape{1, 4, 5, 3, 2}, ir.Shape{2, 3, 2, 2, 3}, conv([]int{1, 2, 1}, []int{1, 1, 2}, []int{0, 1, 1}, []int{1, 1, 0}, 1)},
	}
	largerConvs = []convCase{
		{"2d 3x3 16 channels", ir.Shape{2, 9, 11, 16}, ir.Shape{3, 3, 16, 24}, conv(one2, one2, one2, one2, 1)},
		{"2d 5x5 strided", ir.Shape{1, 13, 12, 8}, ir.Shape{5, 5, 8, 17}, conv([]int{2, 2}, one2, []int{1, 2}, []int{2, 2}, 1)},
		{"2d 1x1 wide", ir.Shape{2, 7, 7, 33}, ir.Shape{1, 1, 33, 40}, conv(one2, one2, none2, none2, 1)},
		{"2d depthwise wide", ir.Shape{1, 9, 8, 37}, ir.Shape{3, 3, 1, 37}, conv(one2, one2, one2, one2, 37)},
		{"2d image", ir.Shape{3, 14, 14, 1}, ir.Shape{3, 3, 1, 32}, conv(one2, one2, none2, none2, 1)},
	}
)

func convCases(s *suite) {
	for _, dtype := range floats {
		for _, c := range smallConvs {
			convCase3(s, dtype, c)
		}
	}
	for _, c := range largerConvs {
		convCase3(s, ir.Float32, c)
	}
}

// convCase3 adds a convolution and its two gradients.
func convCase3(s *suite, dtype ir.DType, c convCase) {
	y, err := ir.ConvShape(c.x, c.kernel, c.attrs)
	if err != nil {
		panic("kernelstest: " + err.Error())
	}
	d := s.new(ir.Conv, "%v %s", dtype, c.name).withinWhole(32)
	d.add(c.attrs, d.normal(dtype, c.x...), d.normal(dtype, c.kernel...))
	d = s.new(ir.ConvInputGrad, "%v %s", dtype, c.name).withinWhole(32)
	d.add(ir.ConvGradAttrs{Conv: c.attrs, Shape: c.x}, d.normal(dtype, y...), d.normal(dtype, c.kernel...))
	d = s.new(ir.ConvKernelGrad, "%v %s", dtype, c.name).withinWhole(32)
	d.add(ir.ConvGradAttrs{Conv: c.attrs, Shape: c.kernel}, d.normal(dtype, c.x...), d.normal(dtype, y...))
}

func poolCases(s *suite) {
	for _, c := range []struct {
		name  string
		x     ir.Shape
		attrs ir.PoolAttrs
	}{
		{"1d", ir.Shape{2, 7, 3}, ir.PoolAttrs{Window: []int{2}, Strides: []int{2}, PadLow: []int{0}, PadHigh: []int{0}}},
		{"1d overlapping padded", ir.Shape{2, 7, 3}, ir.PoolAttrs{Window: []int{3}, Strides: []int{1}, PadLow: []int{1}, PadHigh: []int{1}}},
		{"2d", ir.Shape{2, 6, 4, 5}, ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: none2, PadHigh: none2}},
		{"2d cut", ir.Shape{1, 7, 5, 17}, ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: none2, PadHigh: none2}},
		{"2d same", ir.Shape{1, 7, 5, 3}, ir.PoolAttrs{Window: []int{3, 2}, Strides: []int{2, 1}, PadLow: []int{1, 0}, PadHigh: []int{1, 1}}},
		{"2d gaps", ir.Shape{1, 8, 7, 2}, ir.PoolAttrs{Window: []int{1, 2}, Strides: []int{3, 4}, PadLow: none2, PadHigh: none2}},
		{"2d global", ir.Shape{2, 3, 4, 3}, ir.PoolAttrs{Window: []int{3, 4}, Strides: []int{1, 1}, PadLow: none2, PadHigh: none2}},
		{"2d nothing fits", ir.Shape{2, 1, 4, 3}, ir.PoolAttrs{Window: []int{3, 2}, Strides: []int{1, 1}, PadLow: none2, PadHigh: none2}},
		{"2d empty batch", ir.Shape{0, 4, 4, 3}, ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: none2, PadHigh: none2}},
		{"3d", ir.Shape{1, 4, 3, 5, 2}, ir.PoolAttrs{Window: []int{2, 2, 3}, Strides: []int{1, 2, 2}, PadLow: []int{1, 0, 2}, PadHigh: []int{0, 1, 1}}},
	} {
		for _, dtype := range floats {
			d := s.new(ir.MaxPool, "%v %s", dtype, c.name)
			d.add(c.attrs, d.normal(dtype, c.x...))
			d = s.new(ir.AvgPool, "%v %s", dtype, c.name).withinWhole(8)
			d.add(c.attrs, d.normal(dtype, c.x...))
			y := d.Program.Type(d.Program.Outputs[0].Value).Shape
			for _, ties := range []bool{false, true} {
				d = s.new(ir.MaxPoolGrad, "%v %s ties %v", dtype, c.name, ties).withinWhole(16)
				x := d.normal(dtype, c.x...)
				if ties { // few different numbers, so that several cells of a window are the maximum
					x = d.below(dtype, 2, c.x...)
				}
				d.add(c.attrs, x, d.results(ir.MaxPool, c.attrs, x)[0], d.normal(dtype, y...))
			}
			d = s.new(ir.AvgPoolGrad, "%v %s", dtype, c.name).withinWhole(16)
			d.add(ir.PoolGradAttrs{Pool: c.attrs, Shape: c.x}, d.normal(dtype, y...))
		}
	}
	same := ir.PoolAttrs{Window: []int{3, 3}, Strides: []int{2, 2}, PadLow: one2, PadHigh: one2}
	for _, dtype := range floats {
		d := s.new(ir.MaxPool, "%v special", dtype)
		d.add(same, d.specials(d.normal(dtype, 2, 6, 7, 3)))
		d = s.new(ir.AvgPool, "%v special", dtype).withinWhole(8)
		d.add(same, d.specials(d.normal(dtype, 2, 6, 7, 3)))
		d = s.new(ir.MaxPool, "%v all negative infinity", dtype)
		x := value(dtype, ir.Shape{1, 5, 5, 2}, func(int) float64 { return -1e300 })
		d.add(same, x)
		d = s.new(ir.MaxPoolGrad, "%v all negative infinity", dtype).withinWhole(8)
		y := d.results(ir.MaxPool, same, x)[0]
		d.add(same, x, y, d.normal(dtype, y.Type.Shape...))
	}
}
