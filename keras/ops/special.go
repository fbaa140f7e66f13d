package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Lgamma returns ln|Γ(x)|.
func Lgamma(x *Tensor) *Tensor { return unaryFloat(ir.Lgamma, x) }

// Digamma returns the logarithmic derivative of the gamma function. Below 1/2 it uses ψ(x) = ψ(1-x) - π/tan(πx); then
// ψ(x) = ψ(x+8) - Σ 1/(x+k) and the asymptotic series of ψ (Abramowitz, Stegun, 6.3.5, 6.3.7, 6.3.18), which leaves an
// error below 1e-14.
func Digamma(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		const shift = 8
		mirrored := CompareScalar(ir.Lt, x, 0.5)
		z := Where(mirrored, Subtract(OnesLike(x), x), x)
		w := AddScalar(z, shift)
		u := Reciprocal(Square(w))
		series := ZerosLike(x)
		for _, c := range []float64{1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12} {
			series = Multiply(AddScalar(series, c), u)
		}
		psi := Subtract(Subtract(Log(w), Divide(Scalar(w, 0.5), w)), series)
		for k := range shift {
			psi = Subtract(psi, Reciprocal(AddScalar(z, float64(k))))
		}
		safe := Where(mirrored, x, FullLike(x, 0.25))
		fraction := Subtract(safe, Round(safe)) // exact
		reflection := Divide(Scalar(x, math.Pi), Tan(MultiplyScalar(fraction, math.Pi)))
		pole := LogicalAnd(CompareScalar(ir.Eq, fraction, 0), CompareScalar(ir.Lt, x, 0))
		reflection = Where(pole, FullLike(x, math.NaN()), reflection)
		return Subtract(psi, Where(mirrored, reflection, ZerosLike(x)))
	})
}

func init() {
	derive(ir.Lgamma, func(x, _ *Tensor) *Tensor { return Digamma(x) })
}
