package ops

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// The discrete Fourier transform of x along an axis of n elements is X[k] = Σ_t x[t]·exp(-2πi·kt/n). Complex numbers are pairs of
// tensors, the real and the imaginary part, as in keras.ops.
//
// A transform is made of products with small matrices, so that it runs in the kernels of matrix products and its gradient follows: for
// n = p·q, transforms of length p, a product with exp(-2πi·jk/n), and transforms of length q (Cooley and Tukey 1965). A large prime
// length is a convolution with a chirp (Bluestein 1970). All factors are computed in float64.

const (
	largestMatrix = 64  // lengths up to this are one product
	largestPrime  = 256 // prime lengths up to this too
)

// spectrum is a tensor of complex numbers; im is nil where they are real.
type spectrum struct{ re, im *Tensor }

// FFT returns the real and the imaginary part of the discrete Fourier transform of re + i·im along the last axis. Both parts have one
// shape and are float32 or float64.
func FFT(re, im *Tensor) (*Tensor, *Tensor) {
	x := complexOf("fft", re, im, 1)
	y := x.transform(-1)
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

// RFFT returns elements 0 to length/2 of the discrete Fourier transform of the real x along the last axis, (..., length/2+1); the others
// are their conjugates. x is first cut, or padded with zeros, to length elements; a length of 0 is that of x.
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
	y := spectrum{re: fitLast(x, length)}.transform(-1)
	bins := length/2 + 1 //dim:known
	return SliceAxis(y.re, -1, 0, bins), SliceAxis(y.im, -1, 0, bins)
}

// IRFFT is the inverse of [RFFT]: the length real numbers of which re + i·im (..., bins) are elements 0 to length/2 of the transform. A
// length of 0 is 2·(bins-1). Bins are cut or padded with zeros to length/2+1; what the imaginary parts of bin 0, and of bin length/2
// for an even length, say is left out.
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
	half := length/2 + 1
	x = spectrum{fitLast(x.re, half), fitLast(x.im, half)}
	counts := slices.Repeat([]float64{1}, half) // 0 for the imaginary parts that a real signal has not
	counts[0] = 0
	if length%2 == 0 {
		counts[half-1] = 0
	}
	x.im = Multiply(x.im, Constant(re, re.DType(), ir.Shape{half}, counts))
	mirrored := func(t *Tensor) *Tensor { return Flip(SliceAxis(t, -1, 1, (length+1)/2), -1) }
	full := spectrum{Concatenate(-1, x.re, mirrored(x.re)), Concatenate(-1, x.im, Negative(mirrored(x.im)))}
	return MultiplyScalar(full.transform(1).re, 1/float64(length))
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
func (x spectrum) each(f func(t *Tensor) *Tensor) spectrum {
	y := spectrum{re: f(x.re)}
	if x.im != nil {
		y.im = f(x.im)
	}
	return y
}

func (x spectrum) times(y spectrum) spectrum {
	if x.im == nil {
		return spectrum{Multiply(x.re, y.re), Multiply(x.re, y.im)}
	}
	return spectrum{Subtract(Multiply(x.re, y.re), Multiply(x.im, y.im)), Add(Multiply(x.re, y.im), Multiply(x.im, y.re))}
}

func (x spectrum) transform2(sign int) spectrum {
	swap := func(t *Tensor) *Tensor { return SwapAxes(t, -1, -2) }
	return x.transform(sign).each(swap).transform(sign).each(swap)
}

// transform is Σ_t x[t]·exp(sign·2πi·kt/n) along the last axis.
//
//dim:known transforms have a fixed length
func (x spectrum) transform(sign int) spectrum {
	n := x.re.Dim(-1)
	p := divisor(n)
	switch {
	case n <= largestMatrix || p == 1 && n <= largestPrime:
		return x.product(sign)
	case p == 1:
		return x.chirp(sign)
	}
	q := n / p
	lead := x.re.Shape()[:x.re.Rank()-1].Clone()
	fold := func(t *Tensor) *Tensor { return SwapAxes(Reshape(t, append(lead.Clone(), p, q)...), -1, -2) }
	turns := make([]int, 0, n) // turn j·k of n, for the element j and the frequency k of the shorter transform
	for j := range q {
		for k := range p {
			turns = append(turns, j*k)
		}
	}
	y := x.each(fold).transform(sign).times(circle(x.re, turns, n, sign, q, p))
	y = y.each(func(t *Tensor) *Tensor { return SwapAxes(t, -1, -2) }).transform(sign) // (..., p, q)
	return y.each(func(t *Tensor) *Tensor { return Reshape(SwapAxes(t, -1, -2), append(lead.Clone(), n)...) })
}

// divisor returns the largest divisor of n up to its square root.
//
//dim:known transforms have a fixed length
func divisor(n int) int {
	for p := int(math.Sqrt(float64(n))); p > 1; p-- {
		if n%p == 0 {
			return p
		}
	}
	return 1
}

// circle holds exp(sign·2πi·turn/n) for each turn.
//
//dim:known transforms have a fixed length
func circle(like *Tensor, turns []int, n, sign int, shape ...int) spectrum {
	re, im := make([]float64, len(turns)), make([]float64, len(turns))
	for i, turn := range turns {
		sin, cos := sincosTurn(turn%n, n)
		re[i], im[i] = cos, float64(sign)*sin
	}
	return spectrum{Constant(like, like.DType(), shape, re), Constant(like, like.DType(), shape, im)}
}

// sincosTurn returns sine and cosine of 2π·k/n, for 0 <= k < n, exact at quarters.
//
//dim:known transforms have a fixed length
func sincosTurn(k, n int) (sin, cos float64) {
	quarter, rest := 4*k/n, 4*k%n
	sin, cos = math.Sincos(math.Pi / 2 * float64(rest) / float64(n))
	for range quarter {
		sin, cos = cos, -sin
	}
	return sin, cos
}

// product is the transform as one product with a matrix: [re im]·[C S; -S C].
//
//dim:known transforms have a fixed length
func (x spectrum) product(sign int) spectrum {
	n := x.re.Dim(-1)
	rows := 2
	in := x.re
	if x.im == nil {
		rows = 1
	} else {
		in = Concatenate(-1, x.re, x.im)
	}
	m := make([]float64, rows*n*2*n)
	for t := range n {
		for k := range n {
			sin, cos := sincosTurn(t*k%n, n)
			sin *= float64(sign)
			m[t*2*n+k], m[t*2*n+n+k] = cos, sin
			if rows == 2 {
				m[(n+t)*2*n+k], m[(n+t)*2*n+n+k] = -sin, cos
			}
		}
	}
	y := rowsTimes(in, Constant(in, in.DType(), ir.Shape{rows * n, 2 * n}, m))
	return spectrum{SliceAxis(y, -1, 0, n), SliceAxis(y, -1, n, 2*n)}
}

// rowsTimes multiplies the last axis of x by a matrix, as one product of two matrices.
func rowsTimes(x, m *Tensor) *Tensor {
	lead := x.Shape()[:x.Rank()-1].Clone()
	y := Matmul(Reshape(x, lead.Size(), x.Dim(-1)), m)
	return Reshape(y, append(lead, m.Dim(-1))...)
}

// chirp is the transform of any length: with w[t] = exp(sign·πi·t²/n), X[k] = w[k]·Σ_t (x[t]·w[t])·conj(w[k-t]), a convolution, which
// transforms of a power of two compute.
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
		sin, cos := sincosTurn(squares[t], 2*n)
		for _, at := range []int{t, (m - t) % m} {
			wrapped[at], wrapped[m+at] = cos, -float64(sign)*sin
		}
	}
	w := circle(x.re, squares, 2*n, sign, n)
	kernel := spectrum{Constant(x.re, ir.Float64, ir.Shape{m}, wrapped[:m]), Constant(x.re, ir.Float64, ir.Shape{m}, wrapped[m:])}.transform(-1)
	kernel = kernel.each(func(t *Tensor) *Tensor { return Cast(t, x.re.DType()) })
	y := x.times(w).each(func(t *Tensor) *Tensor { return fitLast(t, m) }).transform(-1).times(kernel).transform(1)
	y = y.each(func(t *Tensor) *Tensor { return MultiplyScalar(SliceAxis(t, -1, 0, n), 1/float64(m)) })
	return y.times(w)
}
