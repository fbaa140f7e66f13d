package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

const (
	// binomialCandidates is how many candidates are drawn for each number of [RandomBinomial] with a mean of 10 or
	// more. Each is accepted with a probability of at least 0.68, so the probability that all are rejected is at most
	// 10^-12. Then the result is the rounded mean.
	binomialCandidates = 24
	// binomialSteps is how far numbers with smaller means are counted: at most a share of 10^-20 lies beyond.
	binomialSteps = 64
)

// RandomBinomial returns binomially distributed numbers: how many of counts trials succeed, each with the given
// probability. counts and probabilities are tensors of a float type, and broadcast to the shape of the result. counts
// are whole and at least 0, probabilities from 0 to 1; others give NaN. The result has the type of probabilities. Every
// step, every replica and every call draws new numbers; see [RandomBits]. There is no gradient.
//
// If the mean is below 10, the distribution function is inverted; above, candidates are accepted or rejected. Source:
// Hörmann, "The Generation of Binomial Random Variates", Journal of Statistical Computation and Simulation 46, 1993
// (algorithm BTRS). Behaviour of keras.random.binomial.
func RandomBinomial(counts, probabilities *Tensor, seed uint64, shape ...int) *Tensor {
	g, dtype := probabilities.g, probabilities.DType()
	needFloat(g, "random binomial", dtype)
	for _, t := range []*Tensor{counts, probabilities} {
		if s, err := ir.BroadcastShapes(t.Shape(), shape); err != nil || !s.Equal(shape) {
			Failf(g, "random binomial: parameters of shape %v do not fit the shape %v", t.Shape(), shape)
		}
	}
	// The differences of logarithms below cancel digits.
	wide := func(t *Tensor) *Tensor { return BroadcastTo(StopGradient(Cast(t, ir.Float64)), shape...) }
	n, given := wide(counts), wide(probabilities)
	turned := CompareScalar(ir.Gt, given, 0.5) // the rarer of the two outcomes is counted
	p := Where(turned, Subtract(OnesLike(given), given), given)
	valid := LogicalAnd(LogicalAnd(CompareScalar(ir.Ge, p, 0), CompareScalar(ir.Ge, n, 0)), Equal(n, Floor(n)))
	n, p = Where(valid, n, ZerosLike(n)), Where(valid, p, ZerosLike(p))
	b := binomial{n: n, p: p, seed: seed, shape: shape}
	large := CompareScalar(ir.Ge, Multiply(n, p), 10)
	x := Where(large, b.rejected(large), b.counted(large))
	x = Where(turned, Subtract(n, x), x)
	return Cast(Where(valid, x, FullLike(x, math.NaN())), dtype)
}

// binomial holds the parameters of draws, with probabilities up to one half.
type binomial struct {
	n, p  *Tensor
	seed  uint64
	shape []int
}

// counted inverts the distribution function: the result is how many of its values are at or below u, uniform in [0, 1).
func (b binomial) counted(large *Tensor) *Tensor {
	n, p := Where(large, ZerosLike(b.n), b.n), b.p
	u := unitInterval(n.g, ir.Float64, b.seed, b.shape)
	odds := Divide(p, Subtract(OnesLike(p), p))
	share := Exp(Multiply(n, Log1p(Negative(p)))) // probability of 0
	below, x := share, ZerosLike(n)
	for k := range binomialSteps {
		x = Add(x, Cast(LogicalAnd(GreaterEqual(u, below), CompareScalar(ir.Gt, n, float64(k))), ir.Float64))
		share = Multiply(share, Multiply(odds, MultiplyScalar(AddScalar(n, float64(-k)), 1/float64(k+1))))
		below = Add(below, MaximumScalar(share, 0))
	}
	return x
}

// rejected draws candidates under a hat function and takes the first that lies below the distribution.
func (b binomial) rejected(large *Tensor) *Tensor {
	n, p := Where(large, b.n, FullLike(b.n, 40)), Where(large, b.p, FullLike(b.p, 0.5))
	q := Subtract(OnesLike(p), p)
	deviation := Sqrt(Multiply(Multiply(n, p), q))
	hat := AddScalar(MultiplyScalar(deviation, 2.53), 1.15)
	a := AddScalar(Add(MultiplyScalar(hat, 0.0248), MultiplyScalar(p, 0.01)), -0.0873)
	centre := AddScalar(Multiply(n, p), 0.5)
	inner := Subtract(FullLike(hat, 0.92), Divide(FullLike(hat, 4.2), hat))
	alpha := Multiply(AddScalar(Divide(FullLike(hat, 5.1), hat), 2.83), deviation)
	mode, odds := Floor(Multiply(AddScalar(n, 1), p)), Divide(p, q)

	many := append([]int{binomialCandidates}, b.shape...)
	u := AddScalar(unitInterval(n.g, ir.Float64, b.seed, many), -0.5)
	v := Subtract(OnesLike(u), unitInterval(n.g, ir.Float64, b.seed, many))
	us := Subtract(FullLike(u, 0.5), Abs(u))
	k := Floor(Add(Multiply(Add(Divide(MultiplyScalar(a, 2), us), hat), u), centre))
	inside := LogicalAnd(CompareScalar(ir.Ge, k, 0), LessEqual(k, n))
	quick := LogicalAnd(CompareScalar(ir.Ge, us, 0.07), LessEqual(v, inner))
	k = Where(inside, k, ZerosLike(k))
	height := Log(Divide(Multiply(v, alpha), Add(Divide(a, Square(us)), hat)))
	rest := func(k *Tensor) *Tensor { return Subtract(n, k) }
	bound := Add(Add(
		Multiply(AddScalar(mode, 0.5), Log(Divide(AddScalar(mode, 1), Multiply(odds, AddScalar(rest(mode), 1))))),
		Multiply(AddScalar(n, 1), Log(Divide(AddScalar(rest(mode), 1), AddScalar(rest(k), 1))))),
		Multiply(AddScalar(k, 0.5), Log(Divide(Multiply(odds, AddScalar(rest(k), 1)), AddScalar(k, 1)))))
	tails := Subtract(Add(stirlingTail(mode), stirlingTail(rest(mode))), Add(stirlingTail(k), stirlingTail(rest(k))))
	taken := LogicalAnd(inside, LogicalOr(quick, LessEqual(height, Add(bound, tails))))

	result := Floor(centre)
	for i := binomialCandidates - 1; i >= 0; i-- {
		result = Where(Index(taken, 0, i), Index(k, 0, i), result)
	}
	return result
}

// stirlingTail is log(k!) minus Stirling's approximation (k+½)·log(k+1) - (k+1) + ½·log 2π.
func stirlingTail(k *Tensor) *Tensor {
	x := AddScalar(k, 1)
	square := Square(x)
	from := func(c float64, y *Tensor) *Tensor { return Subtract(FullLike(y, c), y) }
	series := Divide(from(1.0/12, Divide(from(1.0/360, Divide(FullLike(x, 1.0/1260), square)), square)), x)
	exact := Subtract(Lgamma(x), Add(Subtract(Multiply(AddScalar(k, 0.5), Log(x)), x), FullLike(x, math.Log(2*math.Pi)/2)))
	return Where(CompareScalar(ir.Lt, k, 10), exact, series)
}
