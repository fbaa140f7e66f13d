package ir

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// LargestFourierPrime bounds the prime lengths of Fourier transforms that are decomposed into products. A transform
// with a larger prime is a convolution with a chirp.
const LargestFourierPrime = 256

const largestFourierMatrix = 64 // lengths up to this are decomposed into one product

func init() {
	decompositions[Fourier] = decomposeFourier
	decompositions[RealFourier] = decomposeRealFourier
	decompositions[HermitianFourier] = decomposeHermitianFourier
}

// FourierFactors returns the prime factors of a length, in ascending order.
func FourierFactors(length int) []int {
	var all []int
	for p := 2; length > 1; p++ {
		if p*p > length {
			p = length
		}
		for length%p == 0 {
			all, length = append(all, p), length/p
		}
	}
	return all
}

// fourierOperands checks operands of one type whose transformed axis has a known length.
func fourierOperands(in []Type, attrs Attrs, last bool) (FourierAttrs, error) {
	a, ok := attrs.(FourierAttrs)
	if !ok {
		return a, fmt.Errorf("needs FourierAttrs, received %T", attrs)
	}
	x := in[0]
	if !x.DType.IsFloat() || a.Axis < 0 || a.Axis >= len(x.Shape) || last && a.Axis != len(x.Shape)-1 {
		return a, fmt.Errorf("needs floats with an axis %d, which is the last one of a real transform, received %v", a.Axis, x)
	}
	if err := checkOperands(in[1:], in[:len(in)-1]...); err != nil {
		return a, err
	}
	if !dim.Known(a.Length) || a.Length < 1 {
		return a, fmt.Errorf("length %s must be known and at least 1", dim.String(a.Length))
	}
	return a, nil
}

// Bins is the number of elements of the transform of real numbers that are not conjugates of others.
func (a FourierAttrs) Bins() int { return a.Length/2 + 1 } //dim:known transforms have a fixed length

func (a FourierAttrs) checkLength(x Type, want int) error {
	if !dim.MayEqual(x.Shape[a.Axis], want) {
		return fmt.Errorf("axis %d of %v must have length %d for a transform of length %d", a.Axis, x, want, a.Length)
	}
	return nil
}

func inferFourier(in []Type, attrs Attrs) ([]Type, error) {
	a, err := fourierOperands(in, attrs, false)
	if err == nil {
		err = a.checkLength(in[0], a.Length)
	}
	return []Type{in[0], in[0]}, err
}

func inferRealFourier(in []Type, attrs Attrs) ([]Type, error) {
	a, err := fourierOperands(in, attrs, true)
	if err != nil {
		return nil, err
	}
	y := Type{in[0].DType, in[0].Shape.Clone()}
	y.Shape[a.Axis] = a.Bins()
	return []Type{y, y}, a.checkLength(in[0], a.Length)
}

func inferHermitianFourier(in []Type, attrs Attrs) ([]Type, error) {
	a, err := fourierOperands(in, attrs, true)
	if err != nil {
		return nil, err
	}
	y := Type{in[0].DType, in[0].Shape.Clone()}
	y.Shape[a.Axis] = a.Length
	return []Type{y}, a.checkLength(in[0], a.Bins())
}

// decomposeFourier makes products with small matrices: for n = p·q, transforms of length p, a product with
// exp(-2πi·jk/n), and transforms of length q (Cooley and Tukey 1965). All factors are computed in float64.
func decomposeFourier(b *builder, n *Node) []Value {
	in, a := b.wideAll(n.Inputs), n.Attrs.(FourierAttrs)
	perm := upTo(len(b.shape(in[0])))
	last := len(perm) - 1
	perm[a.Axis], perm[last] = last, a.Axis
	swap := func(v Value) Value {
		if a.Axis == last {
			return v
		}
		return b.transpose(v, perm...)
	}
	re, im := b.fourier(swap(in[0]), swap(in[1]), a.Length)
	return b.narrow(n.Inputs[0], swap(re), swap(im))
}

func decomposeRealFourier(b *builder, n *Node) []Value {
	in, a := b.wideAll(n.Inputs), n.Attrs.(FourierAttrs)
	y := b.ops(Fourier, a, in[0], b.zeros(b.typ(in[0])))
	return b.narrow(n.Inputs[0], b.cutLast(y[0], 0, a.Bins()), b.cutLast(y[1], 0, a.Bins()))
}

// decomposeHermitianFourier adds the conjugates. The inverse transform is the transform with real and imaginary parts
// exchanged before and after.
//
//dim:known transforms have a fixed length
func decomposeHermitianFourier(b *builder, n *Node) []Value {
	in, a := b.wideAll(n.Inputs), n.Attrs.(FourierAttrs)
	keep := make([]float64, a.Bins()) // 0 for the imaginary parts that a real signal does not have
	for i := 1; 2*i < a.Length; i++ {
		keep[i] = 1
	}
	t := b.typ(in[1])
	im := b.mul(in[1], b.spread(b.floats(t.DType, keep, len(keep)), t.Shape, upTo(a.Axis)...))
	mirrored := func(v Value) Value {
		return b.op(Reverse, AxesAttrs{[]int{a.Axis}}, b.cutLast(v, 1, (a.Length+1)/2))
	}
	axis := AxisAttrs{a.Axis}
	re := b.op(Concat, axis, in[0], mirrored(in[0]))
	im = b.op(Concat, axis, im, b.op(Neg, nil, mirrored(im)))
	return b.narrow(n.Inputs[0], b.ops(Fourier, a, im, re)[1])
}

func (b *builder) floats(d DType, x []float64, shape ...int) Value {
	l, err := Floats(d, shape, x)
	if err != nil {
		panic(buildError{err})
	}
	return b.op(Constant, ConstantAttrs{l})
}

// cutLast cuts elements out of the last axis.
func (b *builder) cutLast(v Value, from, to int) Value {
	s := b.shape(v)
	start, limit, stride := make([]int, len(s)), s.Clone(), make([]int, len(s))
	for i := range stride {
		stride[i] = 1
	}
	start[len(s)-1], limit[len(s)-1] = from, to
	return b.op(Slice, SliceAttrs{start, limit, stride}, v)
}

// fourier is the transform along the last axis.
//
//dim:known transforms have a fixed length
func (b *builder) fourier(re, im Value, n int) (Value, Value) {
	p := int(math.Sqrt(float64(n)))
	for ; p > 1 && n%p != 0; p-- {
	}
	switch {
	case p == 1 && n > LargestFourierPrime:
		return b.fourierChirp(re, im, n)
	case n <= largestFourierMatrix || p == 1:
		return b.fourierProduct(re, im, n)
	}
	q := n / p
	s := b.shape(re)
	rank := len(s) + 1
	perm := upTo(rank)
	perm[rank-2], perm[rank-1] = rank-1, rank-2
	swap := func(v Value) Value { return b.transpose(v, perm...) }
	fold := func(v Value) Value { return swap(b.reshape(v, append(s[:len(s)-1].Clone(), p, q)...)) }
	re, im = b.fourier(fold(re), fold(im), p)
	cos, sin := make([]float64, n), make([]float64, n)
	for j := range q {
		for k := range p {
			sin[j*p+k], cos[j*p+k] = SincosTurn(j*k%n, n)
		}
	}
	re, im = b.turned(re, im, cos, sin, q, p)
	re, im = b.fourier(swap(re), swap(im), q)
	return b.reshape(swap(re), s...), b.reshape(swap(im), s...)
}

// turned multiplies complex numbers by cos - i·sin over the last axes.
func (b *builder) turned(re, im Value, cos, sin []float64, shape ...int) (Value, Value) {
	t := b.typ(re)
	axes := upTo(len(t.Shape) - len(shape))
	c, d := b.spread(b.floats(t.DType, cos, shape...), t.Shape, axes...), b.spread(b.floats(t.DType, sin, shape...), t.Shape, axes...)
	return b.add(b.mul(re, c), b.mul(im, d)), b.sub(b.mul(im, c), b.mul(re, d))
}

// fourierChirp is the transform as a convolution (Bluestein 1970), which is computed by transforms whose length is a
// power of two: with w[t] = exp(-πi·t²/n), X[k] = w[k]·Σ_t (x[t]·w[t])·conj(w[k-t]).
//
//dim:known transforms have a fixed length
func (b *builder) fourierChirp(re, im Value, n int) (Value, Value) {
	m := 1
	for m < 2*n-1 {
		m *= 2
	}
	cos, sin, kernel := make([]float64, n), make([]float64, n), make([]complex128, m)
	for t := range n {
		sin[t], cos[t] = SincosTurn(t*t%(2*n), 2*n)
		kernel[t] = complex(cos[t]/float64(m), sin[t]/float64(m))
		kernel[(m-t)%m] = kernel[t]
	}
	kernel = transformed(kernel)
	kernelCos, kernelSin := make([]float64, m), make([]float64, m)
	for k, v := range kernel {
		kernelCos[k], kernelSin[k] = real(v), -imag(v)
	}
	re, im = b.turned(re, im, cos, sin, n)
	re, im = b.fourier(b.padLast(re, m), b.padLast(im, m), m)
	re, im = b.turned(re, im, kernelCos, kernelSin, m)
	im, re = b.fourier(im, re, m) // the inverse transform
	return b.turned(b.cutLast(re, 0, n), b.cutLast(im, 0, n), cos, sin, n)
}

// padLast pads the last axis with zeros.
func (b *builder) padLast(v Value, n int) Value {
	t := b.typ(v)
	s := t.Shape.Clone()
	s[len(s)-1] = dim.Sub(n, s[len(s)-1])
	return b.op(Concat, AxisAttrs{len(s) - 1}, v, b.zeros(Type{t.DType, s}))
}

// transformed is the Fourier transform of numbers whose count is a power of two.
func transformed(x []complex128) []complex128 {
	if len(x) == 1 {
		return x
	}
	half := len(x) / 2
	parts := [2][]complex128{make([]complex128, half), make([]complex128, half)}
	for t, v := range x {
		parts[t%2][t/2] = v
	}
	even, odd, y := transformed(parts[0]), transformed(parts[1]), make([]complex128, len(x))
	for k := range half {
		sin, cos := SincosTurn(k, len(x))
		turned := odd[k] * complex(cos, -sin)
		y[k], y[half+k] = even[k]+turned, even[k]-turned
	}
	return y
}

// fourierProduct is the transform as one product with a matrix: [re im]·[C -S; S C].
//
//dim:known transforms have a fixed length
func (b *builder) fourierProduct(re, im Value, n int) (Value, Value) {
	m := make([]float64, 4*n*n)
	for t := range n {
		for k := range n {
			sin, cos := SincosTurn(t*k%n, n)
			m[t*2*n+k], m[t*2*n+n+k] = cos, -sin
			m[(n+t)*2*n+k], m[(n+t)*2*n+n+k] = sin, cos
		}
	}
	t := b.typ(re)
	lead := t.Shape[:len(t.Shape)-1]
	x := b.reshape(b.op(Concat, AxisAttrs{len(lead)}, re, im), lead.Size(), 2*n)
	y := b.op(Dot, DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, b.floats(t.DType, m, 2*n, 2*n))
	y = b.reshape(y, append(lead.Clone(), 2*n)...)
	return b.cutLast(y, 0, n), b.cutLast(y, n, 2*n)
}

// SincosTurn returns sine and cosine of 2π·k/n, for 0 <= k < n, exact at quarters.
//
//dim:known transforms have a fixed length
func SincosTurn(k, n int) (sin, cos float64) {
	quarter, rest := 4*k/n, 4*k%n
	sin, cos = math.Sincos(math.Pi / 2 * float64(rest) / float64(n))
	for range quarter {
		sin, cos = cos, -sin
	}
	return sin, cos
}
