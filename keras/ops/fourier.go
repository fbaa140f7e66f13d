package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// The discrete Fourier transform of x along an axis of n elements is X[k] = Σ_t x[t]·exp(-2πi·kt/n). Complex numbers
// are pairs of tensors, the real and the imaginary part, as in keras.ops.
//
// All factors are computed in float64.

// spectrum is a tensor of complex numbers.
type spectrum struct{ re, im *Tensor }

// FFT returns the real and the imaginary part of the discrete Fourier transform of re + i·im along the last axis. Both
// parts have one shape and are float32 or float64.
func FFT(re, im *Tensor) (*Tensor, *Tensor) {
	x := complexOf("fft", re, im, 1)
	y := x.transform(-1, -1)
	return y.re, y.im
}

// FFT2 returns the discrete Fourier transform of re + i·im along the last two axes.
func FFT2(re, im *Tensor) (*Tensor, *Tensor) {
	y := complexOf("fft2", re, im, 2).transform2(-1)
	return y.re, y.im
}

// IFFT2 is the inverse of [FFT2].
func IFFT2(re, im *Tensor) (*Tensor, *Tensor) {
	y := complexOf("ifft2", re, im, 2).transform2(1)
	scale := 1 / float64(re.Dim(-1)*re.Dim(-2)) //dim:known transforms have a fixed length
	return MultiplyScalar(y.re, scale), MultiplyScalar(y.im, scale)
}

// RFFT returns elements 0 to length/2 of the discrete Fourier transform of the real x along the last axis, (...,
// length/2+1). The other elements are conjugates of these. x is first cut, or padded with zeros, to length elements; 0
// means the length of x.
func RFFT(x *Tensor, length int) (re, im *Tensor) {
	x = single(x)
	if x.Rank() < 1 {
		Failf(x.g, "rfft: needs at least one axis, received a scalar")
	}
	if length == 0 {
		length = x.Dim(-1)
	}
	Fixed(x, "rfft", length)
	if length < 1 { //dim:known
		Failf(x.g, "rfft: the length must be at least 1, received %d", length)
	}
	CheckTable(x, "rfft", length)
	x = fitLast(x, length)
	if length == 1 { //dim:known a number is its own transform
		return x, ZerosLike(x)
	}
	out := apply(ir.RealFourier, ir.FourierAttrs{Axis: x.Rank() - 1, Length: length}, x)
	return out[0], out[1]
}

// IRFFT is the inverse of [RFFT]. It returns the length real numbers whose transform has re + i·im (..., bins) as
// elements 0 to length/2. A length of 0 means 2·(bins-1). Bins are cut or padded with zeros to length/2+1. The
// imaginary parts of bin 0, and of bin length/2 for an even length, are ignored.
//
//dim:known transforms have a fixed length
func IRFFT(re, im *Tensor, length int) *Tensor {
	x := partsOf("irfft", re, im, 1)
	if length == 0 {
		Fixed(re, "irfft", re.Dim(-1))
		length = 2 * (re.Dim(-1) - 1)
	}
	if length < 1 {
		Failf(re.g, "irfft: the length must be at least 1, received %d for %d bins", length, re.Dim(-1))
	}
	CheckTable(re, "irfft", length)
	half := length/2 + 1
	x = spectrum{fitLast(x.re, half), fitLast(x.im, half)}
	y := apply1(ir.HermitianFourier, ir.FourierAttrs{Axis: x.re.Rank() - 1, Length: length}, x.re, x.im)
	return MultiplyScalar(y, 1/float64(length))
}

// complexOf joins the parts of complex numbers. Their last axes are to be transformed, so they must have a fixed
// length.
func complexOf(what string, re, im *Tensor, axes int) spectrum {
	x := partsOf(what, re, im, axes)
	for axis := range axes {
		Fixed(re, what, re.Dim(-1-axis))
	}
	return x
}

func partsOf(what string, re, im *Tensor, axes int) spectrum {
	g := graphOf(re, im)
	if d := re.DType(); d.IsHalf() && im.DType() == d {
		Failf(g, "%s: has no complex numbers of %v, as no backend of Keras has; cast both parts to float32 first, or let the layer that calls it compute in float32", what, d)
	}
	if !re.Type().Equal(im.Type()) || re.Rank() < axes || re.DType() != ir.Float32 && re.DType() != ir.Float64 {
		Failf(g, "%s: needs a real and an imaginary part of one shape with at least %d axes, float32 or float64, received %v and %v", what, axes, re.Type(), im.Type())
	}
	for axis := range axes {
		if re.Dim(-1-axis) == 0 {
			Failf(g, "%s: cannot transform the empty axis %d of %v", what, -1-axis, re.Shape())
		}
	}
	return spectrum{re, im}
}

// single converts x to float32 or float64.
func single(x *Tensor) *Tensor {
	if x.DType() == ir.Float64 {
		return x
	}
	return Cast(x, ir.Float32)
}

// fitLast cuts the last axis to n elements, or pads it with zeros.
func fitLast(x *Tensor, n int) *Tensor {
	have := x.Dim(-1)
	if missing := dim.Max(dim.Sub(n, have), 0); missing != 0 {
		high := make([]int, x.Rank())
		high[len(high)-1] = missing
		x = Pad(x, make([]int, x.Rank()), high, 0)
	}
	if x.Dim(-1) == n {
		return x
	}
	return SliceAxis(x, -1, 0, n)
}

func (x spectrum) transform2(sign int) spectrum { return x.transform(sign, -1).transform(sign, -2) }

// transform is Σ_t x[t]·exp(sign·2πi·kt/n) along an axis. The transform with the other sign is the same with real and
// imaginary parts exchanged before and after.
//
//dim:known transforms have a fixed length
func (x spectrum) transform(sign, axis int) spectrum {
	axis = x.re.Axis(axis)
	n := x.re.Dim(axis)
	switch {
	case n == 1: // a number is its own transform
		return x
	case sign > 0:
		y := spectrum{x.im, x.re}.transform(-1, axis)
		return spectrum{y.im, y.re}
	}
	out := apply(ir.Fourier, ir.FourierAttrs{Axis: axis, Length: n}, x.re, x.im)
	return spectrum{out[0], out[1]}
}

func init() {
	// These are gradients of linear functions. That of the complex transform is the inverse transform. The real
	// transforms have each other as gradients, where all elements but those at the ends stand for two.
	rules[ir.Fourier] = func(c *vjp) []*Tensor {
		y := spectrum{c.dy(0), c.dy(1)}.transform(1, c.node.Attrs.(ir.FourierAttrs).Axis)
		return []*Tensor{y.re, y.im}
	}
	rules[ir.RealFourier] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.FourierAttrs)
		weigh := pairWeights(c.dy(0), a, 0.5)
		return []*Tensor{apply1(ir.HermitianFourier, a, weigh(c.dy(0)), weigh(c.dy(1)))}
	}
	rules[ir.HermitianFourier] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.FourierAttrs)
		y := apply(ir.RealFourier, a, c.dy(0))
		weigh := pairWeights(y[0], a, 2)
		return []*Tensor{weigh(y[0]), weigh(y[1])}
	}
}

// pairWeights multiplies the elements that also stand for their conjugates by a factor.
//
//dim:known transforms have a fixed length
func pairWeights(like *Tensor, a ir.FourierAttrs, by float64) func(t *Tensor) *Tensor {
	weights := slices.Repeat([]float64{by}, a.Bins())
	weights[0] = 1
	if a.Length%2 == 0 {
		weights[a.Length/2] = 1
	}
	w := Constant(like, like.DType(), ir.Shape{a.Bins()}, weights)
	return func(t *Tensor) *Tensor { return Multiply(t, w) }
}

// rowsTimes multiplies the last axis of x by a matrix, as one product of two matrices.
func rowsTimes(x, m *Tensor) *Tensor {
	lead := x.Shape()[:x.Rank()-1].Clone()
	y := Matmul(Reshape(x, lead.Size(), x.Dim(-1)), m)
	return Reshape(y, append(lead, m.Dim(-1))...)
}
