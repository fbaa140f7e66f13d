package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// gammaCandidates is how many candidates are drawn for each number of [RandomGamma]. Each is accepted with a
// probability of at least 0.95, so the probability that all are rejected is at most 4·10^-11. Then the last one is
// used.
const gammaCandidates = 8

// RandomGamma returns numbers of the gamma distribution with shape parameter alpha and scale 1, whose density at x > 0
// is x^(alpha-1)·exp(-x)/Γ(alpha). alpha is a tensor of a float type, positive, and is broadcast to the shape of the
// result, which has its type. Every step, every replica and every call draws new numbers; see [RandomBits]. There is no
// gradient with respect to alpha.
//
// With a = alpha+1, d = a - 1/3, c = 1/sqrt(9d), z normal and u uniform in (0, 1], a candidate is d·v for v = (1 +
// c·z)³. It is accepted if v > 0 and ln u < z²/2 + d·(1 - v + ln v), and is then multiplied by w^(1/alpha) for another
// number w distributed like u. Source: Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", TOMS
// 2000. Behaviour of keras.random.gamma.
func RandomGamma(alpha *Tensor, seed uint64, shape ...int) *Tensor {
	return Cast(Exp(logGamma("random gamma", alpha, seed, shape)), alpha.DType())
}

// RandomBeta returns numbers of the beta distribution: x/(x+y) for x and y of [RandomGamma] with parameters alpha and
// beta. It is computed from their logarithms, so that small parameters give numbers near 0 and 1 and not NaN. The
// density at x in (0, 1) is proportional to x^(alpha-1)·(1-x)^(beta-1). Behaviour of keras.random.beta.
func RandomBeta(alpha, beta *Tensor, seed uint64, shape ...int) *Tensor {
	x, y := logGamma("random beta", alpha, seed, shape), logGamma("random beta", beta, seed, shape)
	return Cast(Sigmoid(Subtract(x, y)), alpha.DType())
}

// RandomDirichlet returns vectors of the symmetric Dirichlet distribution along the last axis of the shape: numbers of
// [RandomGamma] divided by their sum, computed from their logarithms.
func RandomDirichlet(alpha *Tensor, seed uint64, shape ...int) *Tensor {
	if len(shape) == 0 || shape[len(shape)-1] < 1 {
		Failf(alpha.Graph(), "random dirichlet: needs a shape whose last axis has at least one element, received %v", shape)
	}
	return Cast(Softmax(logGamma("random dirichlet", alpha, seed, shape), -1), alpha.DType())
}

// logGamma returns the logarithms of gamma-distributed numbers, in at least single precision.
func logGamma(what string, alpha *Tensor, seed uint64, shape []int) *Tensor {
	g := alpha.Graph()
	needFloat(g, what, alpha.DType())
	if s, err := ir.BroadcastShapes(alpha.Shape(), shape); err != nil || !s.Equal(shape) {
		Failf(g, "%s: parameters of shape %v do not fit the shape %v", what, alpha.Shape(), shape)
	}
	wide := wider(alpha.DType())
	alpha = BroadcastTo(StopGradient(Cast(alpha, wide)), shape...)
	unit := func(shape ...int) *Tensor { // uniform in (0, 1]
		return Subtract(Ones(g, wide), unitInterval(g, wide, seed, shape))
	}
	many := append([]int{gammaCandidates}, shape...)
	d := AddScalar(alpha, 2.0/3)
	c := Rsqrt(MultiplyScalar(d, 9))
	z := MultiplyScalar(Erfinv(openInterval(g, wide, seed, many)), math.Sqrt2)
	root := AddScalar(Multiply(c, z), 1)
	positive := CompareScalar(ir.Gt, root, 0)
	logV := MultiplyScalar(Log(Where(positive, root, OnesLike(root))), 3)
	bound := Add(MultiplyScalar(Square(z), 0.5), Multiply(d, Subtract(AddScalar(logV, 1), Exp(logV))))
	taken := LogicalAnd(positive, Less(Log(unit(many...)), bound))
	result := Index(logV, 0, gammaCandidates-1)
	for i := gammaCandidates - 2; i >= 0; i-- {
		result = Where(Index(taken, 0, i), Index(logV, 0, i), result)
	}
	return Add(Add(result, Log(d)), Divide(Log(unit(shape...)), alpha))
}
