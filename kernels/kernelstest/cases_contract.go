package kernelstest

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

func dotCases(s *suite) {
	matmul := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	for _, dtype := range numbers {
		for _, n := range [][3]int{{1, 1, 1}, {2, 3, 5}, {7, 17, 9}, {0, 3, 2}, {3, 0, 2}, {3, 2, 0}} {
			d := s.new(ir.Dot, "%v %d", dtype, n).withinWhole(4)
			d.add(matmul, d.normal(dtype, n[0], n[1]), d.normal(dtype, n[1], n[2]))
		}
	}
	for _, dtype := range wide {
		for _, n := range [][3]int{{1, 64, 64}, {64, 1, 64}, {64, 64, 1}, {33, 65, 31}, {16, 128, 48}, {5, 300, 6}} {
			d := s.new(ir.Dot, "%v %d", dtype, n).withinWhole(16)
			d.add(matmul, d.normal(dtype, n[0], n[1]), d.normal(dtype, n[1], n[2]))
			d = s.new(ir.Dot, "%v %d both transposed", dtype, n).withinWhole(16)
			d.add(ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{1}}, d.normal(dtype, n[1], n[0]), d.normal(dtype, n[2], n[1]))
			d = s.new(ir.Dot, "%v %d right transposed", dtype, n).withinWhole(16)
			d.add(ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, d.normal(dtype, n[0], n[1]), d.normal(dtype, n[2], n[1]))
		}
	}
	for _, c := range []struct {
		name  string
		l, r  ir.Shape
		attrs ir.DotAttrs
	}{
		{"scalars", ir.Shape{}, ir.Shape{}, ir.DotAttrs{}},
		{"outer", ir.Shape{5}, ir.Shape{7}, ir.DotAttrs{}},
		{"inner", ir.Shape{9}, ir.Shape{9}, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}},
		{"matrix vector", ir.Shape{5, 9}, ir.Shape{9}, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}},
		{"vector matrix", ir.Shape{9}, ir.Shape{9, 5}, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}},
		{"dense on sequence", ir.Shape{2, 3, 4}, ir.Shape{4, 5}, ir.DotAttrs{LhsContract: []int{2}, RhsContract: []int{0}}},
		{"batched", ir.Shape{3, 2, 4}, ir.Shape{3, 4, 5}, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{2}, RhsContract: []int{1}}},
		{"batched inner", ir.Shape{3, 4}, ir.Shape{3, 4}, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{1}, RhsContract: []int{1}}},
		{"empty batch", ir.Shape{0, 2, 4}, ir.Shape{0, 4, 5}, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{2}, RhsContract: []int{1}}},
		{"batches of empty sums", ir.Shape{0, 2, 3, 4}, ir.Shape{2, 5, 0, 3}, ir.DotAttrs{LhsBatch: []int{1, 2}, RhsBatch: []int{0, 3}, LhsContract: []int{0}, RhsContract: []int{2}}},
		{"elementwise", ir.Shape{3, 4}, ir.Shape{3, 4}, ir.DotAttrs{LhsBatch: []int{0, 1}, RhsBatch: []int{0, 1}}},
		{"batch axes crossed", ir.Shape{2, 3, 4, 5}, ir.Shape{3, 5, 2, 6}, ir.DotAttrs{LhsBatch: []int{0, 1}, RhsBatch: []int{2, 0}, LhsContract: []int{3}, RhsContract: []int{1}}},
		{"batch axis in the middle", ir.Shape{4, 3, 5}, ir.Shape{5, 2, 3}, ir.DotAttrs{LhsBatch: []int{1}, RhsBatch: []int{2}, LhsContract: []int{2}, RhsContract: []int{0}}},
		{"two contracted", ir.Shape{2, 3, 4}, ir.Shape{4, 3, 5}, ir.DotAttrs{LhsContract: []int{1, 2}, RhsContract: []int{1, 0}}},
		{"all contracted", ir.Shape{2, 3, 4}, ir.Shape{4, 2, 3}, ir.DotAttrs{LhsContract: []int{0, 1, 2}, RhsContract: []int{1, 2, 0}}},
		{"rank 5", ir.Shape{2, 1, 3, 2, 2}, ir.Shape{2, 2, 3, 2, 1}, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{1}, LhsContract: []int{2, 4}, RhsContract: []int{2, 3}}},
	} {
		for _, dtype := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64, ir.Int32, ir.Uint8} {
			d := s.new(ir.Dot, "%v %s", dtype, c.name).withinWhole(8)
			d.add(c.attrs, d.normal(dtype, c.l...), d.normal(dtype, c.r...))
		}
	}
	for _, dtype := range floats {
		d := s.new(ir.Dot, "%v NaN and infinity", dtype).withinWhole(8)
		x := d.normal(dtype, 6, 5)
		x.F[0], x.F[7], x.F[13] = math.NaN(), math.Inf(1), math.Inf(-1)
		d.add(matmul, x, d.normal(dtype, 5, 8))
	}
}

func indexCases(s *suite) {
	for _, dtype := range all {
		d := s.new(ir.Gather, "%v", dtype)
		d.add(ir.GatherAttrs{Axis: 1}, d.normal(dtype, 3, 5, 2), d.below(ir.Int32, 5, 4))
		d = s.new(ir.Scatter, "%v set", dtype)
		d.add(ir.ScatterAttrs{Axis: 1, Kind: ir.Set}, d.normal(dtype, 3, 5, 2), d.below(ir.Int32, 5, 4), d.normal(dtype, 3, 4, 2))
	}
	for _, index := range integers {
		d := s.new(ir.Gather, "indices %v", index)
		d.add(ir.GatherAttrs{}, d.normal(ir.Float32, 7, 3), d.below(index, 7, 2, 4))
		d = s.new(ir.Scatter, "indices %v", index).within(8)
		d.add(ir.ScatterAttrs{Kind: ir.Sum}, d.normal(ir.Float32, 7, 3), d.below(index, 7, 2, 4), d.positive(ir.Float32, 2, 4, 3))
	}
	for _, c := range []struct {
		operand, indices ir.Shape
		axis             int
	}{
		{ir.Shape{5}, ir.Shape{}, 0}, {ir.Shape{5}, ir.Shape{0}, 0}, {ir.Shape{5, 3}, ir.Shape{}, 1}, {ir.Shape{5, 3}, ir.Shape{2, 2}, 0},
		{ir.Shape{0, 3}, ir.Shape{0}, 0}, {ir.Shape{2, 3, 4}, ir.Shape{5}, 2}, {ir.Shape{2, 0, 4}, ir.Shape{5}, 2}, {ir.Shape{1, 2, 4, 1, 3}, ir.Shape{3, 2}, 2}, {ir.Shape{40, 33}, ir.Shape{70}, 0},
	} {
		for _, dtype := range some {
			n := max(c.operand[c.axis], 1)
			d := s.new(ir.Gather, "%v%v axis %d indices %v", dtype, c.operand, c.axis, c.indices)
			operand, where := d.normal(dtype, c.operand...), d.below(ir.Int64, n, c.indices...)
			d.add(ir.GatherAttrs{Axis: c.axis}, operand, where)
			updates := append(append(append(ir.Shape{}, c.operand[:c.axis]...), c.indices...), c.operand[c.axis+1:]...)
			d = s.new(ir.Scatter, "%v%v axis %d indices %v", dtype, c.operand, c.axis, c.indices)
			d.add(ir.ScatterAttrs{Axis: c.axis, Kind: ir.Set}, operand, where, d.normal(dtype, updates...))
		}
	}
	scatterCases(s)
	outsideCases(s)
}

func scatterCases(s *suite) {
	for _, kind := range []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min} {
		for _, dtype := range numbers {
			d := s.new(ir.Scatter, "%v %s", dtype, kind).withinWhole(8)
			d.add(ir.ScatterAttrs{Axis: 1, Kind: kind}, d.normal(dtype, 3, 5, 2), d.below(ir.Int32, 5, 2, 4), d.normal(dtype, 3, 2, 4, 2))
		}
		d := s.new(ir.Scatter, "%s special", kind).withinWhole(8)
		d.add(ir.ScatterAttrs{Kind: kind}, d.specials(d.normal(ir.Float32, 43)), d.below(ir.Int32, 43, 83), d.specials(d.normal(ir.Float32, 83)))
	}
}

// outsideCases have indices beyond both ends of the axis.
func outsideCases(s *suite) {
	for _, mode := range []ir.IndexMode{ir.IndexClip, ir.IndexDrop} {
		for _, index := range integers {
			d := s.new(ir.Gather, "%s %v", mode, index)
			d.add(ir.GatherAttrs{Axis: 1, Mode: mode}, d.normal(ir.Float32, 2, 5, 3), d.extremes(index, 17))
			for _, kind := range []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min, ir.Set} {
				d := s.new(ir.Scatter, "%s %v %s", mode, index, kind).withinWhole(16)
				d.add(ir.ScatterAttrs{Axis: 1, Kind: kind, Mode: mode}, d.normal(ir.Float32, 2, 5, 3), d.extremes(index, 17), d.normal(ir.Float32, 2, 17, 3))
			}
		}
		d := s.new(ir.Gather, "%s empty axis", mode)
		d.add(ir.GatherAttrs{Mode: mode}, d.normal(ir.Float32, 0, 2), d.normal(ir.Int32, 3))
		d = s.new(ir.Scatter, "%s empty axis", mode)
		d.add(ir.ScatterAttrs{Mode: mode, Kind: ir.Sum}, d.normal(ir.Float32, 0, 2), d.normal(ir.Int32, 3), d.normal(ir.Float32, 3, 2))
	}
}

func reduceCases(s *suite) {
	kinds := []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min}
	for _, kind := range kinds {
		for _, dtype := range numbers {
			d := s.new(ir.Reduce, "%s %v", kind, dtype).withinWhole(8)
			d.add(ir.ReduceAttrs{Kind: kind, Axes: []int{0, 2}}, d.reducible(kind, dtype, ir.Shape{3, 4, 5}))
			d = s.new(ir.Reduce, "%s %v nothing", kind, dtype)
			d.add(ir.ReduceAttrs{Kind: kind, Axes: []int{1}}, d.normal(dtype, 3, 0))
			for _, way := range []ir.CumulativeAttrs{{Kind: kind, Axis: 1}, {Kind: kind, Axis: 0, Exclusive: true}, {Kind: kind, Axis: 1, Reverse: true}, {Kind: kind, Axis: 0, Exclusive: true, Reverse: true}} {
				d = s.new(ir.Cumulative, "%v %v", dtype, way).withinWhole(8)
				d.add(way, d.reducible(kind, dtype, ir.Shape{4, 7}))
			}
		}
		for _, dtype := range floats {
			d := s.new(ir.Reduce, "%s %v special", kind, dtype).withinWhole(8)
			d.add(ir.ReduceAttrs{Kind: kind, Axes: []int{1}}, d.specials(d.normal(dtype, 40, 5)))
			d = s.new(ir.Cumulative, "%s %v special", kind, dtype).withinWhole(8)
			d.add(ir.CumulativeAttrs{Kind: kind, Axis: 1}, d.specials(d.normal(dtype, 40, 5)))
		}
	}
	for _, kind := range []ir.Kind{ir.And, ir.Or} {
		for _, shape := range []ir.Shape{{3, 4, 5}, {3, 0, 5}, {9, 1, 1}} {
			d := s.new(ir.Reduce, "%s bool%v", kind, shape)
			d.add(ir.ReduceAttrs{Kind: kind, Axes: []int{1}}, d.normal(ir.Bool, shape...))
		}
	}
	reduceShapeCases(s, kinds)
}

// reducible keeps products of floats away from overflow and underflow.
func (d *draft) reducible(kind ir.Kind, dtype ir.DType, shape ir.Shape) reference.Value {
	if kind == ir.Prod && dtype.IsFloat() {
		return value(dtype, shape, func(int) float64 { return 0.9 + 0.2*d.rng.Float64() })
	}
	return d.normal(dtype, shape...)
}

func reduceShapeCases(s *suite, kinds []ir.Kind) {
	for _, kind := range kinds {
		for _, c := range []struct {
			shape ir.Shape
			axes  []int
		}{
			{ir.Shape{}, nil}, {ir.Shape{5}, nil}, {ir.Shape{5}, []int{0}}, {ir.Shape{0}, []int{0}}, {ir.Shape{0}, nil}, {ir.Shape{1}, []int{0}},
			{ir.Shape{1031}, []int{0}}, {ir.Shape{37, 67}, []int{0}}, {ir.Shape{37, 67}, []int{1}}, {ir.Shape{37, 67}, []int{0, 1}},
			{ir.Shape{2, 3, 5}, []int{1}}, {ir.Shape{2, 3, 5}, []int{0, 1}}, {ir.Shape{2, 3, 5}, []int{1, 2}}, {ir.Shape{2, 0, 5}, []int{0}},
			{ir.Shape{2, 3, 4, 5}, []int{0, 2}}, {ir.Shape{2, 3, 4, 5}, []int{1, 3}}, {ir.Shape{2, 3, 2, 1, 3}, []int{0, 2, 4}}, {ir.Shape{2, 3, 2, 1, 3}, []int{0, 1, 2, 3, 4}},
		} {
			for _, dtype := range wide {
				d := s.new(ir.Reduce, "%s %v%v axes %v", kind, dtype, c.shape, c.axes).withinWhole(16)
				d.add(ir.ReduceAttrs{Kind: kind, Axes: c.axes}, d.reducible(kind, dtype, c.shape))
			}
		}
		for _, c := range []struct {
			shape ir.Shape
			axis  int
		}{{ir.Shape{1}, 0}, {ir.Shape{0}, 0}, {ir.Shape{65}, 0}, {ir.Shape{2, 1, 3, 2, 2}, 2}, {ir.Shape{3, 0, 2}, 2}} {
			d := s.new(ir.Cumulative, "%s %v axis %d", kind, c.shape, c.axis).withinWhole(16)
			d.add(ir.CumulativeAttrs{Kind: kind, Axis: c.axis}, d.reducible(kind, ir.Float32, c.shape))
		}
	}
}

func orderCases(s *suite) {
	for _, dtype := range all {
		operand := func(d *draft, shape ...int) reference.Value {
			if dtype.IsInteger() && d.rng.IntN(2) == 0 {
				return d.extremes(dtype, shape...)
			}
			return d.specials(d.normal(dtype, shape...))
		}
		for _, c := range []struct {
			shape ir.Shape
			axis  int
		}{{ir.Shape{1}, 0}, {ir.Shape{50}, 0}, {ir.Shape{9, 7}, 0}, {ir.Shape{9, 7}, 1}, {ir.Shape{2, 5, 3}, 1}, {ir.Shape{0, 3}, 1}, {ir.Shape{2, 1, 3, 2, 3}, 4}} {
			for _, descending := range []bool{false, true} {
				d := s.new(ir.Sort, "%v%v axis %d descending %v", dtype, c.shape, c.axis, descending)
				d.add(ir.SortAttrs{Axis: c.axis, Descending: descending}, operand(d, c.shape...))
			}
			for _, op := range []ir.Op{ir.ArgMax, ir.ArgMin} {
				d := s.new(op, "%v%v axis %d", dtype, c.shape, c.axis)
				d.add(ir.AxisAttrs{Axis: c.axis}, operand(d, c.shape...))
			}
		}
		for _, shape := range []ir.Shape{{1}, {50}, {9, 7}, {0, 3}, {2, 1, 3, 2, 3}} {
			for _, k := range slices.Compact([]int{0, 1, shape[len(shape)-1]}) {
				d := s.new(ir.TopK, "%v%v k %d", dtype, shape, k)
				d.add(ir.TopKAttrs{K: k}, operand(d, shape...))
			}
		}
		d := s.new(ir.Sort, "%v empty", dtype)
		d.add(ir.SortAttrs{}, d.normal(dtype, 0))
	}
	for _, dtype := range []ir.DType{ir.Float32, ir.BFloat16, ir.Int32, ir.Int64} {
		for _, kth := range [][]int{{0}, {40}, {99}, {3, 4, 70}} {
			partitionCase(s, dtype, kth)
		}
	}
}

// partitionCase outputs only what the requested positions determine: the elements there, and which elements come before
// the last of them.
func partitionCase(s *suite, dtype ir.DType, kth []int) {
	for _, descending := range []bool{false, true} {
		d := s.new(ir.Sort, "%v places %v descending %v", dtype, kth, descending)
		p := newProgram(d.Name)
		sorted := p.op(ir.Sort, ir.SortAttrs{Axis: 1, Descending: descending, Kth: kth}, p.in(dtype, 3, 100, 2))
		between := func(from, to int) ir.Value {
			return p.op(ir.Slice, ir.SliceAttrs{Start: []int{0, from, 0}, Limit: []int{3, to, 2}, Stride: []int{1, 1, 1}}, sorted)
		}
		var out []ir.Value
		for _, k := range kth {
			out = append(out, between(k, k+1))
		}
		out = append(out, p.op(ir.Sort, ir.SortAttrs{Axis: 1}, between(0, kth[len(kth)-1])))
		d.run(p.out(out...), d.specials(d.normal(dtype, 3, 100, 2)))
	}
}
