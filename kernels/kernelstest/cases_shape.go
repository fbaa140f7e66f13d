package kernelstest

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

func sourceCases(s *suite) {
	for _, dtype := range all {
		for _, shape := range []ir.Shape{{}, {0}, {3}, {2, 3, 5}} {
			d := s.new(ir.Constant, "%v%v", dtype, shape)
			v := d.specials(d.normal(dtype, shape...))
			d.add(ir.ConstantAttrs{Literal: ir.Literal{Type: v.Type, Data: v.Bytes()}})
			d = s.new(ir.Constant, "%v%v splat", dtype, shape)
			d.add(ir.ConstantAttrs{Literal: ir.Scalar(dtype, 3, shape...)})
		}
		if dtype == ir.Bool {
			continue
		}
		for _, shape := range []ir.Shape{{0}, {1}, {70}, {3, 4, 5}, {2, 700}, {300, 3}} {
			for axis := range shape {
				s.new(ir.Iota, "%v%v axis %d", dtype, shape, axis).add(ir.IotaAttrs{Type: ir.Type{DType: dtype, Shape: shape}, Axis: axis})
			}
		}
	}
	for _, shape := range []ir.Shape{{}, {0}, {1}, {4}, {7}, {3, 5, 7}, {1021}} {
		for _, stream := range []uint32{0, 7, 1<<32 - 1} {
			d := s.new(ir.RngBits, "%v stream %d", shape, stream)
			d.add(ir.RngAttrs{Shape: shape, Stream: stream}, d.extremes(ir.Uint32, 4))
		}
	}
}

func shapeCases(s *suite) {
	for _, dtype := range all {
		d := s.new(ir.Reshape, "%v", dtype)
		d.add(ir.ReshapeAttrs{Shape: ir.Shape{5, 6}}, d.normal(dtype, 2, 3, 5))
		d = s.new(ir.Transpose, "%v", dtype)
		d.add(ir.TransposeAttrs{Perm: []int{2, 0, 1}}, d.normal(dtype, 2, 3, 5))
		d = s.new(ir.Broadcast, "%v", dtype)
		d.add(ir.BroadcastAttrs{Shape: ir.Shape{4, 2, 3}, Axes: []int{1, 2}}, d.normal(dtype, 2, 1))
		d = s.new(ir.Slice, "%v", dtype)
		d.add(ir.SliceAttrs{Start: []int{1, 0}, Limit: []int{4, 7}, Stride: []int{1, 2}}, d.normal(dtype, 5, 7))
		d = s.new(ir.Pad, "%v", dtype)
		d.add(ir.PadAttrs{Low: []int{1, 0}, High: []int{2, 1}, Interior: []int{0, 1}}, d.normal(dtype, 2, 3), d.normal(dtype))
		d = s.new(ir.Concat, "%v", dtype)
		d.add(ir.AxisAttrs{Axis: 1}, d.normal(dtype, 2, 3), d.normal(dtype, 2, 1), d.normal(dtype, 2, 4))
		d = s.new(ir.Reverse, "%v", dtype)
		d.add(ir.AxesAttrs{Axes: []int{0, 2}}, d.normal(dtype, 2, 3, 5))
		for _, to := range all {
			if dtype != ir.Bool && to != ir.Bool {
				d = s.new(ir.BitCast, "%v to %v", dtype, to)
				d.add(ir.ConvertAttrs{DType: to}, d.extremes(dtype, 3, 16))
			}
		}
	}
	reshapeCases(s)
	moveCases(s)
	cutCases(s)
}

func reshapeCases(s *suite) {
	for _, pair := range [][2]ir.Shape{
		{{}, {}}, {{}, {1, 1, 1}}, {{1}, {}}, {{0}, {3, 0}}, {{6}, {1, 2, 1, 3, 1}}, {{2, 3, 4}, {24}}, {{2, 3, 4}, {4, 3, 2}}, {{5}, {5}},
	} {
		d := s.new(ir.Reshape, "%v to %v", pair[0], pair[1])
		d.add(ir.ReshapeAttrs{Shape: pair[1]}, d.normal(ir.Float32, pair[0]...))
	}
	for _, c := range []struct {
		from, to ir.Shape
		axes     []int
	}{
		{ir.Shape{}, ir.Shape{}, nil},
		{ir.Shape{}, ir.Shape{7}, nil},
		{ir.Shape{}, ir.Shape{2, 0, 3}, nil},
		{ir.Shape{3}, ir.Shape{3}, []int{0}},
		{ir.Shape{3}, ir.Shape{4, 3}, []int{1}},
		{ir.Shape{3}, ir.Shape{3, 4}, []int{0}},
		{ir.Shape{1}, ir.Shape{5}, []int{0}},
		{ir.Shape{1}, ir.Shape{0}, []int{0}},
		{ir.Shape{2, 3}, ir.Shape{2, 5, 3}, []int{0, 2}},
		{ir.Shape{2, 1, 3}, ir.Shape{2, 5, 3}, []int{0, 1, 2}},
		{ir.Shape{1, 3, 1}, ir.Shape{4, 2, 3, 2, 6}, []int{1, 2, 4}},
		{ir.Shape{1, 1, 1, 1, 1}, ir.Shape{2, 2, 2, 2, 2}, []int{0, 1, 2, 3, 4}},
		{ir.Shape{17}, ir.Shape{33, 17}, []int{1}},
	} {
		for _, dtype := range some {
			d := s.new(ir.Broadcast, "%v%v to %v axes %v", dtype, c.from, c.to, c.axes)
			d.add(ir.BroadcastAttrs{Shape: c.to, Axes: c.axes}, d.normal(dtype, c.from...))
		}
	}
}

func moveCases(s *suite) {
	for _, c := range []struct {
		shape ir.Shape
		perm  []int
	}{
		{ir.Shape{}, nil}, {ir.Shape{5}, []int{0}}, {ir.Shape{1, 7}, []int{1, 0}}, {ir.Shape{0, 3}, []int{1, 0}}, {ir.Shape{17, 33}, []int{1, 0}},
		{ir.Shape{16, 64}, []int{1, 0}}, {ir.Shape{2, 3, 5}, []int{0, 1, 2}}, {ir.Shape{2, 3, 5}, []int{0, 2, 1}}, {ir.Shape{2, 3, 5}, []int{1, 0, 2}},
		{ir.Shape{2, 3, 5}, []int{1, 2, 0}}, {ir.Shape{2, 3, 5}, []int{2, 1, 0}}, {ir.Shape{2, 3, 4, 5}, []int{0, 2, 1, 3}},
		{ir.Shape{2, 3, 4, 5}, []int{3, 1, 2, 0}}, {ir.Shape{2, 1, 3, 2, 3}, []int{4, 2, 0, 3, 1}}, {ir.Shape{1, 1, 4, 1, 2}, []int{2, 0, 4, 1, 3}},
	} {
		for _, dtype := range some {
			d := s.new(ir.Transpose, "%v%v by %v", dtype, c.shape, c.perm)
			d.add(ir.TransposeAttrs{Perm: c.perm}, d.normal(dtype, c.shape...))
		}
	}
	for _, c := range []struct {
		shape ir.Shape
		axes  []int
	}{
		{ir.Shape{}, nil}, {ir.Shape{9}, []int{0}}, {ir.Shape{0}, []int{0}}, {ir.Shape{3, 4}, nil}, {ir.Shape{3, 4}, []int{0}},
		{ir.Shape{3, 4}, []int{1}}, {ir.Shape{2, 3, 2, 2, 3}, []int{1, 3, 4}},
	} {
		for _, dtype := range some {
			d := s.new(ir.Reverse, "%v%v axes %v", dtype, c.shape, c.axes)
			d.add(ir.AxesAttrs{Axes: c.axes}, d.normal(dtype, c.shape...))
		}
	}
	for _, c := range []struct {
		axis   int
		shapes []ir.Shape
	}{
		{0, []ir.Shape{{3}}}, {0, []ir.Shape{{3}, {0}, {2}}}, {0, []ir.Shape{{0}, {0}}}, {0, []ir.Shape{{1, 4}, {3, 4}}}, {1, []ir.Shape{{3, 1}, {3, 5}, {3, 2}}},
		{1, []ir.Shape{{0, 1}, {0, 5}}}, {1, []ir.Shape{{2, 1, 3}, {2, 2, 3}}}, {4, []ir.Shape{{1, 2, 1, 2, 3}, {1, 2, 1, 2, 1}}}, {2, []ir.Shape{{1, 2, 1, 2, 3}, {1, 2, 3, 2, 3}}},
	} {
		for _, dtype := range some {
			d := s.new(ir.Concat, "%v axis %d of %v", dtype, c.axis, c.shapes)
			var parts []reference.Value
			for _, shape := range c.shapes {
				parts = append(parts, d.normal(dtype, shape...))
			}
			d.add(ir.AxisAttrs{Axis: c.axis}, parts...)
		}
	}
}

func cutCases(s *suite) {
	for _, c := range []struct {
		shape ir.Shape
		attrs ir.SliceAttrs
	}{
		{ir.Shape{}, ir.SliceAttrs{}},
		{ir.Shape{9}, ir.SliceAttrs{Start: []int{2}, Limit: []int{7}, Stride: []int{1}}},
		{ir.Shape{9}, ir.SliceAttrs{Start: []int{4}, Limit: []int{4}, Stride: []int{1}}},
		{ir.Shape{9}, ir.SliceAttrs{Start: []int{1}, Limit: []int{9}, Stride: []int{3}}},
		{ir.Shape{0}, ir.SliceAttrs{Start: []int{0}, Limit: []int{0}, Stride: []int{1}}},
		{ir.Shape{4, 6}, ir.SliceAttrs{Start: []int{1, 0}, Limit: []int{3, 6}, Stride: []int{1, 1}}},
		{ir.Shape{4, 6}, ir.SliceAttrs{Start: []int{0, 5}, Limit: []int{4, 6}, Stride: []int{2, 1}}},
		{ir.Shape{2, 3, 4, 5, 2}, ir.SliceAttrs{Start: []int{0, 1, 1, 0, 1}, Limit: []int{2, 3, 4, 5, 2}, Stride: []int{1, 1, 2, 4, 1}}},
	} {
		for _, dtype := range some {
			d := s.new(ir.Slice, "%v%v %v", dtype, c.shape, c.attrs)
			d.add(c.attrs, d.normal(dtype, c.shape...))
		}
	}
	for _, c := range []struct {
		shape ir.Shape
		attrs ir.PadAttrs
	}{
		{ir.Shape{}, ir.PadAttrs{}},
		{ir.Shape{4}, ir.PadAttrs{Low: []int{2}, High: []int{1}, Interior: []int{0}}},
		{ir.Shape{4}, ir.PadAttrs{Low: []int{0}, High: []int{0}, Interior: []int{2}}},
		{ir.Shape{4}, ir.PadAttrs{Low: []int{-1}, High: []int{-2}, Interior: []int{0}}},
		{ir.Shape{4}, ir.PadAttrs{Low: []int{-2}, High: []int{3}, Interior: []int{1}}},
		{ir.Shape{2}, ir.PadAttrs{Low: []int{-3}, High: []int{4}, Interior: []int{0}}},
		{ir.Shape{0}, ir.PadAttrs{Low: []int{2}, High: []int{1}, Interior: []int{3}}},
		{ir.Shape{3, 5}, ir.PadAttrs{Low: []int{0, 1}, High: []int{0, 1}, Interior: []int{0, 0}}},
		{ir.Shape{3, 5}, ir.PadAttrs{Low: []int{1, -1}, High: []int{-1, 0}, Interior: []int{1, 0}}},
		{ir.Shape{2, 3, 2, 1, 2}, ir.PadAttrs{Low: []int{0, 1, 0, 2, -1}, High: []int{1, 0, 0, 1, 1}, Interior: []int{0, 1, 0, 2, 0}}},
	} {
		for _, dtype := range some {
			d := s.new(ir.Pad, "%v%v %v", dtype, c.shape, c.attrs)
			d.add(c.attrs, d.normal(dtype, c.shape...), d.normal(dtype))
		}
	}
}

func dynamicCases(s *suite) {
	for _, c := range []struct{ shape, size ir.Shape }{
		{ir.Shape{}, ir.Shape{}}, {ir.Shape{7}, ir.Shape{3}}, {ir.Shape{7}, ir.Shape{0}}, {ir.Shape{0}, ir.Shape{0}}, {ir.Shape{5, 4}, ir.Shape{2, 4}},
		{ir.Shape{5, 4}, ir.Shape{5, 1}}, {ir.Shape{3, 2, 4, 2, 3}, ir.Shape{2, 1, 2, 2, 3}},
	} {
		for _, dtype := range some {
			for _, start := range []float64{0, 1, -5, 100} {
				starts := make([]reference.Value, len(c.shape))
				for i := range starts {
					starts[i] = value(ir.Int32, nil, func(int) float64 { return start })
				}
				d := s.new(ir.DynamicSlice, "%v%v %v at %v", dtype, c.shape, c.size, start)
				d.add(ir.DynamicSliceAttrs{Sizes: c.size}, append([]reference.Value{d.normal(dtype, c.shape...)}, starts...)...)
				d = s.new(ir.DynamicUpdateSlice, "%v%v %v at %v", dtype, c.shape, c.size, start)
				d.add(nil, append([]reference.Value{d.normal(dtype, c.shape...), d.normal(dtype, c.size...)}, starts...)...)
			}
		}
	}
}
