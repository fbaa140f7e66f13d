package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// AdaptiveAveragePool averages x (batch, spatial..., channels) over windows chosen so that the spatial axes get the
// given lengths.
func AdaptiveAveragePool(x *Tensor, sizes ...int) *Tensor {
	x = float(x)
	if d := x.DType(); d.IsHalf() {
		return Cast(AdaptiveAveragePool(Cast(x, ir.Float32), sizes...), d)
	}
	return adaptive(x, sizes, adaptiveMeans)
}

// AdaptiveMaxPool takes the maxima over windows chosen so that the spatial axes of x (batch, spatial..., channels) get
// the given lengths.
func AdaptiveMaxPool(x *Tensor, sizes ...int) *Tensor {
	return adaptive(x, sizes, func(x *Tensor, axis, n, m int) *Tensor { return adaptiveCells(x, axis, n, m, Max) })
}

// adaptive reduces each spatial axis of x (batch, spatial..., channels) to the given length: cell i of m covers the
// elements from floor(i·n/m) to below ceil((i+1)·n/m). Where n and m have a common divisor, the cells of that many
// pieces of the axis are alike, and computed together.
func adaptive(x *Tensor, sizes []int, reduce func(x *Tensor, axis, n, m int) *Tensor) *Tensor {
	if len(sizes) != x.Rank()-2 {
		Failf(x.g, "adaptive pooling: x %v has %d spatial axes, received the sizes %v", x.Shape(), x.Rank()-2, sizes)
	}
	for i, m := range sizes {
		axis, n := i+1, x.Dim(i+1)
		if m < 1 || n == 0 || m > ir.MaxNodes {
			Failf(x.g, "adaptive pooling: cannot make %d cells of the %d elements of axis %d", m, n, axis)
		}
		pieces := 1
		if dim.Known(n) {
			pieces = commonDivisor(n, m)
		}
		if pieces == 1 {
			x = reduce(x, axis, n, m)
			continue
		}
		cut, whole := slices.Clone(x.Shape()), slices.Clone(x.Shape())
		cut[axis], whole[axis] = n/pieces, m                                                     //dim:known
		y := reduce(Reshape(x, slices.Insert(cut, axis, pieces)...), axis+1, n/pieces, m/pieces) //dim:known
		x = Reshape(y, whole...)
	}
	return x
}

// commonDivisor is the greatest number that divides both.
func commonDivisor(a, b int) int {
	for b != 0 { //dim:known
		a, b = b, a%b //dim:known
	}
	return a
}

// adaptiveCells reduces the n elements of an axis to m cells.
func adaptiveCells(x *Tensor, axis, n, m int, reduce func(x *Tensor, axes ...int) *Tensor) *Tensor {
	cells := make([]*Tensor, m)
	for k := range cells {
		cells[k] = reduce(SliceAxis(x, axis, dim.FloorDiv(dim.Mul(k, n), m), dim.CeilDiv(dim.Mul(k+1, n), m)), axis)
	}
	return Stack(axis, cells...)
}

// adaptiveMeans averages the n elements of an axis to m cells. Neighbouring cells share an element at most where there
// are not more cells than elements: what a cell has alone and what it shares are summed apart, so that the parts whose
// gradients are put together do not overlap.
func adaptiveMeans(x *Tensor, axis, n, m int) *Tensor {
	if !dim.Known(n) || m > n { //dim:known
		return adaptiveCells(x, axis, n, m, Mean)
	}
	sum := func(from, to int) *Tensor { return Sum(SliceAxis(x, axis, from, to), axis) }
	cells := make([]*Tensor, m)
	var shared *Tensor // with the cell before
	own := 0
	for k := range cells {
		from, to := k*n/m, ((k+1)*n+m-1)/m //dim:known
		next := to
		if k+1 < m {
			next = (k + 1) * n / m //dim:known
		}
		total := shared
		if own < next {
			total = sum(own, next)
			if shared != nil {
				total = Add(shared, total)
			}
		}
		if shared, own = nil, to; next < to {
			shared = sum(next, to)
			if total != nil {
				total = Add(total, shared)
			} else {
				total = shared
			}
		}
		cells[k] = DivideByLength(total, to-from)
	}
	return Stack(axis, cells...)
}
