package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Lgamma returns ln|Γ(x)|.
func Lgamma(x *Tensor) *Tensor { return unaryFloat(ir.Lgamma, x) }

// Digamma returns the logarithmic derivative of the gamma function. Below 1/2 it uses ψ(x) = ψ(1-x) - π/tan(πx). In
// float64, the rest is ψ(x+8) - Σ 1/(x+k) with the asymptotic series of ψ (Abramowitz, Stegun, 6.3.5, 6.3.7, 6.3.18),
// whose error is below 1e-14. In other types it is, up to 3, a quotient times the distance from the zero of ψ, and the
// asymptotic series beyond.
func Digamma(x *Tensor) *Tensor {
	return withSlope(x, digamma, func(x, dy *Tensor) *Tensor { return Multiply(dy, trigamma(x)) })
}

const gammaShift = 8

func digamma(x *Tensor) *Tensor {
	mirrored, z := aboveHalf(x)
	of := digammaOfSingle
	if x.DType() == ir.Float64 {
		of = digammaOfDouble
	}
	safe := Where(mirrored, x, FullLike(x, 0.25))
	fraction := Subtract(safe, Round(safe)) // exact
	reflection := Divide(Scalar(x, math.Pi), Tan(MultiplyScalar(fraction, math.Pi)))
	pole := LogicalAnd(CompareScalar(ir.Eq, fraction, 0), CompareScalar(ir.Lt, x, 0))
	reflection = Where(pole, FullLike(x, math.NaN()), reflection)
	return Subtract(of(z), Where(mirrored, reflection, ZerosLike(x)))
}

// aboveHalf returns x, or 1 - x where that is larger than x.
func aboveHalf(x *Tensor) (mirrored, z *Tensor) {
	mirrored = CompareScalar(ir.Lt, x, 0.5)
	return mirrored, Where(mirrored, Subtract(OnesLike(x), x), x)
}

func digammaOfDouble(z *Tensor) *Tensor {
	w := AddScalar(z, gammaShift)
	u := Reciprocal(Square(w))
	series := Multiply(u, horner(u, []float64{1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12}))
	psi := Subtract(Subtract(Log(w), Divide(Scalar(w, 0.5), w)), series)
	for k := range gammaShift {
		psi = Subtract(psi, Reciprocal(AddScalar(z, float64(k))))
	}
	return psi
}

// digammaOfSingle has minimax approximations, to 5e-8.
func digammaOfSingle(z *Tensor) *Tensor {
	const border, zero, rest = 3, 1.461632132530212, 1.2438149938918909e-08 // the zero of ψ is zero + rest
	near, far := MinimumScalar(z, border), MaximumScalar(z, border)
	quotient := Divide(horner(near, []float64{7819.68457, 19537.8438, 8588.5957, 589.902405}),
		horner(near, []float64{1, 11418.9873, 14192.6953, 3481.75635, 125.494873}))
	v := Reciprocal(far)
	series := Multiply(v, AddScalar(Multiply(v, horner(Square(v), []float64{0.0833324119, -0.00828638114, 0.0032323224})), 0.5))
	return Where(CompareScalar(ir.Gt, z, border), Subtract(Log(far), series), Multiply(SubtractScalar(SubtractScalar(near, zero), rest), quotient))
}

// trigamma is the derivative of ψ: Σ 1/(x+k)² and the asymptotic series, or π²/sin²(πx) minus the trigamma of 1 - x.
func trigamma(x *Tensor) *Tensor {
	mirrored, z := aboveHalf(x)
	w := AddScalar(z, gammaShift)
	v := Reciprocal(w)
	u := Square(v)
	slope := Multiply(v, AddScalar(Multiply(v, AddScalar(Multiply(v, horner(u, []float64{1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6})), 0.5)), 1))
	for k := range gammaShift {
		slope = Add(slope, Square(Reciprocal(AddScalar(z, float64(k)))))
	}
	safe := Where(mirrored, x, FullLike(x, 0.5))
	sine := Sin(MultiplyScalar(Subtract(safe, Round(safe)), math.Pi))
	return Where(mirrored, Subtract(Square(Divide(Scalar(x, math.Pi), sine)), slope), slope)
}

func init() {
	derive(ir.Lgamma, func(x, _ *Tensor) *Tensor { return Digamma(x) })
}
