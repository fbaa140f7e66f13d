package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// I0 returns the modified Bessel function of the first kind and order 0. Up to |x| = 10, in float64 18, it is the
// series Σ (x²/4)^k / (k!)² (Abramowitz, Stegun, 9.6.10), all of whose terms are positive, beyond that the asymptotic
// one e^|x|/sqrt(2π|x|) · Σ Π (2j-1)² / (8·j·|x|) (9.7.1). Its derivative is the function of order 1.
func I0(x *Tensor) *Tensor { return wide(x, besselI0) }

func besselI0(x *Tensor) *Tensor {
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		return []*Tensor{bessel(xs[0], 0)}, func(dys []*Tensor) []*Tensor { return []*Tensor{Multiply(dys[0], bessel1(xs[0]))} }
	}, x)[0]
}

// bessel1 is the function of order 1, whose derivative is I0(x) - I1(x)/x, at 0 one half.
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
	// Where the series end and the second one takes over: both are then exact to the type's precision.
	border, terms, more := 10.0, 18, 12
	if x.DType() == ir.Float64 {
		border, terms, more = 18, 50, 24
	}
	isLarge := CompareScalar(ir.Gt, x, border)
	small := Where(isLarge, ZerosLike(x), x)
	large := MinimumScalar(Where(isLarge, x, FullLike(x, border)), 1e4) // where the function is infinite, none of its factors is
	quarter := MultiplyScalar(Square(small), 0.25)
	near := horner(quarter, terms, func(k int) float64 { return 1 / float64(k*(k+order)) })
	far := horner(Reciprocal(MultiplyScalar(large, 8)), more, func(j int) float64 { return float64((2*j-1)*(2*j-1)-4*order*order) / float64(j) })
	// The exponential in two parts, so that it overflows no earlier than the result.
	half := Exp(MultiplyScalar(large, 0.5))
	far = Multiply(Multiply(half, Multiply(far, Rsqrt(MultiplyScalar(large, 2*math.Pi)))), half)
	if order == 1 {
		near = Multiply(near, MultiplyScalar(small, 0.5))
		return Multiply(Sign(signed), Where(isLarge, far, near))
	}
	return Where(isLarge, far, near)
}

// horner is the polynomial 1 + Σ_k x^k · Π_(i≤k) next(i), up to k = terms.
func horner(x *Tensor, terms int, next func(k int) float64) *Tensor {
	factors := []float64{1}
	for k := range terms {
		factors = append(factors, factors[k]*next(k+1))
	}
	y := FullLike(x, factors[terms])
	for k := terms - 1; k >= 0; k-- {
		y = AddScalar(Multiply(y, x), factors[k])
	}
	return y
}
