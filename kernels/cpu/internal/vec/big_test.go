package vec

import (
	"math"
	"math/big"
)

// Functions computed by their series, with so many bits that their rounding errors are negligible compared with
// float64.

const bigBits = 320

func bigOf(x float64) *big.Float { return newBig().SetFloat64(x) }
func newBig() *big.Float         { return new(big.Float).SetPrec(bigBits) }

func bigAdd(a, b *big.Float) *big.Float { return newBig().Add(a, b) }
func bigSub(a, b *big.Float) *big.Float { return newBig().Sub(a, b) }
func bigMul(a, b *big.Float) *big.Float { return newBig().Mul(a, b) }
func bigDiv(a, b *big.Float) *big.Float { return newBig().Quo(a, b) }
func bigRoot(a *big.Float) *big.Float   { return newBig().Sqrt(a) }
func bigNeg(a *big.Float) *big.Float    { return newBig().Neg(a) }
func bigTimes(a *big.Float, power int) *big.Float {
	return newBig().SetMantExp(a, power)
}

// bigSum adds up terms until they no longer matter. next returns a term from the one before and its number, starting at
// 1.
func bigSum(first *big.Float, next func(term *big.Float, i int) *big.Float) *big.Float {
	sum, term := newBig().Set(first), first
	for i := 1; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-bigBits; i++ {
		term = next(term, i)
		sum.Add(sum, term)
	}
	return sum
}

func bigExp(x *big.Float) *big.Float {
	const halvings = 20
	y := bigTimes(x, -halvings)
	s := bigSum(bigOf(1), func(t *big.Float, i int) *big.Float { return bigDiv(bigMul(t, y), bigOf(float64(i))) })
	for range halvings {
		s = bigMul(s, s)
	}
	return s
}

// bigLog refines the logarithm of a float64: y + 2(x − eʸ)/(x + eʸ) triples the number of correct digits each time.
func bigLog(x *big.Float) *big.Float {
	m := newBig()
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := bigAdd(bigOf(math.Log(f)), bigMul(bigOf(float64(e)), bigLn2))
	for range 2 {
		p := bigExp(y)
		y = bigAdd(y, bigDiv(bigTimes(bigSub(x, p), 1), bigAdd(x, p)))
	}
	return y
}

// bigAtanSmall is the arc tangent of small numbers; bigLn2 is 2·artanh(1/3), bigPi Machin's 16·atan(1/5) −
// 4·atan(1/239).
func bigAtanSmall(x *big.Float, sign float64) *big.Float {
	square, power := bigMul(bigMul(x, x), bigOf(sign)), x
	return bigSum(x, func(_ *big.Float, i int) *big.Float {
		power = bigMul(power, square)
		return bigDiv(power, bigOf(float64(2*i+1)))
	})
}

var (
	bigLn2 = bigTimes(bigAtanSmall(bigDiv(bigOf(1), bigOf(3)), 1), 1)
	bigPi  = bigSub(bigTimes(bigAtanSmall(bigDiv(bigOf(1), bigOf(5)), -1), 4), bigTimes(bigAtanSmall(bigDiv(bigOf(1), bigOf(239)), -1), 2))
)

// bigCircle returns the sine and the cosine.
func bigCircle(x *big.Float) (sine, cosine *big.Float) {
	turns, _ := bigDiv(x, bigTimes(bigPi, 1)).Int(nil)
	r := bigSub(x, bigMul(newBig().SetInt(turns), bigTimes(bigPi, 1)))
	square := bigNeg(bigMul(r, r))
	term := func(from int) func(t *big.Float, i int) *big.Float {
		return func(t *big.Float, i int) *big.Float {
			return bigDiv(bigMul(t, square), bigOf(float64((2*i+from)*(2*i+from-1))))
		}
	}
	return bigSum(r, term(1)), bigSum(bigOf(1), term(0))
}

// bigAtan refines the arc tangent of a float64, whose tangent is t, by adding that of (x − t)/(1 + x·t).
func bigAtan(x *big.Float) *big.Float {
	f, _ := x.Float64()
	y := bigOf(math.Atan(f))
	s, c := bigCircle(y)
	t := bigDiv(s, c)
	return bigAdd(y, bigAtanSmall(bigDiv(bigSub(x, t), bigAdd(bigOf(1), bigMul(x, t))), -1))
}

// bigErf is 2/√π·e^(−x²)·Σ 2ⁿ·x^(2n + 1)/(1·3·…·(2n + 1)).
func bigErf(x *big.Float) *big.Float {
	square := bigMul(x, x)
	s := bigSum(x, func(t *big.Float, i int) *big.Float {
		return bigDiv(bigTimes(bigMul(t, square), 1), bigOf(float64(2*i+1)))
	})
	return bigDiv(bigTimes(bigMul(s, bigExp(bigNeg(square))), 1), bigRoot(bigPi))
}

// bigErfc is 1 − erf(x), or, for large x, e^(−x²)/√π/(x + ½/(x + 1/(x + 1½/(x + …)))).
func bigErfc(x *big.Float) *big.Float {
	if x.Cmp(bigOf(2)) < 0 {
		return bigSub(bigOf(1), bigErf(x))
	}
	y := x
	for k := 600; k > 0; k-- {
		y = bigAdd(x, bigDiv(bigOf(float64(k)/2), y))
	}
	return bigDiv(bigExp(bigNeg(bigMul(x, x))), bigMul(y, bigRoot(bigPi)))
}

// bigNormal is the cumulative distribution function of the normal distribution.
func bigNormal(x *big.Float) *big.Float {
	return bigTimes(bigAdd(bigOf(1), bigErf(bigDiv(x, bigRoot(bigOf(2))))), -1)
}

// ulps64 is the distance of got from want in ULP of want.
func ulps64(got float64, want *big.Float) float64 {
	if want.Sign() == 0 && got == 0 {
		return 0
	}
	if nearest, _ := want.Float64(); math.IsInf(nearest, 0) || got != got || math.IsInf(got, 0) {
		if nearest == got {
			return 0
		}
		return math.Inf(1)
	}
	d, _ := bigTimes(bigSub(bigOf(got), want), 53-max(want.MantExp(nil), -1021)).Float64()
	return math.Abs(d)
}
