package stablehlo

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.MaxPool] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.PoolAttrs)
		return []value{e.pool(ir.Max, in[0], a)}
	}
	lowerings[ir.AvgPool] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.PoolAttrs)
		sum := e.pool(ir.Sum, e.wide(in[0]), a)
		return []value{e.convert(e.binary("divide", sum, e.cellCounts(sum, in[0].shape(), a)), in[0].dtype())}
	}
	lowerings[ir.MaxPoolGrad] = (*emitter).maxPoolGrad
	lowerings[ir.AvgPoolGrad] = (*emitter).avgPoolGrad
}

// around adds the numbers of the batch and channel axes to those of the spatial ones.
func around(outer int, spatial []int) []int {
	return append(append([]int{outer}, spatial...), outer)
}

func (e *emitter) pool(kind ir.Kind, x value, a ir.PoolAttrs) value {
	shape := x.shape().Clone()
	for i := range a.Window {
		shape[i+1] = positions(x.shape()[i+1], a, i)
	}
	if shape.Size() == 0 {
		return e.splat(ir.Type{DType: x.dtype(), Shape: shape}, 0)
	}
	start := e.literal(neutral(e, kind, x.dtype()))
	return e.windows(kind, x, start, around(1, a.Window), around(1, a.Strides), around(0, a.PadLow), around(0, a.PadHigh))
}

// positions is the number of windows along a spatial axis.
func positions(length int, a ir.PoolAttrs, axis int) int {
	padded := length + a.PadLow[axis] + a.PadHigh[axis]
	if padded < a.Window[axis] {
		return 0
	}
	return (padded-a.Window[axis])/a.Strides[axis] + 1
}

// cellCounts is the number of real cells in each window, repeated for all examples and channels of like.
func (e *emitter) cellCounts(like value, input ir.Shape, a ir.PoolAttrs) value {
	spatial := like.shape()[1 : len(like.shape())-1]
	counts := make([]float64, spatial.Size())
	at := make([]int, len(spatial))
	for i := range counts {
		counts[i] = 1
		for d, o := range at {
			first := o*a.Strides[d] - a.PadLow[d]
			counts[i] *= float64(min(first+a.Window[d], input[d+1]) - max(first, 0))
		}
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < spatial[d] {
				break
			}
			at[d] = 0
		}
	}
	axes := make([]int, len(spatial))
	for i := range axes {
		axes[i] = i + 1
	}
	return e.broadcast(e.floats(like.dtype(), spatial.Clone(), counts), like.shape(), axes...)
}

// avgPoolGrad spreads each share of dy over the cells of its window: a sum over windows of the shares, spread by the
// strides.
func (e *emitter) avgPoolGrad(n *ir.Node, in []value) []value {
	a := n.Attrs.(ir.PoolGradAttrs)
	dy := e.wide(in[0])
	if dy.shape().Size() == 0 {
		return []value{e.splat(ir.Type{DType: in[0].dtype(), Shape: a.Shape}, 0)}
	}
	share := e.binary("divide", dy, e.cellCounts(dy, a.Shape, a.Pool))
	spatial := len(a.Pool.Window)
	low, high, interior := make([]int, spatial), make([]int, spatial), make([]int, spatial)
	for i, size := range a.Pool.Window {
		interior[i] = a.Pool.Strides[i] - 1
		spread := (dy.shape()[i+1]-1)*a.Pool.Strides[i] + 1
		low[i] = size - 1 - a.Pool.PadLow[i]
		high[i] = a.Shape[i+1] - spread - low[i] + size - 1
	}
	zero := e.splat(ir.Type{DType: dy.dtype()}, 0)
	spread := e.pad(share, zero, around(0, low), around(0, high), around(0, interior))
	none := make([]int, spatial)
	dx := e.windows(ir.Sum, spread, zero, around(1, a.Pool.Window), ones(spatial+2), around(0, none), around(0, none))
	return []value{e.convert(dx, in[0].dtype())}
}

// scatters reports whether the gradient of a maximum is select_and_scatter. Otherwise the op is decomposed into slices,
// comparisons and pads. These make compilers for TPUs keep an array for each cell of a window, but take XLA on CPUs a
// fifth of the time. On other devices XLA rewrites select_and_scatter so that, if windows are padded, another of
// several maxima is selected. JAX therefore pads beforehand there, with numbers that could be maxima.
func scatters(platform string, a ir.PoolAttrs) bool {
	switch platform {
	case "", "tpu":
		return true
	case "cpu":
		return false
	}
	padded := func(n int) bool { return n > 0 }
	return !slices.ContainsFunc(a.PadLow, padded) && !slices.ContainsFunc(a.PadHigh, padded)
}

// maxPoolGrad gives each share of dy to the first maximum of its window, where NaN is one. The elements of a window are
// compared in row-major order, and the left one of two stays unless the right one is greater or NaN.
func (e *emitter) maxPoolGrad(n *ir.Node, in []value) []value {
	a := n.Attrs.(ir.PoolAttrs)
	x, dy := in[0], in[2]
	if dy.shape().Size() == 0 {
		return []value{e.splat(x.typ, 0)}
	}
	divided := e.partitions > 1 && x.dtype().IsFloat()
	if divided || overlap(a) { // shares are summed
		x, dy = e.wide(x), e.wide(dy)
	}
	if divided { // XLA divides the op if the region is one comparison, and gathers its operands otherwise
		x = e.below(x)
	}
	scalar := ir.Type{DType: x.dtype()}
	first := e.region([]ir.Type{scalar, scalar}, func(pair []value) []value {
		stays := e.compare(ir.Ge, pair[0], pair[1])
		if x.dtype().IsFloat() && !divided {
			stays = e.or(stays, e.isNaN(pair[0]))
		}
		return []value{stays}
	})
	properties := "padding = " + pairs(around(0, a.PadLow), around(0, a.PadHigh)) + ", window_dimensions = " + array(around(1, a.Window)) + ", window_strides = " + array(around(1, a.Strides))
	dx := e.general("select_and_scatter", []value{x, dy, e.splat(scalar, 0)}, properties, first+", "+e.combine(ir.Sum, x.dtype()), []ir.Type{x.typ})[0]
	return []value{e.convert(dx, in[0].dtype())}
}

// below has numbers in the order of x without NaN: each positive number becomes the next smaller one, so that infinity
// is free for NaN. Of different numbers, only the smallest above 0, which many devices flush to 0, becomes equal to
// another.
func (e *emitter) below(x value) value {
	to := ir.Int32
	if x.dtype() == ir.Float64 {
		to = ir.Int64
	}
	bits := ir.Type{DType: to, Shape: x.shape()}
	bit := e.definef(bits, "stablehlo.bitcast_convert %s : (%s) -> %s", x.name, tensor(x.typ), tensor(bits))
	less := e.binary("subtract", bit, e.splat(bits, 1))
	next := e.definef(x.typ, "stablehlo.bitcast_convert %s : (%s) -> %s", less.name, tensor(bits), tensor(x.typ))
	return e.choose(e.isNaN(x), e.splat(x.typ, math.Inf(1)), e.choose(e.compare(ir.Gt, x, e.splat(x.typ, 0)), next, x))
}

// overlap reports whether windows have elements in common.
func overlap(a ir.PoolAttrs) bool {
	for i, size := range a.Window {
		if a.Strides[i] < size {
			return true
		}
	}
	return false
}
