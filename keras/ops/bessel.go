package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// I0 returns the modified Bessel function of the first kind and order 0. In float64, up to |x| = 18, it is the series Σ
// (x²/4)^k / (k!)² (Abramowitz, Stegun, 9.6.10), all of whose terms are positive. Beyond that it is the asymptotic
// series e^|x|/sqrt(2π|x|) · Σ Π (2j-1)² / (8·j·|x|) (9.7.1). Other types use minimax approximations of the same forms,
// which meet at |x| = 6. The derivative is the function of order 1.
func I0(x *Tensor) *Tensor { return wide(x, besselI0) }

func besselI0(x *Tensor) *Tensor {
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		return []*Tensor{bessel(xs[0], 0)}, func(dys []*Tensor) []*Tensor { return []*Tensor{Multiply(dys[0], bessel1(xs[0]))} }
	}, x)[0]
}

// bessel1 is the function of order 1. Its derivative is I0(x) - I1(x)/x, which is one half at 0.
func bessel1(x *Tensor) *Tensor {
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		y := bessel(xs[0], 1)
		return []*Tensor{y}, func(dys []*Tensor) []*Tensor {
			isZero := CompareScalar(ir.Eq, xs[0], 0)
			slope := Subtract(I0(xs[0]), Divide(y, Where(isZero, OnesLike(y), xs[0])))
			return []*Tensor{Multiply(dys[0], Where(isZero, FullLike(y, 0.5), slope))}
		}
	}, x)[0]
}

// bessel is the function of order 0 or 1: (|x|/2)^order · Σ (x²/4)^k / (k!·(k+order)!), or e^|x|/sqrt(2π|x|) · Σ Π
// ((2j-1)² - 4·order²) / (8·j·|x|), with the sign of x for order 1.
func bessel(signed *Tensor, order int) *Tensor {
	x := Abs(signed)
	border, nearFactors, farFactors := 6.0, besselNear[order], besselFar[order]
	if x.DType() == ir.Float64 {
		border = 18 // where the second series takes over; there both are exact to the type's precision
		nearFactors = series(50, 1, func(k int) float64 { return 1 / float64(k*(k+order)) })
		farFactors = series(24, math.Exp(besselShift)/math.Sqrt(2*math.Pi), func(j int) float64 { return float64((2*j-1)*(2*j-1)-4*order*order) / float64(j) })
	}
	isLarge := CompareScalar(ir.Gt, x, border)
	small := Where(isLarge, ZerosLike(x), x)
	large := MinimumScalar(Where(isLarge, x, FullLike(x, border)), 1e4) // so that no factor is infinite where the function is
	quarter := MultiplyScalar(Square(small), 0.25)
	near := horner(quarter, nearFactors)
	far := horner(Reciprocal(MultiplyScalar(large, 8)), farFactors)
	// The exponential is taken of a smaller number, so that it does not overflow before the result does. The factors
	// make up for it.
	far = Multiply(Exp(SubtractScalar(large, besselShift)), Multiply(far, Rsqrt(large)))
	if order == 1 {
		near = Multiply(near, MultiplyScalar(small, 0.5))
		return Multiply(Sign(signed), Where(isLarge, far, near))
	}
	return Where(isLarge, far, near)
}

const besselShift = 4

// Minimax approximations of orders 0 and 1 with fewer terms than the series, to 3e-8 and 2e-8: in x²/4 up to 6, and in
// 1/(8x) beyond, there times e^besselShift/sqrt(2π).
var (
	besselNear = [2][]float64{
		{1, 0.99999994, 0.250000358, 0.0277771875, 0.00173656724, 6.9259353e-05, 1.97094005e-06, 3.40842092e-08, 9.53264023e-10},
		{1, 0.5, 0.083333388, 0.00694436487, 0.000347278808, 1.15525891e-05, 2.80185276e-07, 4.36449676e-09, 1.02769827e-10},
	}
	besselFar = [2][]float64{
		{21.7815094, 21.7827168, 97.366272, 936.870605, 1804.92493, 231530.766, 13091201},
		{21.7815113, -65.3458252, -162.685242, -1263.14868, -5470.76953, -179104.188, -16832734},
	}
)

// series returns the factors of first · (1 + Σ_k x^k · Π_(i≤k) next(i)), up to k = terms.
func series(terms int, first float64, next func(k int) float64) []float64 {
	factors := []float64{first}
	for k := range terms {
		factors = append(factors, factors[k]*next(k+1))
	}
	return factors
}

// horner is the polynomial Σ_k factors[k]·x^k.
func horner(x *Tensor, factors []float64) *Tensor {
	last := len(factors) - 1
	y := FullLike(x, factors[last])
	for k := last - 1; k >= 0; k-- {
		y = AddScalar(Multiply(y, x), factors[k])
	}
	return y
}
