package stablehlo

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.Reduce] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.ReduceAttrs)
		return []value{e.inWide(a.Kind, func(in []value) value { return e.reduce(a.Kind, in[0], a.Axes...) }, in[0])}
	}
	lowerings[ir.Cumulative] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.CumulativeAttrs)
		return []value{e.inWide(a.Kind, func(in []value) value { return e.cumulative(a, in[0]) }, in[0])}
	}
	lowerings[ir.ArgMax] = func(e *emitter, n *ir.Node, in []value) []value { return e.arg(n, in[0], ir.Gt) }
	lowerings[ir.ArgMin] = func(e *emitter, n *ir.Node, in []value) []value { return e.arg(n, in[0], ir.Lt) }
}

func (e *emitter) reduce(kind ir.Kind, x value, axes ...int) value {
	t := ir.Type{DType: x.dtype(), Shape: x.shape().Without(axes...)}
	start := e.literal(neutral(e, kind, x.dtype()))
	return e.general("reduce", []value{x, start}, "dimensions = "+array(axes), e.combine(kind, x.dtype()), []ir.Type{t})[0]
}

// cumulative combines windows that extend from each element to the start (or end) of its axis; compilers turn these
// into scans.
func (e *emitter) cumulative(a ir.CumulativeAttrs, x value) value {
	length := x.shape()[a.Axis]
	if x.shape().Size() == 0 {
		return x
	}
	rank := len(x.shape())
	zeros := make([]int, rank)
	before, after, window := make([]int, rank), make([]int, rank), ones(rank)
	window[a.Axis], before[a.Axis] = length, length-1
	if a.Reverse {
		before, after = after, before
	}
	start := e.literal(neutral(e, a.Kind, x.dtype()))
	y := e.windows(a.Kind, x, start, window, ones(rank), before, after)
	if !a.Exclusive {
		return y
	}
	low, high := make([]int, rank), make([]int, rank)
	low[a.Axis], high[a.Axis] = 1, -1
	if a.Reverse {
		low, high = high, low
	}
	return e.pad(y, start, low, high, zeros)
}

// windows combines the elements of each window of a padded x.
func (e *emitter) windows(kind ir.Kind, x, start value, window, strides, low, high []int) value {
	t := ir.Type{DType: x.dtype(), Shape: make(ir.Shape, len(window))}
	for i, d := range x.shape() {
		t.Shape[i] = (low[i]+d+high[i]-window[i])/strides[i] + 1
	}
	properties := "padding = " + pairs(low, high) + ", window_dimensions = " + array(window) + ", window_strides = " + array(strides)
	return e.general("reduce_window", []value{x, start}, properties, e.combine(kind, x.dtype()), []ir.Type{t})[0]
}

func ones(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = 1
	}
	return all
}

// arg reduces pairs of an element and its position to the better one: NaN is better than all numbers, and among equal
// elements the first wins.
func (e *emitter) arg(n *ir.Node, x value, better ir.Direction) []value {
	axis := n.Attrs.(ir.AxisAttrs).Axis
	positions := e.iota(ir.Type{DType: ir.Int32, Shape: x.shape()}, axis)
	worst := e.literal(extreme(ir.Type{DType: x.dtype()}, better == ir.Lt))
	last := e.splat(ir.Type{DType: ir.Int32}, math.MaxInt32)
	scalar, position := ir.Type{DType: x.dtype()}, ir.Type{DType: ir.Int32}
	region := e.region([]ir.Type{scalar, position, scalar, position}, func(in []value) []value {
		takeLeft := e.compare(better, in[0], in[2])
		equal := e.compare(ir.Eq, in[0], in[2])
		if x.dtype().IsFloat() {
			left, right := e.isNaN(in[0]), e.isNaN(in[2])
			takeLeft = e.or(takeLeft, e.and(left, e.not(right)))
			equal = e.or(equal, e.and(left, right))
		}
		takeLeft = e.or(takeLeft, e.and(equal, e.compare(ir.Lt, in[1], in[3])))
		return []value{e.choose(takeLeft, in[0], in[2]), e.choose(takeLeft, in[1], in[3])}
	})
	shape := x.shape().Without(axis)
	types := []ir.Type{{DType: x.dtype(), Shape: shape}, {DType: ir.Int32, Shape: shape}}
	return e.general("reduce", []value{x, positions, worst, last}, "dimensions = "+array([]int{axis}), region, types)[1:]
}
