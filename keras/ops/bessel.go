package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// I0 returns the modified Bessel function of the first kind and order 0. Up to |x| = 18 it is the series Σ (x²/4)^k / (k!)² (Abramowitz,
// Stegun, 9.6.10), all of whose terms are positive, beyond that the asymptotic one e^|x|/sqrt(2π|x|) · Σ Π (2j-1)² / (8·j·|x|) (9.7.1).
func I0(x *Tensor) *Tensor {
	x = Abs(float(x))
	const border, terms, more = 18, 50, 24
	isLarge := CompareScalar(ir.Gt, x, border)
	small := Where(isLarge, ZerosLike(x), x)
	large := Where(isLarge, x, FullLike(x, border))
	quarter := MultiplyScalar(Square(small), 0.25)
	near := OnesLike(x)
	for k := terms; k > 0; k-- { // Horner's scheme
		near = AddScalar(MultiplyScalar(Multiply(quarter, near), 1/float64(k*k)), 1)
	}
	u := Reciprocal(MultiplyScalar(large, 8))
	far := OnesLike(x)
	for j := more; j > 0; j-- {
		far = AddScalar(MultiplyScalar(Multiply(u, far), float64((2*j-1)*(2*j-1))/float64(j)), 1)
	}
	// The exponential in two parts, so that it overflows no earlier than the result.
	half := Exp(MultiplyScalar(large, 0.5))
	far = Multiply(Multiply(half, Multiply(far, Rsqrt(MultiplyScalar(large, 2*math.Pi)))), half)
	return Where(isLarge, far, near)
}
