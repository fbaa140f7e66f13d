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
	return adaptive(x, sizes, sampled, adaptiveMeans)
}

// AdaptiveMaxPool takes the maxima over windows chosen so that the spatial axes of x (batch, spatial..., channels) get
// the given lengths.
func AdaptiveMaxPool(x *Tensor, sizes ...int) *Tensor {
	return adaptive(x, sizes, func(int, int) bool { return false }, adaptiveLargest)
}

// adaptive reduces each spatial axis of x (batch, spatial..., channels) to the given length: cell i of m covers the
// elements from floor(i·n/m) to below ceil((i+1)·n/m). If n and m have a common divisor d, the axis consists of d
// pieces with the same pattern of cells, which are computed together, unless it is better to reduce the axis as a
// whole.
func adaptive(x *Tensor, sizes []int, whole func(n, m int) bool, reduce func(x *Tensor, axis, n, m int) *Tensor) *Tensor {
	if len(sizes) != x.Rank()-2 {
		Failf(x.g, "adaptive pooling: x %v has %d spatial axes, received the sizes %v", x.Shape(), x.Rank()-2, sizes)
	}
	for i, m := range sizes {
		axis, n := i+1, x.Dim(i+1)
		if m < 1 || n == 0 || m > ir.MaxNodes {
			Failf(x.g, "adaptive pooling: cannot make %d cells of the %d elements of axis %d", m, n, axis)
		}
		pieces := 1
		if dim.Known(n) && !whole(n, m) {
			pieces = commonDivisor(n, m)
		}
		if pieces == 1 {
			x = reduce(x, axis, n, m)
			continue
		}
		cut, shape := slices.Clone(x.Shape()), slices.Clone(x.Shape())
		cut[axis], shape[axis] = n/pieces, m                                                     //dim:known
		y := reduce(Reshape(x, slices.Insert(cut, axis, pieces)...), axis+1, n/pieces, m/pieces) //dim:known
		x = Reshape(y, shape...)
	}
	return x
}

// commonDivisor returns the greatest common divisor.
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

// adaptiveLargest takes the largest of the n elements of each of m cells of an axis.
func adaptiveLargest(x *Tensor, axis, n, m int) *Tensor {
	if !dim.Known(n) || m > n { //dim:known
		return adaptiveCells(x, axis, n, m, Max)
	}
	same := func(part *Tensor) *Tensor { return part }
	return adaptiveParts(x, axis, n, m, same, func(parts []*Tensor, _ int) *Tensor {
		if len(parts) > 1 {
			return Max(Concatenate(axis, parts...), axis)
		}
		return Max(parts[0], axis)
	})
}

// sampledCell is the number of elements in a cell up to which weighted sums of single elements are faster than sums of
// parts, each of which is an operation of its own.
const sampledCell = 16

func sampled(n, m int) bool { return dim.Known(n) && n%m != 0 && (n-1)/m+2 <= sampledCell } //dim:known

// adaptiveMeans averages the n elements of an axis to m cells.
func adaptiveMeans(x *Tensor, axis, n, m int) *Tensor {
	switch {
	case !dim.Known(n) || m == 1: //dim:known
		return adaptiveCells(x, axis, n, m, Mean)
	case sampled(n, m):
		return adaptiveSamples(x, axis, n, m)
	case m > n: //dim:known
		return adaptiveCells(x, axis, n, m, Mean)
	}
	sum := func(part *Tensor) *Tensor { return Sum(part, axis) }
	return adaptiveParts(x, axis, n, m, sum, func(sums []*Tensor, length int) *Tensor {
		total := sums[0]
		for _, s := range sums[1:] {
			total = Add(total, s)
		}
		return DivideByLength(total, length)
	})
}

// adaptiveSamples averages the n elements of an axis to m cells as sums of single elements, divided by their number.
// Cell lengths differ by at most one element. Shorter cells take half of their last element twice, so that an infinite
// one stays infinite. Weights of 1/n would round each element.
func adaptiveSamples(x *Tensor, axis, n, m int) *Tensor {
	ends := func(k int) (from, to int) { return k * n / m, ((k+1)*n + m - 1) / m } //dim:known
	taps, lengths := 1, make([]float64, m)
	for k := range m {
		from, to := ends(k)
		taps, lengths[k] = max(taps, to-from), float64(to-from) //dim:known
	}
	cells, weights := make([]int, 0, m*taps), make([]float64, 0, m*taps)
	for k := range m {
		from, to := ends(k)
		for i := range taps {
			cells, weights = append(cells, min(from+i, to-1)), append(weights, 1) //dim:known
		}
		if to-from < taps { //dim:known
			weights[len(weights)-1], weights[len(weights)-2] = 0.5, 0.5
		}
	}
	sums := Resample(x, axis, taps, cells, weights)
	shape := slices.Repeat([]int{1}, x.Rank()-axis)
	shape[0] = m
	return Divide(sums, Constant(x, sums.DType(), shape, lengths))
}

// adaptiveParts makes m cells, at most one per element, of the n elements of an axis. Neighbouring cells share one
// element at most. The parts are what a cell has alone and what it shares. They do not overlap, so their gradients are
// concatenated and no sums over whole axes are needed. Each part is changed once; a cell is made from its parts and its
// length.
func adaptiveParts(x *Tensor, axis, n, m int, change func(part *Tensor) *Tensor, cell func(parts []*Tensor, length int) *Tensor) *Tensor {
	part := func(from, to int) *Tensor { return change(SliceAxis(x, axis, from, to)) }
	cells := make([]*Tensor, m)
	var shared *Tensor // with the previous cell
	own := 0
	for k := range cells {
		from, to := k*n/m, ((k+1)*n+m-1)/m //dim:known
		next := to
		if k+1 < m {
			next = (k + 1) * n / m //dim:known
		}
		var parts []*Tensor
		if shared != nil {
			parts = append(parts, shared)
		}
		if own < next {
			parts = append(parts, part(own, next))
		}
		if shared, own = nil, to; next < to {
			shared = part(next, to)
			parts = append(parts, shared)
		}
		cells[k] = cell(parts, to-from)
	}
	return Stack(axis, cells...)
}
