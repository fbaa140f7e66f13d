package ops

import (
	"math"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// DepthwiseConv convolves each channel separately: x is (batch, spatial..., channels), kernel (window..., channels,
// multiplier), and each channel gives multiplier channels of the result.
func DepthwiseConv(x, kernel *Tensor, o ConvOptions) *Tensor {
	n := kernel.Rank() - 2
	Fixed(x, "depthwise conv", x.Dim(-1))
	if n < 1 || x.Dim(-1) != kernel.Dim(-2) {
		Failf(graphOf(x, kernel), "depthwise conv: kernel %v must be (window..., channels, multiplier) for the %d channels of x %v", kernel.Shape(), x.Dim(-1), x.Shape())
	}
	o.Groups = x.Dim(-1)
	shape := ints.Concat(kernel.Shape()[:n], ir.Shape{1, dim.Mul(kernel.Dim(-2), kernel.Dim(-1))})
	return Conv(x, Reshape(kernel, shape...), o)
}

// SeparableConv is [DepthwiseConv] with kernel depthwise, followed by a convolution of window 1 with kernel pointwise
// (1..., channels·multiplier, out).
func SeparableConv(x, depthwise, pointwise *Tensor, o ConvOptions) *Tensor {
	return Conv(DepthwiseConv(x, depthwise, o), pointwise, ConvOptions{})
}

// DepthToSpace moves blocks of channels of x (batch, height, width, block²·channels) into space: (batch, height·block,
// width·block, channels).
func DepthToSpace(x *Tensor, block int) *Tensor {
	if x.Rank() != 4 || block < 1 || !dim.MayEqual(dim.Mod(x.Dim(3), block*block), 0) {
		Failf(x.g, "depth to space: needs (batch, height, width, channels) with channels divisible by %d², received %v", block, x.Shape())
	}
	b, h, w, c := x.Dim(0), x.Dim(1), x.Dim(2), dim.FloorDiv(x.Dim(3), block*block)
	y := Transpose(Reshape(x, b, h, w, block, block, c), 0, 1, 3, 2, 4, 5)
	return Reshape(y, b, dim.Mul(h, block), dim.Mul(w, block), c)
}

// SpaceToDepth is the inverse of [DepthToSpace]: x is (batch, height, width, channels).
func SpaceToDepth(x *Tensor, block int) *Tensor {
	if x.Rank() != 4 || block < 1 || !dim.MayEqual(dim.Mod(x.Dim(1), block), 0) || !dim.MayEqual(dim.Mod(x.Dim(2), block), 0) {
		Failf(x.g, "space to depth: needs (batch, height, width, channels) with height and width divisible by %d, received %v", block, x.Shape())
	}
	b, h, w, c := x.Dim(0), dim.FloorDiv(x.Dim(1), block), dim.FloorDiv(x.Dim(2), block), x.Dim(3)
	y := Transpose(Reshape(x, b, h, block, w, block, c), 0, 1, 3, 2, 4, 5)
	return Reshape(y, b, h, w, dim.Mul(block*block, c))
}

// MultiHot returns rows of length classes, as the last axis, with ones at all indices found in axis 1 of x, or axis 0
// of a vector. Indices outside are ignored.
func MultiHot(x *Tensor, classes int, dtype ir.DType) *Tensor {
	return MultiHotAxis(x, classes, -1, dtype)
}

// MultiHotAxis is [MultiHot] with the classes along another axis. As in Keras it first makes [OneHot] rows along that
// axis, and then joins axis 1 of these (axis 0 for a vector).
func MultiHotAxis(x *Tensor, classes, axis int, dtype ir.DType) *Tensor {
	if axis < -1 || axis > x.Rank() {
		Failf(x.g, "multi hot: the axis of the classes is -1 or from 0 to %d, received %d", x.Rank(), axis)
	}
	hot := OneHot(x, classes, ir.Bool)
	if axis >= 0 {
		hot = MoveAxis(hot, -1, axis)
	}
	return Cast(Any(hot, min(x.Rank()-1, 1)), dtype)
}

// PadMode extends x by low[i] and high[i] elements at the ends of axis i. The mode says with what: "reflect" mirrors at
// the outermost element without repeating it, "symmetric" repeats it, "edge" repeats the outermost element alone,
// "wrap" continues at the other end. For a constant see [Pad].
func PadMode(x *Tensor, low, high []int, mode string) *Tensor {
	if len(low) != x.Rank() || len(high) != x.Rank() {
		Failf(x.g, "pad: low %v and high %v must have one entry for each axis of %v", low, high, x.Shape())
	}
	for axis, n := range x.Shape() {
		if low[axis] == 0 && high[axis] == 0 {
			continue
		}
		if low[axis] < 0 || high[axis] < 0 || n == 0 {
			Failf(x.g, "pad: cannot add %d and %d elements to axis %d of %v", low[axis], high[axis], axis, x.Shape())
		}
		length := dim.Add(low[axis], n, high[axis])
		x = Take(x, Table(x, ir.Int32, ir.Shape{length}, func() []float64 {
			places := make([]float64, length) //dim:known
			for i := range places {
				places[i] = float64(mirror(x.g, i-low[axis], n, mode)) //dim:known
			}
			return places
		}), axis)
	}
	return x
}

// mirror returns the element of an axis of length n that belongs at position i, which may be outside.
//
//dim:known
func mirror(g *Graph, i, n int, mode string) int {
	period := func(p int) int { return (i%p + p) % p }
	switch mode {
	case "reflect":
		if n == 1 {
			return 0
		}
		k := period(2*n - 2)
		return min(k, 2*n-2-k)
	case "symmetric":
		k := period(2 * n)
		return min(k, 2*n-1-k)
	case "edge":
		return min(max(i, 0), n-1)
	case "wrap":
		return period(n)
	}
	Failf(g, "pad: unknown mode %q; known: reflect, symmetric, edge, wrap", mode)
	return 0
}

// Scatter adds values to zeros of the given shape: the last axis of indices (..., k) holds a position along the first k
// axes of the result, and values is (..., rest of the shape). Positions outside are an error when the program runs.
func Scatter(indices, values *Tensor, shape ...int) *Tensor {
	return scatterPoints(ir.Sum, Zeros(graphOf(indices, values), values.DType(), shape...), indices, values)
}

// ScatterUpdatePoints returns x with some elements (or slices) replaced by values. The last axis of indices (..., k)
// holds their positions along the first k axes. Of several values at the same position the last one stays. It is
// keras.ops.scatter_update.
func ScatterUpdatePoints(x, indices, values *Tensor) *Tensor {
	return scatterPoints(ir.Set, x, indices, values)
}

// ScatterReducePoints is [ScatterUpdatePoints] with a reduction ("add", "max", "min" or "mul") of the existing value
// and all values at the same position.
func ScatterReducePoints(x, indices, values *Tensor, reduction string) *Tensor {
	kind, ok := map[string]ir.Kind{"add": ir.Sum, "max": ir.Max, "min": ir.Min, "mul": ir.Prod}[reduction]
	if !ok {
		Failf(graphOf(x, indices, values), "scatter: the reduction is %q; expected \"add\", \"max\", \"min\" or \"mul\"", reduction)
	}
	return scatterPoints(kind, x, indices, values)
}

func scatterPoints(kind ir.Kind, x, indices, values *Tensor) *Tensor {
	g := graphOf(x, indices, values)
	if x.DType() == ir.Bool && kind != ir.Set { // the kinds are for numbers; any number that is not 0 is true
		return Cast(scatterPoints(kind, Cast(x, ir.Int32), indices, Cast(values, ir.Int32)), ir.Bool)
	}
	if indices.Rank() == 0 || !dim.Known(indices.Dim(-1)) || indices.Dim(-1) < 1 || indices.Dim(-1) > x.Rank() {
		Failf(g, "scatter: the last axis of indices %v must hold positions along the first axes of %v", indices.Shape(), x.Shape())
	}
	k := indices.Dim(-1)
	lead, rest := x.Shape()[:k], x.Shape()[k:]
	var flat *Tensor
	for i, part := range Unstack(Cast(indices, ir.Int32), -1) {
		if n := lead.Size(); dim.Known(n) && n > math.MaxInt32/(k+1) { //dim:known sums of k positions must fit
			Failf(g, "scatter: %v has more places than int32 can count", lead)
		}
		n := lead[i]
		part = fromFront(part, n)
		valid := LogicalAnd(CompareScalar(ir.Ge, part, 0), CompareLength(ir.Lt, part, n))
		// A position outside must not land in a neighbouring row: -n·size stays below zero, whatever is added.
		part = Where(valid, MultiplyByLength(part, lead[i+1:].Size()), MultiplyByLength(FullLike(part, -1), lead.Size()))
		flat = sumOf(flat, part)
	}
	// Negative sums are certainly outside; they must not count from the end.
	flat = Where(CompareScalar(ir.Lt, flat, 0), MultiplyByLength(OnesLike(flat), lead.Size()), flat)
	y := scatter(kind, Reshape(x, append([]int{lead.Size()}, rest...)...), flat, values, 0)
	return Reshape(y, x.Shape()...)
}
