package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomBits returns uniformly distributed uint32 numbers. They are a function of the random state of the trace (seed,
// step, replica), the position in the model, seed and the element's index, and of nothing else (Philox4x32-10; Salmon
// et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011): the same program draws the same numbers on every
// backend. Inside the body of a loop every step draws the same numbers.
func RandomBits(t Traced, seed uint64, shape ...int) *Tensor {
	g := graphFor(t)
	return g.add(ir.RngBits, ir.RngAttrs{Shape: append(ir.Shape{}, shape...), Stream: g.Stream(seed)}, g.RandomState())[0]
}

// RandomUniform returns numbers uniformly distributed in [low, high). Every step, every replica and every call draws
// new numbers, even if calls have the same seed, so 0 will do. Models that are made with equal seeds draw equal
// numbers. See [RandomBits].
func RandomUniform(t Traced, dtype ir.DType, low, high float64, seed uint64, shape ...int) *Tensor {
	g := graphFor(t)
	needFloat(g, "random uniform", dtype)
	if !(low < high) {
		Failf(g, "random uniform: the range [%v, %v) is empty; low must be below high", low, high)
	}
	unit := unitInterval(g, dtype, seed, shape)
	if low == 0 && high == 1 {
		return unit
	}
	// Rounding in the last operation could give high itself.
	below := largestBelow(dtype, high)
	return MinimumScalar(AddScalar(MultiplyScalar(unit, high-low), low), below)
}

// RandomNormal returns normally distributed numbers: mean + stddev · sqrt(2) · erfinv(u) for u uniform in (-1, 1).
// Every step, every replica and every call draws new numbers, even if calls have the same seed, so 0 will do. In a
// layer:
//
//	noise := ops.RandomNormal(c, x.DType(), 0, 1, 0, x.Shape()...)
//
// Models that are made with equal seeds draw equal numbers. See [RandomBits].
func RandomNormal(t Traced, dtype ir.DType, mean, stddev float64, seed uint64, shape ...int) *Tensor {
	g := graphFor(t)
	needFloat(g, "random normal", dtype)
	wide := wider(dtype)
	z := MultiplyScalar(Erfinv(openInterval(g, wide, seed, shape)), math.Sqrt2)
	return Cast(AddScalar(MultiplyScalar(z, stddev), mean), dtype)
}

// TruncatedNormal returns numbers of the normal distribution without those farther than two standard deviations from
// the mean: mean + stddev · sqrt(2) · erfinv(u) for u uniform between erf(-2/sqrt(2)) and erf(2/sqrt(2)).
func TruncatedNormal(t Traced, dtype ir.DType, mean, stddev float64, seed uint64, shape ...int) *Tensor {
	g := graphFor(t)
	needFloat(g, "truncated normal", dtype)
	wide := wider(dtype)
	u := MultiplyScalar(openInterval(g, wide, seed, shape), math.Erf(math.Sqrt2))
	z := Clip(MultiplyScalar(Erfinv(u), math.Sqrt2), -2, 2)
	return Cast(AddScalar(MultiplyScalar(z, stddev), mean), dtype)
}

// Dropout zeroes each element with probability rate and multiplies the others by 1/(1-rate), which preserves the
// expected value. The gradient passes through the same elements with the same factor. Source: Srivastava et al., JMLR
// 2014.
func Dropout(x *Tensor, rate float64, seed uint64) *Tensor {
	g := x.Graph()
	if !(rate >= 0 && rate < 1) {
		Failf(g, "dropout: the rate must be at least 0 and below 1, received %v", rate)
	}
	if rate == 0 {
		return x
	}
	return apply1(ir.Dropout, ir.DropoutAttrs{Rate: rate, Stream: g.Stream(seed)}, float(x), g.RandomState()).WithMask(x.mask)
}

func needFloat(g *Graph, what string, dtype ir.DType) {
	if !dtype.IsFloat() {
		Failf(g, "%s: needs a float type, received %v", what, dtype)
	}
}

// wider is the type that random numbers of dtype are computed in.
func wider(dtype ir.DType) ir.DType {
	if dtype == ir.Float64 {
		return dtype
	}
	return ir.Float32
}

// largestBelow is the largest number of the type that is less than v.
func largestBelow(dtype ir.DType, v float64) float64 {
	switch dtype {
	case ir.Float64:
		return math.Nextafter(v, math.Inf(-1))
	case ir.Float32:
		f := float32(v)
		if float64(f) < v {
			return float64(f)
		}
		return float64(math.Nextafter32(f, float32(math.Inf(-1))))
	}
	_, exp := math.Frexp(v)
	ulp := math.Ldexp(1, exp-dtype.Digits()-1) // below a power of two, the spacing of the lower binade
	f := math.Ceil(v/ulp)*ulp - ulp
	return ir.RoundFloat(dtype, f)
}

// integers returns integers uniform in [0, 2^bits) as wide (float32: bits <= 24, float64: bits <= 53).
func integers(g *Graph, wide ir.DType, bits int, seed uint64, shape []int) *Tensor {
	if bits <= 32 {
		return Cast(shiftRight(RandomBits(g, seed, shape...), 32-bits), wide)
	}
	words := RandomBits(g, seed, append([]int{2}, shape...)...)
	high := Cast(Index(words, 0, 0), wide)
	low := Cast(shiftRight(Index(words, 0, 1), 64-bits), wide)
	return Add(MultiplyScalar(high, math.Ldexp(1, bits-32)), low)
}

func shiftRight(x *Tensor, by int) *Tensor {
	return apply1(ir.ShiftRight, nil, x, FullLike(x, float64(by)))
}

// unitInterval returns all multiples of 2^-precision in [0, 1) with equal probability.
func unitInterval(g *Graph, dtype ir.DType, seed uint64, shape []int) *Tensor {
	bits := dtype.Digits()
	n := integers(g, wider(dtype), bits, seed, shape)
	return Cast(MultiplyScalar(n, math.Ldexp(1, -bits)), dtype)
}

// openInterval returns numbers distributed uniformly and symmetrically in (-1, 1): the odd multiples of 2^-bits, with
// bits one below the precision, which are exact.
func openInterval(g *Graph, wide ir.DType, seed uint64, shape []int) *Tensor {
	bits := wide.Digits() - 1
	n := integers(g, wide, bits, seed, shape)
	odd := AddScalar(MultiplyScalar(n, 2), 1-math.Ldexp(1, bits))
	return MultiplyScalar(odd, math.Ldexp(1, -bits))
}

func init() {
	rules[ir.RngBits] = zeroGradient
	rules[ir.Dropout] = func(c *vjp) []*Tensor {
		return []*Tensor{apply1(ir.Dropout, c.node.Attrs, c.dy(0), c.in(1)), nil}
	}
}
