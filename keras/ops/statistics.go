package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Amax is NumPy's name for [Max].
func Amax(x *Tensor, axes ...int) *Tensor { return Max(x, axes...) }

// Amin is NumPy's name for [Min].
func Amin(x *Tensor, axes ...int) *Tensor { return Min(x, axes...) }

// Var is the name of [Variance] in keras.ops.
func Var(x *Tensor, axes ...int) *Tensor { return Variance(x, axes...) }

// Ptp returns the largest minus the smallest element along the given axes.
func Ptp(x *Tensor, axes ...int) *Tensor { return Subtract(Max(x, axes...), Min(x, axes...)) }

// Diff returns the differences of neighbours along axis. n is how many times that is repeated.
func Diff(x *Tensor, n, axis int) *Tensor {
	for x = numeric(x); n > 0; n-- {
		m := x.Dim(axis)
		if m == 0 {
			return x
		}
		x = Subtract(SliceAxis(x, axis, 1, m), SliceAxis(x, axis, 0, dim.Sub(m, 1)))
	}
	return x
}

// Trapezoid integrates y along axis by the trapezoidal rule, with samples dx apart.
func Trapezoid(y *Tensor, dx float64, axis int) *Tensor {
	y = float(y)
	n := y.Dim(axis)
	if n == 0 {
		return Sum(y, axis)
	}
	if !dim.Known(n) || n <= 2 || y.Axis(axis) != y.Rank()-1 || math.Abs(dx) > 1 { // weights would cost more than the sum, or overflow
		pairs := Add(SliceAxis(y, axis, 1, n), SliceAxis(y, axis, 0, dim.Sub(n, 1)))
		return Sum(MultiplyScalar(pairs, dx/2), axis) // halved before the sum, which may overflow where its half does not
	}
	// Each element is in two pairs with weight one half, and those at the ends in one. Using these weights avoids
	// reading neighbours, in the gradient too.
	i := Iota(y, ir.Int32, 0, n)
	ends := LogicalOr(Equal(i, ZerosLike(i)), Equal(i, Full(i, ir.Int32, float64(n-1), n))) //dim:known
	weights := Where(ends, Full(y, y.DType(), dx/2, n), Full(y, y.DType(), dx, n))
	shape := orAll(nil, 1, y.Rank())
	shape[y.Axis(axis)] = n
	weights = Reshape(weights, shape...)
	if dx != 1 || n <= longTrapezoid { //dim:known
		return Sum(Multiply(y, weights), axis)
	}
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func(dys []*Tensor) []*Tensor) {
		y := xs[0]
		ends := MultiplyScalar(Concatenate(axis, SliceAxis(y, axis, 0, 1), SliceAxis(y, axis, dim.Sub(n, 1), n)), 0.5)
		sum := Add(Sum(SliceAxis(y, axis, 1, dim.Sub(n, 1)), axis), Sum(ends, axis))
		return []*Tensor{sum}, func(dys []*Tensor) []*Tensor { return []*Tensor{Multiply(ExpandDims(dys[0], axis), weights)} }
	}, y)[0]
}

// longTrapezoid is the length of rows from which on weights cost more than a sum of the elements between the ends.
const longTrapezoid = 4096

// Quantile returns the q-th quantile along axis, q in [0, 1]: the sorted element at q·(n-1), interpolated linearly
// between neighbours. It is NaN if there is any NaN.
func Quantile(x *Tensor, q float64, axis int) *Tensor { return QuantileMethod(x, q, "linear", axis) }

// QuantileMethod is Quantile with another rule for a position q·(n-1) between two elements: "linear" interpolates,
// "lower" and "higher" take that neighbour, "nearest" the nearer one (the one with the even position if both are
// equally near), and "midpoint" the mean of both.
func QuantileMethod(x *Tensor, q float64, method string, axis int) *Tensor {
	x = float(x)
	n := x.Dim(axis)
	if n == 0 || !(q >= 0 && q <= 1) {
		Failf(x.g, "quantile: needs at least one element along axis %d of %v and q in [0, 1], received %v", axis, x.Shape(), q)
	}
	if !dim.Known(n) {
		return Quantiles(x, Scalar(x, q), method, axis)
	}
	at := q * float64(n-1) //dim:known
	switch method {
	case "linear":
	case "lower":
		at = math.Floor(at)
	case "higher":
		at = math.Ceil(at)
	case "nearest":
		at = math.RoundToEven(at)
	case "midpoint":
		at = (math.Floor(at) + math.Ceil(at)) / 2
	default:
		Failf(x.g, "quantile: unknown method %q; known: linear, lower, higher, nearest, midpoint", method)
	}
	low := int(math.Floor(at))
	sorted, _ := partitioned(x, axis, low, int(math.Ceil(at)), -1)
	y := Index(sorted, axis, low)
	if share := at - float64(low); share > 0 {
		y = Add(MultiplyScalar(y, 1-share), MultiplyScalar(Index(sorted, axis, low+1), share))
	}
	last := Index(sorted, axis, -1) // NaN sorts last
	return Where(Isnan(last), last, y)
}

// Percentile is Quantile for q in percent.
func Percentile(x *Tensor, q float64, axis int) *Tensor { return Quantile(x, q/100, axis) }

// Bincount counts how often each of the numbers 0 ... length-1 occurs along the last axis of x (n) or (rows, n), int32.
// With weights, a tensor of the shape of x, it adds up the weights instead. Numbers outside are left out; for negative
// numbers, Keras's backends fail or, on JAX, return zeros.
func Bincount(x, weights *Tensor, length int) *Tensor {
	if x.Rank() < 1 || x.Rank() > 2 {
		Failf(x.g, "bincount: needs a vector or a matrix, received shape %v", x.Shape())
	}
	if weights == nil {
		weights = Ones(x, ir.Int32, x.Shape()...)
	}
	if !x.DType().IsInteger() || x.DType().Size() < 4 {
		x = Cast(x, ir.Int32)
	}
	d, out := weights.DType(), ir.Shape{length}
	if x.Rank() == 2 {
		out = ir.Shape{x.Dim(0), length}
		x = flatPositions(out, x, 1, false)
	}
	size := out.Size()
	sums := apply1(ir.Scatter, ir.ScatterAttrs{Kind: ir.Sum, Mode: ir.IndexDrop}, Zeros(x, d, size), Ravel(x), Ravel(weights))
	return Reshape(sums, out...)
}

// Searchsorted returns, for each element of values, the position in the sorted vector at which it could be inserted:
// before equal elements, or after them if right is set. The result is int32.
func Searchsorted(sorted, values *Tensor, right bool) *Tensor {
	if sorted.Rank() != 1 {
		Failf(sorted.g, "searchsorted: needs a sorted vector, received shape %v", sorted.Shape())
	}
	n := sorted.Dim(0)
	if !dim.Known(n) {
		wide := ExpandDims(values, -1)
		return Sum(Cast(before(sorted, wide, right), ir.Int32), -1)
	}
	// The value is compared with every step-th element, and a binary search does the rest. Count is how many elements
	// are known to lie before it, and the position is less than step away. The last of the places from which to search
	// is the one from which no search leaves the vector.
	step := 1
	for n/step > fewBorders { //dim:known
		step *= 2
	}
	last := n - (step - 1) //dim:known
	d := ir.Int32
	if values.DType().Size() == 8 { // vectors of as many elements as those of values
		d = values.DType()
	}
	count := Zeros(values, d, values.Shape()...)
	for i := step; i <= last; i += step { //dim:known
		count = Add(count, Cast(before(Index(sorted, 0, i-1), values, right), d))
	}
	if step > 1 {
		count = MultiplyScalar(count, float64(step))
		if last%step > 0 { //dim:known
			count = Where(before(Index(sorted, 0, last-1), values, right), FullLike(count, float64(last)), count) //dim:known
		}
	}
	for step /= 2; step > 0; step /= 2 {
		element := apply1(ir.Gather, ir.GatherAttrs{Mode: ir.IndexClip}, sorted, Cast(AddScalar(count, float64(step-1)), ir.Int32))
		count = Where(before(element, values, right), AddScalar(count, float64(step)), count)
	}
	return Cast(count, ir.Int32)
}

// fewBorders is the number of elements up to which a value is compared with each before it is searched between two of
// them.
const fewBorders = 16

// fewBins is the number of bins of equal width up to which every border is compared.
const fewBins = 20

// before reports which elements lie before values, equal ones if right is set.
func before(elements, values *Tensor, right bool) *Tensor {
	if right {
		return LessEqual(elements, values)
	}
	return Less(elements, values)
}

// Digitize returns the bin number of each element of x, given the increasing inner borders of the bins: the count of
// borders not above it, int32.
func Digitize(x, borders *Tensor) *Tensor { return Searchsorted(borders, x, true) }

// Histogram counts the elements of x in bins of equal width between low and high and returns the counts, in the float
// type of x, and the bins+1 borders; the last bin includes high. Elements outside are left out.
func Histogram(x *Tensor, bins int, low, high float64) (counts, borders *Tensor) {
	if bins < 1 || !(low < high) {
		Failf(x.Graph(), "histogram: needs at least one bin and low below high, received %d bins in [%v, %v]", bins, low, high)
	}
	x = Ravel(float(x))
	borders = Linspace(x, x.DType(), low, high, bins+1)
	return Cast(Bincount(binOf(x, borders, bins, low, high), nil, bins), x.DType()), borders
}

// binOf returns the bin of each element of a vector, below 0 or above the last one for elements outside.
func binOf(x, borders *Tensor, bins int, low, high float64) *Tensor {
	precision := map[ir.DType]float64{ir.Float32: 1.0 / (1 << 23), ir.Float64: 1.0 / (1 << 52)}[x.DType()]
	scale, least := float64(bins)/(high-low), x.DType().LeastNormal()
	if bins <= fewBins || precision == 0 || max(-low, high)*scale*precision > 1.0/16 || min(scale, 1/scale) < least {
		bin := SubtractScalar(Digitize(x, borders), 1)
		return Where(CompareScalar(ir.Eq, x, high), FullLike(bin, float64(bins-1)), bin)
	}
	// Bins of equal width need no search: the computed bin is right, or off by one through rounding.
	bin := Cast(SubtractScalar(MultiplyScalar(x, scale), low*scale), ir.Int32)
	bin = MaximumScalar(MinimumScalar(bin, float64(bins-1)), 0)
	border := func(i *Tensor) *Tensor { return apply1(ir.Gather, ir.GatherAttrs{Mode: ir.IndexClip}, borders, i) }
	before, behind := Less(x, border(bin)), GreaterEqual(x, border(AddScalar(bin, 1)))
	bin = MinimumScalar(Subtract(Add(bin, Cast(behind, ir.Int32)), Cast(before, ir.Int32)), float64(bins-1))
	inside := LogicalAnd(CompareScalar(ir.Ge, x, low), CompareScalar(ir.Le, x, high))
	return Where(inside, bin, FullLike(bin, -1))
}

// Corrcoef returns the correlation coefficients of the rows of x (variables, observations).
func Corrcoef(x *Tensor) *Tensor {
	x = float(x)
	if x.Rank() != 2 {
		Failf(x.g, "corrcoef: needs (variables, observations), received shape %v", x.Shape())
	}
	centered := Subtract(x, KeepDims(Mean(x, 1), x, 1))
	c := Matmul(centered, Transpose(centered))
	d := Sqrt(Diagonal(c, 0, 1))
	return Clip(Divide(Divide(c, ExpandDims(d, 1)), d), -1, 1)
}

// withoutNaN replaces NaN by v.
func withoutNaN(x *Tensor, v float64) *Tensor {
	if !x.DType().IsFloat() {
		return x
	}
	return Where(Isnan(x), FullLike(x, v), x)
}

// Nansum is Sum over the elements that are not NaN.
func Nansum(x *Tensor, axes ...int) *Tensor { return Sum(withoutNaN(x, 0), axes...) }

// Nanprod is Prod over the elements that are not NaN.
func Nanprod(x *Tensor, axes ...int) *Tensor { return Prod(withoutNaN(x, 1), axes...) }

// Nanmax is Max over the elements that are not NaN, or NaN if all are NaN.
func Nanmax(x *Tensor, axes ...int) *Tensor {
	return orNaN(Max(withoutNaN(x, math.Inf(-1)), axes...), x, axes)
}

// Nanmin is Min over the elements that are not NaN, or NaN if all are NaN.
func Nanmin(x *Tensor, axes ...int) *Tensor {
	return orNaN(Min(withoutNaN(x, math.Inf(1)), axes...), x, axes)
}

func orNaN(y, x *Tensor, axes []int) *Tensor {
	if !x.DType().IsFloat() {
		return y
	}
	return Where(All(Isnan(x), axes...), FullLike(y, math.NaN()), y)
}

// Nanmean is Mean over the elements that are not NaN.
func Nanmean(x *Tensor, axes ...int) *Tensor {
	x = float(x)
	return Divide(Nansum(x, axes...), Sum(Cast(LogicalNot(Isnan(x)), x.DType()), axes...))
}

// Nanvar is Variance over the elements that are not NaN. If one of them is infinite, the result is NaN.
func Nanvar(x *Tensor, axes ...int) *Tensor {
	x = float(x)
	missing := Isnan(x)
	distance := Subtract(x, KeepDims(Nanmean(x, axes...), x, axes...))
	squares := Sum(Where(missing, ZerosLike(x), Square(distance)), axes...)
	return Divide(squares, Sum(Cast(LogicalNot(missing), x.DType()), axes...))
}

// Nanstd is Std over the elements that are not NaN.
func Nanstd(x *Tensor, axes ...int) *Tensor { return Sqrt(Nanvar(x, axes...)) }
