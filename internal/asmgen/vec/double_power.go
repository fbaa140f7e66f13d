package main

import (
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// pow is e to the power y·ln|x|, with ln|x| in two parts, like the one of float32.
func (p precise) pow(x, y vector) vector {
	a := p.abs(x)
	high, low := p.logInParts(a)
	product := p.mul(high, y)
	lost := p.fma(low, y, p.fms(high, y, product))
	near := Compare(LessThan, p.abs(product), double(1000))
	kept := p.vector()
	Keep(kept, near, lost)
	power := p.exp(product)
	result := p.fma(power, kept, power)
	result = p.choose(Compare(Equal, power, p.infinity()), power, result)

	// Negative bases: odd powers are negative, and powers that are not integers are NaN.
	half := p.mul(y, double(0.5))
	sign := p.vector()
	Keep(sign, Compare(NotEqual, p.round(Nearest, half), half), p.sign(x))
	signed := p.join(result, sign)
	alone := p.choose(Compare(LessThan, x, p.zero()), p.notANumber(), result)
	alone = p.choose(Compare(Equal, a, p.infinity()), result, alone)
	result = p.choose(Compare(Equal, p.round(Nearest, y), y), signed, alone)
	result = p.choose(Compare(Unordered, x, y), p.notANumber(), result)
	result = p.choose(Compare(Equal, y, p.zero()), p.one(), result)
	result = p.choose(Compare(Equal, x, p.one()), p.one(), result)
	// (−1) to the power of an infinity is 1 too.
	unit := p.choose(Compare(Equal, p.abs(y), p.infinity()), a, p.zero())
	return p.choose(Compare(Equal, unit, p.one()), p.one(), result)
}

// logInParts is the logarithm of a ≥ 0 in two parts.
func (p precise) logInParts(a vector) (high, low vector) {
	v, i := p.binary(a)
	step := p.vector()
	below := Compare(LessThan, v, double(math.Sqrt2/2))
	Keep(step, below, p.one())
	Subtract(i, i, step)
	Keep(step, below, v)
	Add(v, v, step)
	Subtract(v, v, p.one())
	r := p.div(p.one(), p.add(v, double(2)))
	twice := p.add(v, v)
	high = p.mul(twice, r)
	low = p.mul(r, p.fnma(high, v, p.fnma(high, double(2), twice)))
	s := p.mul(high, high)
	// ln(1 + v) is high + c·high³ + P(high²)·high³, with c = 1/12 rounded.
	q := p.poly(s, 9.985681619978894e-07, 4.0492554600068535e-06, 1.878203877084161e-05, 8.877829844395004e-05, 0.0004340277811098929,
		0.0022321428570936486, 0.012500000000000277, 4.3711337072324945e-18)
	cube := p.mul(s, high)
	// The rounding errors of the square and the cube.
	squareLow := p.fma(p.add(low, low), high, p.fms(high, high, s))
	cubeLow := p.fma(s, low, p.fma(squareLow, high, p.fms(s, high, cube)))
	twelfth := double(1.0 / 12)
	third := p.mul(cube, twelfth)
	thirdLow := p.fma(cubeLow, twelfth, p.fms(cube, p.copy(twelfth), third))
	sum := p.add(high, third)
	low = p.add(p.fma(q, cube, p.add(thirdLow, low)), p.add(p.sub(high, sum), third))
	t := p.fma(i, double(preciseLn2High), sum)
	lost := p.sub(sum, p.fnma(i, double(preciseLn2High), t))
	low = p.fma(i, double(preciseLn2Low), p.add(lost, low))
	high = p.add(t, low)
	low = p.add(p.sub(t, high), low)
	high = p.choose(Compare(Equal, a, p.zero()), double(math.Inf(-1)), high)
	return p.choose(Compare(Equal, a, p.infinity()), p.infinity(), high), low
}

// rem is C's fmod, for quotients up to 2⁵¹.
func (p precise) rem(x, y vector) vector {
	a, b := p.abs(x), p.abs(y)
	r := p.fnma(p.round(TowardZero, p.div(a, b)), b, a)
	r = p.choose(Compare(LessThan, r, p.zero()), p.add(r, b), r)
	r = p.choose(Compare(LessThan, a, b), a, r)
	return p.join(r, p.sign(x))
}

// erfcx is e^(a²)·erfc(a) for 0 ≤ a ≤ 28.
func (p precise) erfcx(a vector) vector {
	q := p.erfcxPoly(p.div(p.sub(a, double(4)), p.add(a, double(4))))
	return p.div(q, p.fma(a, double(2), p.copy(p.one())))
}

// erfcxPoly is (2a + 1)·erfcx(a) as a polynomial of t = (a − 4)/(a + 4).
func (p precise) erfcxPoly(t vector) vector {
	return p.poly(t, -8.906208663934622e-09, -9.456271524915692e-09, 1.0181247475149971e-07, 5.883230632914435e-08, -8.187662562915786e-07,
		3.0994402010831546e-07, 5.706827475068264e-06, -1.1232086023404734e-05, -2.4398609353512906e-05, 0.00015062567141369432,
		-0.00019925669640425623, -0.0007577743061693371, 0.005031969952329153, -0.016197733895959854, 0.03716751554242076, -0.06633036582729279,
		0.09373283499798463, -0.10103906603558063, 0.06809705425470212, 0.015379652102606133, -0.13962111684056255, 1.2329951186255526)
}

func (p precise) erf(x vector) vector {
	a := p.limit(p.abs(x), 0, 6)
	plus, twice := p.add(a, double(4)), p.fma(a, double(2), p.copy(p.one()))
	inverse := p.div(p.one(), p.mul(plus, twice)) // replaces the two divisions of erfcx, from which it may differ in the last bit
	q := p.erfcxPoly(p.mul(p.mul(p.sub(a, double(4)), twice), inverse))
	e := p.mul(p.mul(q, p.mul(plus, inverse)), p.exp(p.negative(p.mul(a, a))))
	far := p.join(p.sub(p.one(), e), p.sign(x))
	s := p.mul(x, x)
	near := p.fma(x, p.erfTerms(s), x)
	y := p.choose(Compare(GreaterThan, p.abs(x), p.one()), far, near)
	return p.choose(Compare(Unordered, x, x), x, y)
}

// erfTerms is erf(x)/x − 1 as a polynomial of x², up to |x| = 1.
func (p precise) erfTerms(s vector) vector {
	return p.poly(s, -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06, -1.492473690741966e-05,
		0.00012055294904839707, -0.0008548325975389692, 0.0052239776071164225, -0.02686617064323777, 0.11283791670945006, -0.37612638903183543,
		0.12837916709551256)
}

// erfc is 1 − x − x·P(x²) up to ¾; beyond that e^(−a²)·erfcx(a), or 2 minus that, like erfc of float32.
func (p precise) erfc(x vector) vector {
	a := p.limit(p.abs(x), 0, 27.5)
	t := p.div(p.sub(a, double(4)), p.add(a, double(4)))
	q := p.erfcxPoly(t)
	d := p.fma(a, double(2), p.copy(p.one()))
	inverse := p.div(p.one(), d)
	r := p.mul(q, inverse)
	rest := p.fnma(r, d, q)
	rest = p.mul(p.fnma(r, p.fma(a, double(2), p.sub(p.one(), d)), rest), inverse)

	s := p.mul(a, a)
	n := p.round(Nearest, p.mul(s, double(-math.Log2E)))
	v := p.fnma(n, double(preciseLn2High), p.negative(s))
	w := p.fnma(n, double(preciseLn2Low), p.negative(p.fms(a, a, s)))
	e := p.add(v, w)
	rest = p.fma(r, p.sub(w, p.sub(e, v)), rest)
	grown := p.fma(p.mul(e, e), p.expTerms(e), e)
	far := p.power2(p.add(r, p.fma(r, grown, rest)), n)
	far = p.choose(Compare(LessThan, x, p.zero()), p.sub(double(2), far), far)

	near := p.fnma(x, p.erfTerms(p.mul(x, x)), p.sub(p.one(), x))
	y := p.choose(Compare(GreaterThan, p.abs(x), double(0.75)), far, near)
	return p.choose(Compare(Unordered, x, x), x, y)
}

// normal returns t = min(|x|, 39.5), R(t) and e^(−t²/2) as defined in the package's gelu.go.
func (p precise) normal(x vector) (t, r, e vector) {
	t = p.limit(p.abs(x), 0, 39.5)
	s := p.mul(t, t)
	lost := p.fms(t, t, s)
	e = p.exp(p.mul(s, double(-0.5)))
	e = p.fnma(e, p.mul(lost, double(0.5)), e)
	return t, p.mul(p.erfcx(p.mul(t, double(math.Sqrt2/2))), double(0.5)), e
}

// gelu is NaN for −Inf, as x·Φ(x) is.
func (p precise) gelu(x vector) vector {
	t, r, e := p.normal(x)
	positive := p.fma(x, double(0.5), p.mul(p.abs(x), double(0.5)))
	return p.sub(positive, p.mul(e, p.mul(t, r)))
}

// geluGrad is NaN for infinities, as x·φ(x) is.
func (p precise) geluGrad(dy, x vector) vector {
	t, r, e := p.normal(x)
	h := p.mul(e, p.fnma(t, double(0.39894228040143268), r))
	h = p.choose(Compare(LessThan, x, p.zero()), h, p.sub(p.one(), h))
	return p.mul(dy, p.fma(x, p.zero(), h))
}

// erfInv is Wichura's algorithm: rational functions of |x| up to 0.85, and of √(log 2 − log(1 − |x|)) beyond.
func (p precise) erfInv(x vector) vector {
	a := p.abs(x)
	r := p.fnma(p.mul(a, a), double(0.25), p.copy(double(0.180625)))
	above := p.mul(a, p.poly(r, 8.8709406962545514830200e2, 1.1819493347062294404278e4, 2.3782041382114385731252e4, 1.6235862515167575384252e4,
		4.8548868893843886794648e3, 6.9706266534389598238465e2, 4.7072688112383978012285e1, 1.1975323115670912564578e0))
	below := p.poly(r, 5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4, 5.3941960214247511077e3,
		6.8718700749205790830e2, 4.2313330701600911252e1, 1)
	root := p.sqrt(p.sub(double(math.Ln2), p.log(p.sub(p.one(), a))))
	r = p.sub(root, double(1.6))
	farAbove := p.poly(r, 7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
		3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0)
	farBelow := p.poly(r, 1.4859850019840355905497876e-9, 7.7441459065157709165577218e-4, 2.1494160384252876777097297e-2, 2.0945065210512749128288442e-1,
		9.7547832001787427186894837e-1, 2.3707661626024532365971225e0, 2.9036514445419946173133295e0, 1.4142135623730950488016887e0)
	r = p.sub(root, double(5))
	lastAbove := p.poly(r, 2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
		2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0)
	lastBelow := p.poly(r, 2.891024605872965461538222e-15, 2.010321207683943062279931e-7, 2.611088405080593625138020e-5, 1.112800997078859844711555e-3,
		2.103693768272068968719679e-2, 1.936480946950659106176712e-1, 8.482908416595164588112026e-1, 1.414213562373095048801689e0)
	farAbove = p.choose(Compare(GreaterThan, root, double(5)), lastAbove, farAbove)
	farBelow = p.choose(Compare(GreaterThan, root, double(5)), lastBelow, farBelow)
	above = p.choose(Compare(GreaterThan, a, double(0.85)), farAbove, above)
	below = p.choose(Compare(GreaterThan, a, double(0.85)), farBelow, below)
	y := p.div(above, below)
	y = p.choose(Compare(Equal, a, p.one()), p.infinity(), y)
	y = p.choose(Compare(NotLessEqual, a, p.one()), p.notANumber(), y)
	return p.join(y, p.sign(x))
}

// logGamma is the logarithm of the gamma function of x > 0, with an error of about 10⁻¹⁵·(1 + |log Γ(x)|): Stirling's
// series at x + 8, minus the logarithm of x·(x + 1)·…·(x + 7). It is used for floats of at most 32 bits.
func (p precise) logGamma(x vector) vector {
	product := p.copy(x)
	for i := 1; i < 8; i++ {
		product = p.mul(product, p.add(x, double(float64(i))))
	}
	const large = 0x1p30 // from here on Stirling's series is accurate without the shift
	far := Compare(GreaterThan, x, double(large))
	y := p.choose(far, x, p.add(x, double(8)))
	product = p.choose(Compare(GreaterThan, x, double(large)), p.one(), product)
	r := p.div(p.one(), y)
	series := p.mul(r, p.poly(p.mul(r, r), -0.0016525849983934733, 0.0008372827864695204, -0.0005952025847742346, 0.000793650664877517,
		-0.0027777777776060446, 0.0833333333333333))
	series = p.add(p.sub(series, y), double(0.91893853320467274178)) // log(2π)/2
	sum := p.fma(p.sub(y, double(0.5)), p.log(y), series)
	return p.sub(sum, p.log(product))
}
