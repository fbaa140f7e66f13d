package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// resamplers give the weight of a neighbour as a function of its distance.
var resamplers = map[string]func(x *Tensor) *Tensor{
	"linear": triangleKernel, "bilinear": triangleKernel, "trilinear": triangleKernel, "triangle": triangleKernel,
	"cubic": cubicKernel, "bicubic": cubicKernel, "tricubic": cubicKernel,
	"lanczos3": func(x *Tensor) *Tensor { return lanczosKernel(x, 3) },
	"lanczos5": func(x *Tensor) *Tensor { return lanczosKernel(x, 5) },
}

func triangleKernel(x *Tensor) *Tensor { return Relu(Subtract(OnesLike(x), x)) }

// cubicKernel is that of Keys 1981 with a = -1/2.
func cubicKernel(x *Tensor) *Tensor {
	near := AddScalar(Multiply(Multiply(SubtractScalar(MultiplyScalar(x, 1.5), 2.5), x), x), 1)
	far := AddScalar(Multiply(SubtractScalar(Multiply(AddScalar(MultiplyScalar(x, -0.5), 2.5), x), 4), x), 2)
	y := Where(CompareScalar(ir.Ge, x, 1), far, near)
	return Where(CompareScalar(ir.Ge, x, 2), ZerosLike(x), y)
}

// lanczosKernel is sinc(x)·sinc(x/radius) up to the radius.
func lanczosKernel(x *Tensor, radius float64) *Tensor {
	close := CompareScalar(ir.Le, x, 1e-3)
	safe := Where(close, OnesLike(x), x)
	y := MultiplyScalar(Multiply(Sin(MultiplyScalar(safe, math.Pi)), Sin(MultiplyScalar(safe, math.Pi/radius))), radius)
	y = Divide(y, MultiplyScalar(Square(safe), math.Pi*math.Pi))
	return Where(CompareScalar(ir.Gt, x, radius), ZerosLike(x), Where(close, OnesLike(x), y))
}

// ScaleAndTranslate resamples x along the given axes to shape: a point at p along axis axes[i], counted from the edge
// of the first cell, moves to p·scale[i] + translation[i]. scale and translation are vectors. Everything from outside
// is zero. method is "linear", "cubic", "lanczos3" or "lanczos5" (or one of Keras's other names for these); antialias
// widens its kernel where x shrinks.
func ScaleAndTranslate(x *Tensor, shape []int, scale, translation *Tensor, axes []int, method string, antialias bool) *Tensor {
	kernel := resamplers[method]
	if kernel == nil {
		Failf(x.Graph(), "scale and translate: unknown method %q; known: linear, cubic, lanczos3, lanczos5", method)
	}
	want := ir.Shape{len(axes)}
	if len(shape) != x.Rank() || !scale.Shape().Equal(want) || !translation.Shape().Equal(want) {
		Failf(x.g, "scale and translate: needs a length for each axis of %v and %d numbers of scale and translation, received %v, %v and %v", x.Shape(), len(axes), shape, scale.Shape(), translation.Shape())
	}
	y := float(x)
	for i, axis := range axes {
		axis = x.Axis(axis)
		weights := resampling(single(Index(scale, 0, i)), single(Index(translation, 0, i)), x.Dim(axis), shape[axis], kernel, antialias)
		moved := MoveAxis(y, axis, -1)
		y = MoveAxis(rowsTimes(moved, Cast(weights, y.DType())), -1, axis)
	}
	if !y.Shape().Equal(shape) {
		Failf(x.g, "scale and translate: shape %v differs from %v along axes other than %v", shape, x.Shape(), axes)
	}
	if !x.DType().IsFloat() {
		y = Round(y)
	}
	return Cast(y, x.DType())
}

// resampling is the matrix (in, out) of the weights of input cells in output cells.
func resampling(scale, translation *Tensor, in, out int, kernel func(x *Tensor) *Tensor, antialias bool) *Tensor {
	d := Promote(scale.DType(), translation.DType())
	back := Reciprocal(Cast(scale, d))
	at := SubtractScalar(Subtract(Multiply(AddScalar(Iota(scale, d, 1, 1, out), 0.5), back), Multiply(Cast(translation, d), back)), 0.5)
	distance := Abs(Subtract(at, Iota(scale, d, 0, in, 1)))
	if antialias {
		distance = Divide(distance, MaximumScalar(back, 1))
	}
	weights := kernel(distance)
	total := KeepDims(Sum(weights, 0), weights, 0)
	some := CompareScalar(ir.Gt, Abs(total), 1000*math.Pow(2, -23))
	weights = Where(some, Divide(weights, Where(some, total, OnesLike(total))), ZerosLike(weights))
	end := Number(at, func() float64 { return float64(in) - 0.5 }, in) //dim:known
	inside := LogicalAnd(CompareScalar(ir.Ge, at, -0.5), CompareScalar(ir.Le, at, end))
	return Where(inside, weights, ZerosLike(weights))
}

// SSIMOptions are the parameters of [SSIM]; zero is the default in brackets.
type SSIMOptions struct {
	MaxVal      float64 // the largest possible value of a channel [1]
	FilterSize  int     // height and width of the window [11]
	FilterSigma float64 // its standard deviation [1.5]
	K1, K2      float64 // [0.01], [0.03]
}

// SSIM returns the structural similarity of images (batch, height, width, channels), with or without the batch: (batch)
// or a scalar. With the means μ, variances σ² and the covariance σ12 of the two images under a window of weights
// exp(-d²/2σ²), it is the mean over positions and channels of
//
//	(2μ1μ2 + c1)(2σ12 + c2) / ((μ1² + μ2² + c1)(σ1² + σ2² + c2)),   c1 = (K1·MaxVal)², c2 = (K2·MaxVal)²
//
// Source: Wang, Bovik, Sheikh and Simoncelli 2004.
func SSIM(x, y *Tensor, o SSIMOptions) *Tensor {
	or := func(v *float64, def float64) {
		if *v == 0 {
			*v = def
		}
	}
	or(&o.MaxVal, 1)
	or(&o.FilterSigma, 1.5)
	or(&o.K1, 0.01)
	or(&o.K2, 0.03)
	if o.FilterSize == 0 {
		o.FilterSize = 11
	}
	d := x.DType()
	x, unbatched := floatImages("ssim", x)
	y, _ = floatImages("ssim", y)
	x, y = commonFloat(x, y)
	if !x.Shape().Equal(y.Shape()) || o.FilterSize < 1 || dim.Less(x.Dim(1), o.FilterSize) || dim.Less(x.Dim(2), o.FilterSize) {
		Failf(x.g, "ssim: needs two images of one shape, at least as large as the window of %d, received %v and %v", o.FilterSize, x.Shape(), y.Shape())
	}
	weights, sum := make([]float64, o.FilterSize), 0.0
	for i := range weights {
		far := float64(i) - float64(o.FilterSize-1)/2
		weights[i] = math.Exp(-far * far / (2 * o.FilterSigma * o.FilterSigma))
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	w := Constant(x, x.DType(), ir.Shape{o.FilterSize}, weights)
	kernel := BroadcastTo(Reshape(Outer(w, w), o.FilterSize, o.FilterSize, 1, 1), o.FilterSize, o.FilterSize, x.Dim(3), 1)
	mean := func(t *Tensor) *Tensor { return DepthwiseConv(t, kernel, ConvOptions{}) }
	c1, c2 := o.K1*o.MaxVal*o.K1*o.MaxVal, o.K2*o.MaxVal*o.K2*o.MaxVal
	m, n := mean(x), mean(y)
	mm, nn, mn := Square(m), Square(n), Multiply(m, n)
	covariance := Subtract(mean(Multiply(x, y)), mn)
	variances := Add(Subtract(mean(Square(x)), mm), Subtract(mean(Square(y)), nn))
	top := Multiply(AddScalar(MultiplyScalar(mn, 2), c1), AddScalar(MultiplyScalar(covariance, 2), c2))
	bottom := Multiply(AddScalar(Add(mm, nn), c1), AddScalar(variances, c2))
	return Cast(unbatched(Mean(Divide(top, bottom), 1, 2, 3)), d)
}
