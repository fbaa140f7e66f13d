package kernelstest

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// sweepCases run each elementwise function over numbers of all sizes that it is defined for, and each family of kernels
// over sizes that are split among threads and blocks.
func sweepCases(s *suite) {
	for _, u := range unaryOps {
		for _, dtype := range floats {
			d := s.new(u.op, "%v sweep", dtype).within(u.units)
			d.Whole = absolute[u.op]
			d.add(nil, sweep(dtype, u.op))
		}
		d := s.new(u.op, "long").within(u.units)
		d.Whole = absolute[u.op]
		d.add(nil, d.domain(ir.Float32, ir.Shape{30011}, u.domain))
	}
	for _, op := range []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Maximum, ir.Minimum, ir.Rem, ir.Atan2} {
		for _, dtype := range floats {
			d := s.new(op, "%v sizes", dtype).within(8)
			x, y := sizes(dtype, 8), sizes(dtype, 8)
			n := len(x)
			d.add(nil, value(dtype, ir.Shape{n * n}, func(i int) float64 { return x[i/n] }), value(dtype, ir.Shape{n * n}, func(i int) float64 { return y[i%n] }))
		}
		d := s.new(op, "long").within(8)
		d.add(nil, d.normal(ir.Float32, 101, 307), d.normal(ir.Float32, 101, 307))
	}
	largeCases(s)
}

// sizes returns numbers of both signs from far below 1 to far above, step binary orders apart.
func sizes(dtype ir.DType, step int) []float64 {
	low, high := -100, 100
	if dtype.Largest() < 1e6 {
		low, high = -13, 14
	}
	list := []float64{0}
	for e := low; e <= high; e += step {
		m := math.Ldexp(1+float64((e%7+7)%7)/8, e)
		list = append(list, m, -m)
	}
	return list
}

// sweep returns the numbers of all sizes that an op is defined for. An op that overflows does so far from the limit,
// and arguments of sines stay where single precision still has a phase.
func sweep(dtype ir.DType, op ir.Op) reference.Value {
	var list []float64
	for _, x := range sizes(dtype, 1) {
		size := math.Abs(x)
		inside := true
		switch op {
		case ir.Sin, ir.Cos, ir.Tan:
			inside = size < 1000
		case ir.Exp, ir.Exp2, ir.Expm1, ir.Sinh, ir.Cosh, ir.Sigmoid:
			inside = size < 80 || size > 1000
		case ir.Gelu:
			inside = size < 20
		case ir.Erfc:
			inside = x < 8
		case ir.Asin, ir.Acos, ir.Atanh, ir.ErfInv:
			inside = size < 1
		case ir.Lgamma:
			inside = x > 0 && x < 1e30
		case ir.Acosh:
			x = 1 + size
		}
		if (op == ir.Exp || op == ir.Exp2 || op == ir.Expm1 || op == ir.Sinh || op == ir.Cosh) && dtype.Largest() < 1e6 {
			inside = size < 10 || size > 1000
		}
		if inside {
			list = append(list, x)
		}
	}
	return value(dtype, ir.Shape{len(list)}, func(i int) float64 { return list[i] })
}

func largeCases(s *suite) {
	matmul := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	for _, dtype := range []ir.DType{ir.Float32, ir.BFloat16, ir.Float64} {
		d := s.new(ir.Dot, "%v large", dtype).withinWhole(32)
		d.add(matmul, d.normal(dtype, 131, 259), d.normal(dtype, 259, 67))
	}
	for _, kind := range []ir.Kind{ir.Sum, ir.Max} {
		for _, axes := range [][]int{{0}, {1}, {0, 1}} {
			for _, dtype := range []ir.DType{ir.Float32, ir.BFloat16, ir.Int32} {
				d := s.new(ir.Reduce, "%s %v large axes %v", kind, dtype, axes).withinWhole(32)
				d.add(ir.ReduceAttrs{Kind: kind, Axes: axes}, d.normal(dtype, 211, 193))
			}
		}
	}
	d := s.new(ir.Softmax, "large").withinWhole(16)
	d.add(nil, d.normal(ir.Float32, 301, 101))
	d = s.new(ir.BatchNorm, "large").withinWhole(64)
	d.add(ir.NormAttrs{Epsilon: 1e-3}, d.normal(ir.Float32, 9, 17, 13, 20), d.positive(ir.Float32, 20), d.normal(ir.Float32, 20))
	d = s.new(ir.LayerNorm, "large").withinWhole(64)
	d.add(ir.NormAttrs{Epsilon: 1e-3}, d.normal(ir.Float32, 301, 101), d.positive(ir.Float32, 101), d.normal(ir.Float32, 101))
	d = s.new(ir.Transpose, "large")
	d.add(ir.TransposeAttrs{Perm: []int{2, 0, 1}}, d.normal(ir.Float32, 67, 71, 37))
	d = s.new(ir.Gather, "large")
	d.add(ir.GatherAttrs{}, d.normal(ir.Float32, 501, 33), d.below(ir.Int32, 501, 1009))
	d = s.new(ir.Scatter, "large").withinWhole(32)
	d.add(ir.ScatterAttrs{Kind: ir.Sum}, d.normal(ir.Float32, 51, 33), d.below(ir.Int32, 51, 1009), d.normal(ir.Float32, 1009, 33))
	d = s.new(ir.RngBits, "large")
	d.add(ir.RngAttrs{Shape: ir.Shape{203, 101}, Stream: 3}, d.extremes(ir.Uint32, 4))
	d = s.new(ir.Sort, "large")
	d.add(ir.SortAttrs{Axis: 0}, d.specials(d.normal(ir.Float32, 20011)))
	convCase3(s, ir.Float32, convCase{"2d large", ir.Shape{3, 19, 17, 16}, ir.Shape{3, 3, 16, 33}, conv(one2, one2, one2, one2, 1)})
	pooled := ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: none2, PadHigh: none2}
	d = s.new(ir.MaxPool, "large")
	d.add(pooled, d.normal(ir.Float32, 5, 30, 26, 17))
}
