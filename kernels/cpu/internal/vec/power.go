package vec

import "math"

// power returns x to the power y: e to the power y·ln|x|, with ln|x| in two parts.
func power(x, y float64) float64 {
	a := math.Abs(x)
	whole := y == math.Trunc(y)
	if !(a > 0 && a <= math.MaxFloat64 && math.Abs(y) <= math.MaxFloat64) || y == 0 || a == 1 || x < 0 && !whole {
		return math.Pow(x, y)
	}
	high, low := logarithm(a)
	product := float64(high * y)
	result := exponential(product)
	if math.Abs(product) < 1000 && result <= math.MaxFloat64 {
		lost := math.FMA(low, y, math.FMA(high, y, -product))
		result = math.FMA(result, lost, result)
	}
	if x < 0 && math.Abs(math.Mod(y, 2)) == 1 {
		result = -result
	}
	return result
}

// exponential returns e to the power x.
func exponential(x float64) float64 {
	x = min(max(x, -746), 711)
	n := math.RoundToEven(x * math.Log2E)
	r := math.FMA(-n, preciseLn2Low, math.FMA(-n, preciseLn2High, x))
	more := float64(r*r) * horner(r, 2.510038549551032e-08, 2.7620088445409746e-07, 2.7557268459997064e-06, 2.4801521295954376e-05,
		0.00019841269863053618, 0.0013888888917213717, 0.008333333333330062, 0.04166666666662413, 0.16666666666666669, 0.5)
	return math.Ldexp(float64(more)+r+1, int(n))
}

// The logarithm of 2 in two parts, the first of which has 21 bits to spare.
const (
	preciseLn2High = 6.93147180369123816490e-01
	preciseLn2Low  = 1.90821492927058770002e-10
)

// logarithm returns the logarithm of a > 0 in two parts.
func logarithm(a float64) (high, low float64) {
	v, exponent := math.Frexp(a)
	if v < math.Sqrt2/2 {
		v += v
		exponent--
	}
	v--
	r := 1 / (v + 2)
	twice := v + v
	high = float64(twice * r) // products are rounded: they must not be fused with another operation, as compilers may do
	low = float64(r * math.FMA(-high, v, math.FMA(-high, 2, twice)))
	s := float64(high * high)
	// ln(1 + v) is high + c·high³ + P(high²)·high³, with c = 1/12 rounded.
	q := horner(s, 9.985681619978894e-07, 4.0492554600068535e-06, 1.878203877084161e-05, 8.877829844395004e-05, 0.0004340277811098929,
		0.0022321428570936486, 0.012500000000000277, 4.3711337072324945e-18)
	cube := float64(s * high)
	// The errors of the square and the cube.
	squareLow := math.FMA(low+low, high, math.FMA(high, high, -s))
	cubeLow := math.FMA(s, low, math.FMA(squareLow, high, math.FMA(s, high, -cube)))
	const twelfth = 1.0 / 12
	third := float64(cube * twelfth)
	thirdLow := math.FMA(cubeLow, twelfth, math.FMA(cube, twelfth, -third))
	sum := high + third
	low = math.FMA(q, cube, thirdLow+low) + ((high - sum) + third)
	i := float64(exponent)
	t := math.FMA(i, preciseLn2High, sum)
	lost := sum - math.FMA(-i, preciseLn2High, t)
	low = math.FMA(i, preciseLn2Low, lost+low)
	high = t + low
	return high, (t - high) + low
}
