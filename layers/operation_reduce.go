package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// reduceAxes applies a reduction over the argument axis, and keeps the axes if keepdims says so. An empty list of axes
// reduces nothing.
func (a *operands) reduceAxes(x *ops.Tensor, f func(x *ops.Tensor, axes ...int) *ops.Tensor) *ops.Tensor {
	axes := a.axes("axis", x)
	if len(axes) == 0 && x.Rank() > 0 {
		return f(ops.ExpandDims(x, 0), 0)
	}
	y := f(x, axes...)
	if a.values["keepdims"] != nil && a.boolean("keepdims") {
		y = ops.KeepDims(y, x, axes...)
	}
	return y
}

func reduceOf(f func(x *ops.Tensor, axes ...int) *ops.Tensor) func(*operands) []*ops.Tensor {
	return oneResult(func(a *operands) *ops.Tensor { return a.reduceAxes(a.tensor("x"), f) })
}

// alongAxis applies a function of one axis; None stands for the flattened elements.
func (a *operands) alongAxis(x *ops.Tensor, f func(x *ops.Tensor, axis int) *ops.Tensor) *ops.Tensor {
	if !a.given("axis") {
		return f(ops.Ravel(x), 0)
	}
	return f(x, a.integer("axis"))
}

// oneAxis is a reduction over one axis, over several merged into one, or over all.
func (a *operands) oneAxis(x *ops.Tensor, f func(x *ops.Tensor, axis int) *ops.Tensor) *ops.Tensor {
	return a.reduceAxes(x, func(x *ops.Tensor, axes ...int) *ops.Tensor {
		if len(axes) == 1 {
			return f(x, axes[0])
		}
		return f(joinedAxes(x, axes), -1)
	})
}

// oneAxisFirst is oneAxis for functions whose results have further axes in front.
func (a *operands) oneAxisFirst(x *ops.Tensor, f func(x *ops.Tensor, axis int) *ops.Tensor) *ops.Tensor {
	return f(joinedAxes(x, a.axes("axis", x)), -1)
}

// joinedAxes moves axes to the end of x and merges them into one.
func joinedAxes(x *ops.Tensor, axes []int) *ops.Tensor {
	sorted := sortedAxes(x, axes)
	if len(sorted) < len(axes) {
		ops.Failf(x.Graph(), "axes %v of %v name an axis twice; name each axis once", axes, x.Shape())
	}
	var order []int
	shape, joined := []int{}, 1
	for i, d := range x.Shape() {
		if contains(sorted, i) {
			joined = dim.Mul(joined, d)
		} else {
			order, shape = append(order, i), append(shape, d)
		}
	}
	return ops.Reshape(ops.Transpose(x, append(order, sorted...)...), append(shape, joined)...)
}

func contains(list []int, v int) bool {
	for _, e := range list {
		if e == v {
			return true
		}
	}
	return false
}

// withInitial is a maximum or minimum that includes the argument initial.
func withInitial(reduce func(x *ops.Tensor, axes ...int) *ops.Tensor, combine func(x, y *ops.Tensor) *ops.Tensor) func(*operands) []*ops.Tensor {
	return oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		if !a.given("initial") {
			a.someElements(x, "give initial, the value that stands for it, to max or min")
		}
		y := a.reduceAxes(x, reduce)
		if a.given("initial") {
			y = ops.Cast(combine(y, a.like(y, "initial")), y.DType())
		}
		return y
	})
}

// someElements refuses reductions to extremes over empty axes; a part of a batch may be empty.
func (a *operands) someElements(x *ops.Tensor, remedy string) {
	for _, axis := range a.axes("axis", x) {
		if x.Axis(axis) != 0 && x.Dim(axis) == 0 {
			ops.Failf(a.graph, "axis %d of %v is empty, and nothing has no extreme; %s", axis, x.Shape(), remedy)
		}
	}
}

// extremeOf is a reduction to an extreme, or to what follows from one.
func extremeOf(f func(x *ops.Tensor, axes ...int) *ops.Tensor) func(*operands) []*ops.Tensor {
	return oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		a.someElements(x, "reduce along axes that have elements")
		return a.reduceAxes(x, f)
	})
}

// argOf is the position of an extreme element.
func argOf(f func(x *ops.Tensor, axis int) *ops.Tensor) func(*operands) []*ops.Tensor {
	return oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		y := a.alongAxis(x, f)
		if a.boolean("keepdims") {
			y = ops.KeepDims(y, x, a.axes("axis", x)...)
		}
		return y
	})
}

func init() {
	for class, f := range map[string]func(x *ops.Tensor, axes ...int) *ops.Tensor{
		"Sum": summed(ops.Sum), "Mean": ops.Mean, "Std": ops.Std, "Var": ops.Var, "All": ops.All, "Any": ops.Any,
		"Nansum": summed(ops.Nansum), "Nanmean": ops.Nanmean, "Nanstd": ops.Nanstd, "Nanvar": ops.Nanvar, "Nanprod": summed(ops.Nanprod),
	} {
		define("numpy", class, SnakeCase(class)+"(x, *axis=null, *keepdims=false)", reduceOf(f))
	}
	for class, f := range map[string]func(x *ops.Tensor, axes ...int) *ops.Tensor{"Ptp": ops.Ptp, "Nanmax": extreme(ops.Nanmax), "Nanmin": extreme(ops.Nanmin)} {
		define("numpy", class, SnakeCase(class)+"(x, *axis=null, *keepdims=false)", extremeOf(f))
	}
	define("math", "Logsumexp", "logsumexp(x, *axis=null, *keepdims=false)", reduceOf(ops.Logsumexp))
	define("numpy", "Prod", "prod(x, *axis=null, *keepdims=false, *dtype=null)", oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		if a.given("dtype") {
			return a.reduceAxes(ops.Cast(x, a.dtype("dtype", x.DType())), ops.Prod)
		}
		return a.reduceAxes(x, summed(ops.Prod))
	}))
	define("numpy", "Amax", "amax(x, *axis=null, *keepdims=false)", withInitial(extreme(ops.Max), ops.Maximum))
	define("numpy", "Amin", "amin(x, *axis=null, *keepdims=false)", withInitial(extreme(ops.Min), ops.Minimum))
	define("numpy", "Max", "max(x, *axis=null, *keepdims=false, *initial=null)", withInitial(extreme(ops.Max), ops.Maximum))
	define("numpy", "Min", "min(x, *axis=null, *keepdims=false, *initial=null)", withInitial(extreme(ops.Min), ops.Minimum))
	define("numpy", "Argmax", "argmax(x, *axis=null, *keepdims=false)", argOf(ops.Argmax))
	define("numpy", "Argmin", "argmin(x, *axis=null, *keepdims=false)", argOf(ops.Argmin))
	define("numpy", "CountNonzero", "count_nonzero(x, *axis=null)", reduceOf(ops.CountNonzero))
	define("numpy", "Median", "median(x, *axis=null, *keepdims=false)", oneResult(func(a *operands) *ops.Tensor { return a.oneAxis(a.tensor("x"), ops.Median) }))
	define("numpy", "Quantile", `quantile(x, q, *axis=null, *method="linear", *keepdims=false)`, oneResult(quantileOf(1, linearQuantile, linearQuantiles)))
	define("numpy", "Percentile", `percentile(x, q, *axis=null, *method="linear", *keepdims=false)`, oneResult(quantileOf(100, ops.QuantileMethod, ops.Quantiles)))
	define("numpy", "Average", "average(x, *axis=null, weights=null)", oneResult(average))
	define("numpy", "Cumsum", "cumsum(x, *axis=null, *dtype=null)", oneResult(cumulate(ops.Cumsum)))
	define("numpy", "Cumprod", "cumprod(x, *axis=null, *dtype=null)", oneResult(cumulate(ops.Cumprod)))
	define("numpy", "Nancumsum", "nancumsum(x, *axis=null, *dtype=null)", oneResult(cumulate(withoutNaN(ops.Nancumsum, ops.Cumsum))))
	define("numpy", "Nancumprod", "nancumprod(x, *axis=null, *dtype=null)", oneResult(cumulate(withoutNaN(ops.Nancumprod, ops.Cumprod))))
	define("numpy", "Nanargmax", "nanargmax(x, *axis=null, *keepdims=false)", argOf(ops.Nanargmax))
	define("numpy", "Nanargmin", "nanargmin(x, *axis=null, *keepdims=false)", argOf(ops.Nanargmin))
	define("numpy", "Nanmedian", "nanmedian(x, *axis=null, *keepdims=false)", oneResult(func(a *operands) *ops.Tensor { return a.oneAxis(a.tensor("x"), ops.Nanmedian) }))
	define("numpy", "Nanquantile", `nanquantile(x, q, *axis=null, *method="linear", *keepdims=false)`, oneResult(quantileOf(1, ops.NanquantileMethod, ops.Nanquantiles)))
	define("numpy", "Nanpercentile", `nanpercentile(x, q, *axis=null, *method="linear", *keepdims=false)`, oneResult(quantileOf(100, ops.NanquantileMethod, ops.Nanquantiles)))
	define("numpy", "Correlate", `correlate(x1, x2, *mode="valid")`, oneResult(func(a *operands) *ops.Tensor {
		x, y := a.pair("x1", "x2")
		return ops.Correlate(x, y, a.text("mode"))
	}))
	define("numpy", "Argpartition", "argpartition(x, *kth, *axis=-1)", oneResult(func(a *operands) *ops.Tensor {
		return a.alongAxis(a.tensor("x"), func(x *ops.Tensor, axis int) *ops.Tensor { return ops.Argpartition(x, a.integer("kth"), axis) })
	}))
	define("numpy", "Diff", "diff(a, *n=1, *axis=-1)", oneResult(differences))
	define("numpy", "Trapezoid", "trapezoid(y, *x=null, *dx=1.0, *axis=-1)", oneResult(func(a *operands) *ops.Tensor {
		a.refuse("x", nil)
		return ops.Trapezoid(a.tensor("y"), a.number("dx"), a.integer("axis"))
	}))
	define("nn", "Moments", "moments(x, *axes, *keepdims=false, *synchronized=false)", moments)
	define("numpy", "Bincount", "bincount(x, *weights=null, *minlength=0, *sparse=false)", oneResult(func(a *operands) *ops.Tensor {
		a.refuse("sparse", false, nil)
		if a.integer("minlength") < 1 {
			ops.Failf(a.graph, "bincount needs minlength here: the length of the result cannot depend on the numbers; larger ones are left out")
		}
		return ops.Bincount(a.tensor("x"), a.optional("weights"), a.integer("minlength"))
	}))
	define("numpy", "Corrcoef", "corrcoef(x)", unaryOf(int64AsFloat(ops.Corrcoef)))
	define("numpy", "Trace", "trace(x, *offset=0, *axis1=0, *axis2=1)", oneResult(func(a *operands) *ops.Tensor { return ops.Sum(inWord(diagonal(a)), -1) }))
}

// linearQuantile ignores the method, as Keras does in a Functional model (but neither outside of one nor in
// percentile).
func linearQuantile(x *ops.Tensor, q float64, _ string, axis int) *ops.Tensor {
	return ops.Quantile(x, q, axis)
}

func linearQuantiles(x, q *ops.Tensor, _ string, axis int) *ops.Tensor {
	return ops.Quantiles(x, q, "linear", axis)
}

//go:noinline
func quantileOf(whole float64, f func(x *ops.Tensor, q float64, method string, axis int) *ops.Tensor, many func(x, q *ops.Tensor, method string, axis int) *ops.Tensor) func(a *operands) *ops.Tensor {
	return func(a *operands) *ops.Tensor {
		method := a.text("method")
		x := a.tensor("x")
		one := func(q float64) *ops.Tensor {
			return a.oneAxis(x, func(x *ops.Tensor, axis int) *ops.Tensor { return f(x, q/whole, method, axis) })
		}
		if q, ok := a.values["q"].(*ops.Tensor); ok {
			a.bounded("the number of quantiles", q.Shape().Size(), maxParts)
			return manyQuantiles(a, x, ops.DivideScalar(q, whole), func(x, q *ops.Tensor, axis int) *ops.Tensor { return many(x, q, method, axis) })
		}
		list, many := a.values["q"].([]any)
		if !many {
			return one(a.number("q"))
		}
		a.bounded("the number of quantiles", len(list), maxParts)
		rows := make([]*ops.Tensor, len(list))
		for i, q := range list {
			rows[i] = one((&operands{graph: a.graph, values: map[string]any{"q": q}}).number("q"))
		}
		return ops.Stack(0, rows...)
	}
}

// manyQuantiles computes the quantiles given by a tensor.
func manyQuantiles(a *operands, x, q *ops.Tensor, f func(x, q *ops.Tensor, axis int) *ops.Tensor) *ops.Tensor {
	y := a.oneAxisFirst(x, func(x *ops.Tensor, axis int) *ops.Tensor { return f(x, q, axis) })
	if !a.boolean("keepdims") {
		return y
	}
	axes := a.axes("axis", x)
	return ops.Reshape(y, append(q.Shape().Clone(), x.Shape().WithOnes(sortedAxes(x, axes)...)...)...)
}

func average(a *operands) *ops.Tensor {
	x, w := floating(a.tensor("x")), a.optional("weights")
	if a.given("axis") {
		return ops.Average(x, w, a.integer("axis"))
	}
	if w == nil {
		return ops.Mean(x)
	}
	w = ops.BroadcastTo(ops.Cast(w, x.DType()), x.Shape()...)
	return ops.Divide(ops.Sum(ops.Multiply(x, w)), ops.Sum(w))
}

func cumulate(f func(x *ops.Tensor, axis int) *ops.Tensor) func(a *operands) *ops.Tensor {
	return func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		d := x.DType()
		if d == ir.Bool {
			d = ir.Int32
		}
		return a.alongAxis(ops.Cast(x, a.dtype("dtype", d)), f)
	}
}

func moments(a *operands) []*ops.Tensor {
	a.refuse("synchronized", false, nil)
	x, axes := a.tensor("x"), a.integers("axes")
	half := x.DType() == ir.Float16
	if half { // computed in float32, as the range of float16 is too small, and cut to it
		x = ops.Cast(x, ir.Float32)
	}
	mean, variance := ops.Moments(x, axes...)
	if half {
		const most = 65504
		mean, variance = ops.Cast(ops.Clip(mean, -most, most), ir.Float16), ops.Cast(ops.Clip(variance, -most, most), ir.Float16)
	}
	if a.boolean("keepdims") {
		mean, variance = ops.KeepDims(mean, x, axes...), ops.KeepDims(variance, x, axes...)
	}
	return []*ops.Tensor{mean, variance}
}

func diagonal(a *operands) *ops.Tensor {
	return ops.DiagonalAt(a.tensor("x"), a.integer("offset"), a.integer("axis1"), a.integer("axis2"))
}
