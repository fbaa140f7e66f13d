package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// The discrete Fourier transform of x along an axis of n elements is X[k] = Σ_t x[t]·exp(-2πi·kt/n). Complex numbers
// are pairs of tensors, the real and the imaginary part, as in keras.ops.
//
// A large prime length is a convolution with a chirp (Bluestein 1970), which transforms of a power of two compute. All
// factors are computed in float64.

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
// length/2+1); the others are their conjugates. x is first cut, or padded with zeros, to length elements; a length of 0
// is that of x.
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
	if isSmooth(length) {
		out := apply(ir.RealFourier, ir.FourierAttrs{Axis: x.Rank() - 1, Length: length}, x)
		return out[0], out[1]
	}
	y := spectrum{x, ZerosLike(x)}.transform(-1, -1)
	bins := length/2 + 1 //dim:known
	return SliceAxis(y.re, -1, 0, bins), SliceAxis(y.im, -1, 0, bins)
}

// IRFFT is the inverse of [RFFT]: the length real numbers of which re + i·im (..., bins) are elements 0 to length/2 of
// the transform. A length of 0 is 2·(bins-1). Bins are cut or padded with zeros to length/2+1; the imaginary parts of
// bin 0, and of bin length/2 for an even length, are ignored.
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
	if isSmooth(length) {
		y := apply1(ir.HermitianFourier, ir.FourierAttrs{Axis: x.re.Rank() - 1, Length: length}, x.re, x.im)
		return MultiplyScalar(y, 1/float64(length))
	}
	counts := slices.Repeat([]float64{1}, half) // 0 for the imaginary parts that a real signal has not
	counts[0] = 0
	if length%2 == 0 {
		counts[half-1] = 0
	}
	x.im = Multiply(x.im, Constant(re, re.DType(), ir.Shape{half}, counts))
	mirrored := func(t *Tensor) *Tensor { return Flip(SliceAxis(t, -1, 1, (length+1)/2), -1) }
	full := spectrum{Concatenate(-1, x.re, mirrored(x.re)), Concatenate(-1, x.im, Negative(mirrored(x.im)))}
	return MultiplyScalar(full.transform(1, -1).re, 1/float64(length))
}

// complexOf joins the parts of a number whose last axes are to be transformed, and so must have a fixed length.
func complexOf(what string, re, im *Tensor, axes int) spectrum {
	x := partsOf(what, re, im, axes)
	for axis := range axes {
		Fixed(re, what, re.Dim(-1-axis))
	}
	return x
}

func partsOf(what string, re, im *Tensor, axes int) spectrum {
	g := graphOf(re, im)
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

// single brings x to float32 or float64.
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

// each applies a function to both parts.
func (x spectrum) each(f func(t *Tensor) *Tensor) spectrum { return spectrum{f(x.re), f(x.im)} }

func (x spectrum) times(y spectrum) spectrum {
	return spectrum{Subtract(Multiply(x.re, y.re), Multiply(x.im, y.im)), Add(Multiply(x.re, y.im), Multiply(x.im, y.re))}
}

func (x spectrum) transform2(sign int) spectrum { return x.transform(sign, -1).transform(sign, -2) }

// transform is Σ_t x[t]·exp(sign·2πi·kt/n) along an axis. The transform of the other sign is that with the parts
// exchanged, on both sides.
//
//dim:known transforms have a fixed length
func (x spectrum) transform(sign, axis int) spectrum {
	axis = x.re.Axis(axis)
	n := x.re.Dim(axis)
	switch {
	case !isSmooth(n):
		swap := func(t *Tensor) *Tensor { return SwapAxes(t, axis, -1) }
		return x.each(swap).chirp(sign).each(swap)
	case sign > 0:
		y := spectrum{x.im, x.re}.transform(-1, axis)
		return spectrum{y.im, y.re}
	}
	out := apply(ir.Fourier, ir.FourierAttrs{Axis: axis, Length: n}, x.re, x.im)
	return spectrum{out[0], out[1]}
}

// isSmooth reports whether transforms of the length need no chirp.
func isSmooth(n int) bool {
	f := ir.FourierFactors(n)
	return len(f) == 0 || f[len(f)-1] <= ir.LargestFourierPrime //dim:known
}

func init() {
	// Gradients of linear functions: the inverse transform, and for the real ones each other, where all elements but
	// those at the ends stand for two.
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

// pairWeights multiplies elements that stand for their conjugates too.
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

// circle holds exp(sign·2πi·turn/n) for each turn.
//
//dim:known transforms have a fixed length
func circle(like *Tensor, turns []int, n, sign int, shape ...int) spectrum {
	re, im := make([]float64, len(turns)), make([]float64, len(turns))
	for i, turn := range turns {
		sin, cos := ir.SincosTurn(turn%n, n)
		re[i], im[i] = cos, float64(sign)*sin
	}
	return spectrum{Constant(like, like.DType(), shape, re), Constant(like, like.DType(), shape, im)}
}

// rowsTimes multiplies the last axis of x by a matrix, as one product of two matrices.
func rowsTimes(x, m *Tensor) *Tensor {
	lead := x.Shape()[:x.Rank()-1].Clone()
	y := Matmul(Reshape(x, lead.Size(), x.Dim(-1)), m)
	return Reshape(y, append(lead, m.Dim(-1))...)
}

// chirp is the transform of any length: with w[t] = exp(sign·πi·t²/n), X[k] = w[k]·Σ_t (x[t]·w[t])·conj(w[k-t]), a
// convolution, which transforms of a power of two compute.
//
//dim:known transforms have a fixed length
func (x spectrum) chirp(sign int) spectrum {
	n := x.re.Dim(-1)
	m := 1
	for m < 2*n-1 {
		m *= 2
	}
	squares, wrapped := make([]int, n), make([]float64, 2*m)
	for t := range n {
		squares[t] = t * t % (2 * n)
		sin, cos := ir.SincosTurn(squares[t], 2*n)
		for _, at := range []int{t, (m - t) % m} {
			wrapped[at], wrapped[m+at] = cos, -float64(sign)*sin
		}
	}
	w := circle(x.re, squares, 2*n, sign, n)
	kernel := spectrum{Constant(x.re, ir.Float64, ir.Shape{m}, wrapped[:m]), Constant(x.re, ir.Float64, ir.Shape{m}, wrapped[m:])}.transform(-1, -1)
	kernel = kernel.each(func(t *Tensor) *Tensor { return Cast(t, x.re.DType()) })
	y := x.times(w).each(func(t *Tensor) *Tensor { return fitLast(t, m) }).transform(-1, -1).times(kernel).transform(1, -1)
	y = y.each(func(t *Tensor) *Tensor { return MultiplyScalar(SliceAxis(t, -1, 0, n), 1/float64(m)) })
	return y.times(w)
}
