package vec

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// function64Case is a function of float64: its kernel, its exact value, its largest error in ULP, and a way to turn any
// number into an operand.
type function64Case struct {
	name    string
	run     func(dst, x []float64)
	want    func(x *big.Float) *big.Float
	special func(float64) float64
	ulps    float64
	domain  func(float64) float64
}

func anyNumber(x float64) float64 { return x }

func upTo(most float64) func(float64) float64 {
	return func(x float64) float64 { return math.Mod(x, most) }
}

var functions64Cases = []function64Case{
	{"Exp", Exp[float64], bigExp, math.Exp, 1, anyNumber},
	{"Expm1", Expm1[float64], func(x *big.Float) *big.Float { return bigSub(bigExp(x), bigOf(1)) }, math.Expm1, 1.1, anyNumber},
	{"Log", Log[float64], bigLog, math.Log, 1, math.Abs},
	{"Log1p", Log1p[float64], func(x *big.Float) *big.Float { return bigLog(bigAdd(bigOf(1), x)) }, math.Log1p, 1.4,
		func(x float64) float64 { return max(x, math.Mod(x, 1)) }},
	{"Sin", Sin[float64], func(x *big.Float) *big.Float { s, _ := bigCircle(x); return s }, math.Sin, 1, anyNumber},
	{"Cos", Cos[float64], func(x *big.Float) *big.Float { _, c := bigCircle(x); return c }, math.Cos, 1, anyNumber},
	{"Tan", Tan[float64], func(x *big.Float) *big.Float { s, c := bigCircle(x); return bigDiv(s, c) }, math.Tan, 2, anyNumber},
	{"Asin", Asin[float64], func(x *big.Float) *big.Float {
		return bigAtan(bigDiv(x, bigRoot(bigSub(bigOf(1), bigMul(x, x)))))
	}, math.Asin, 2, upTo(1)},
	{"Acos", Acos[float64], func(x *big.Float) *big.Float {
		return bigTimes(bigAtan(bigRoot(bigDiv(bigSub(bigOf(1), x), bigAdd(bigOf(1), x)))), 1)
	}, math.Acos, 1.5, upTo(1)},
	{"Atan", Atan[float64], bigAtan, math.Atan, 1.5, anyNumber},
	{"Sinh", Sinh[float64], func(x *big.Float) *big.Float { e := bigExp(x); return bigTimes(bigSub(e, bigDiv(bigOf(1), e)), -1) }, math.Sinh, 1.7, upTo(700)},
	{"Cosh", Cosh[float64], func(x *big.Float) *big.Float { e := bigExp(x); return bigTimes(bigAdd(e, bigDiv(bigOf(1), e)), -1) }, math.Cosh, 1.5, upTo(700)},
	{"Tanh", Tanh[float64], func(x *big.Float) *big.Float {
		e := bigExp(bigTimes(x, 1))
		return bigDiv(bigSub(e, bigOf(1)), bigAdd(e, bigOf(1)))
	}, math.Tanh, 1.8, upTo(30)},
	{"Sigmoid", Sigmoid[float64], func(x *big.Float) *big.Float { return bigDiv(bigOf(1), bigAdd(bigOf(1), bigExp(bigNeg(x)))) },
		func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 2, upTo(700)},
	{"Asinh", Asinh[float64], func(x *big.Float) *big.Float {
		return bigLog(bigAdd(x, bigRoot(bigAdd(bigMul(x, x), bigOf(1)))))
	}, asinh, 1.8, upTo(1e9)},
	{"Acosh", Acosh[float64], func(x *big.Float) *big.Float {
		return bigLog(bigAdd(x, bigRoot(bigSub(bigMul(x, x), bigOf(1)))))
	}, math.Acosh, 1.8, func(x float64) float64 { return 1 + math.Abs(x) }},
	{"Atanh", Atanh[float64], func(x *big.Float) *big.Float {
		return bigTimes(bigLog(bigDiv(bigAdd(bigOf(1), x), bigSub(bigOf(1), x))), -1)
	}, math.Atanh, 1.7, upTo(1)},
	{"Erf", Erf[float64], bigErf, math.Erf, 1, upTo(5.9)},
	{"Erfc", Erfc[float64], bigErfc, math.Erfc, 2, upTo(26)},
	{"Exp2", Exp2[float64], func(x *big.Float) *big.Float { return bigExp(bigMul(x, bigLog(bigOf(2)))) }, math.Exp2, 1.5, upTo(1020)},
	{"ErfInv", ErfInv[float64], nil, math.Erfinv, 4, upTo(1)},
	{"Gelu", Gelu[float64], func(x *big.Float) *big.Float { return bigMul(x, bigNormal(x)) }, nil, 4, upTo(10)},
	{"Rsqrt", Rsqrt[float64], func(x *big.Float) *big.Float { return bigDiv(bigOf(1), bigRoot(x)) }, func(x float64) float64 { return 1 / math.Sqrt(x) }, 1.5, math.Abs},
}

// numbers64 draws numbers of all magnitudes that functions treat differently.
func numbers64(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		switch i % 5 {
		case 0:
			x[i] = 2*r.Float64() - 1
		case 1:
			x[i] = r.NormFloat64()
		case 2:
			x[i] = math.Copysign(math.Exp(3*r.NormFloat64()), r.NormFloat64())
		case 3:
			x[i] = math.Copysign(math.Exp(-30+36*r.Float64()), r.NormFloat64())
		default:
			x[i] = 80*r.Float64() - 40
		}
	}
	return x
}

// ownOfGo lists functions of package math that are used without assembly and whose errors exceed 2 ULP.
var ownOfGo = map[string]float64{"Sinh": 2.5, "Gelu": 64}

// TestFunctionsOfDoubles compares the functions of float64 with series of many digits. Both lengths of vectors compute
// the same bits.
func TestFunctionsOfDoubles(t *testing.T) {
	before := map[string][]float64{}
	forLevels(t, func(t *testing.T) {
		vectors := isa.Active() != isa.Portable
		for _, c := range functions64Cases {
			r := rand.New(rand.NewPCG(uint64(len(c.name)), 64))
			x := numbers64(r, 203)
			for i := range x {
				x[i] = c.domain(x[i])
			}
			got := make([]float64, len(x))
			c.run(got, x)
			allowed := c.ulps
			if !vectors {
				allowed = max(allowed, 2, ownOfGo[c.name])
			} else if want := before[c.name]; want != nil {
				require.Equal(t, want, got, c.name)
				continue
			} else {
				before[c.name] = got
			}
			worst, at := 0.0, 0
			for i, v := range x {
				if v == 0 {
					continue
				}
				if d := c.distance(v, got[i]); d > worst {
					worst, at = d, i
				}
			}
			t.Logf("%s: at most %.2f units of the last place", c.name, worst)
			require.LessOrEqual(t, worst, allowed, "%s(%v) = %v", c.name, x[at], got[at])
		}
	})
}

// distance is the error of f(x) = y in ULP. That of the inverse error function is computed from the error function of
// y.
func (c *function64Case) distance(x, y float64) float64 {
	if c.want != nil {
		return ulps64(y, c.want(bigOf(x)))
	}
	slope := bigDiv(bigTimes(bigExp(bigNeg(bigMul(bigOf(y), bigOf(y)))), 1), bigRoot(bigPi))
	return ulps64(y, bigSub(bigOf(y), bigDiv(bigSub(bigErf(bigOf(y)), bigOf(x)), slope)))
}

// special64 lists operands for which functions have exact values, or none.
var special64 = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 2, -2, 1e-300, -1e-300, 5e-324, -5e-324, 0x1p-1022, 1e308, -1e308,
	math.MaxFloat64, -math.MaxFloat64, 709.78, 709.79, 710.4, 710.5, -708.4, -745.1, -746, 1e5, 1e10, -1e10, 1e22, 0x1p29, 0x1p29 + 1, 0x1p60, 0.5, -0.5, 1 - 0x1p-53, 0x1p-27}

// TestSpecialDoubles compares functions at the ends of their domains with Go's.
func TestSpecialDoubles(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, c := range functions64Cases {
			if c.special == nil {
				continue
			}
			got := make([]float64, len(special64))
			c.run(got, special64)
			for i, x := range special64 {
				if c.name == "Log" && x == 5e-324 { // where Go's own function is wrong on amd64
					continue
				}
				requireNear64(t, c.special(x), got[i], "%s(%v)", c.name, x)
			}
		}
		got := make([]float64, 5)
		Gelu(got, []float64{math.Inf(1), math.Inf(-1), math.NaN(), -50, 50})
		require.True(t, math.IsInf(got[0], 1) && got[1] != got[1] && got[2] != got[2] && got[3] == 0 && got[4] == 50, "%v", got)
		for name, f := range map[string]struct {
			run  func(dst, a, b []float64)
			want func(a, b float64) float64
		}{"Pow": {Pow[float64], math.Pow}, "Atan2": {Atan2[float64], atan2}, "Rem": {Rem[float64], math.Mod}} {
			for _, x := range special64 {
				xs := make([]float64, len(special64))
				for i := range xs {
					xs[i] = x
				}
				results := make([]float64, len(xs))
				f.run(results, xs, special64)
				for i, y := range special64 {
					if name == "Pow" && (x == 5e-324 || x == 1-0x1p-53) { // where Go's own function is inaccurate
						continue
					}
					requireNear64(t, f.want(x, y), results[i], "%s(%v, %v)", name, x, y)
				}
			}
		}
	})
}

// requireNear64 requires a result that is equal within a few ULP, and exactly if it is zero, infinite or NaN.
func requireNear64(t *testing.T, want, got float64, format string, args ...any) {
	t.Helper()
	switch {
	case want != want && got != got, want == got && math.Signbit(want) == math.Signbit(got):
		return
	case math.Abs(want-got) <= 1e-15*math.Abs(want), math.Abs(want) < 0x1p-1022 && math.Abs(got-want) <= 0x1p-1073:
		return
	}
	t.Errorf(format+": %v, not %v", append(args, got, want)...)
}

// A large exponent reveals the rounding error of the logarithm of a base near 1.
func TestLargePowersOfDoubles(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 7))
		const n = 3000
		base, exponent, got := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range base {
			base[i] = 0.7 + 0.75*r.Float64()
			exponent[i] = (650 + 50*r.Float64()) / math.Log(base[i])
		}
		Pow(got, base, exponent)
		for i, x := range base {
			require.LessOrEqual(t, ulps64(got[i], bigExp(bigMul(bigOf(exponent[i]), bigLog(bigOf(x))))), 2.0, "Pow(%v, %v) = %v", x, exponent[i], got[i])
		}
	})
}

// TestPairsOfDoubles compares functions of two float64 with series of many digits.
func TestPairsOfDoubles(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(2, 64))
		a, b := numbers64(r, 305), numbers64(r, 303)[:303]
		b = append(b, 3, 0.5)
		r.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
		for i := range a {
			if math.Abs(b[i]*math.Log(math.Abs(a[i]))) > 700 {
				b[i] = 1.25
			}
		}
		a[0], b[0], a[1], b[1] = 1-0x1p-53, 1e10, 1-0x1p-53, 0x1p59
		base, got := make([]float64, len(a)), make([]float64, len(a))
		Abs(base, a)
		Pow(got, base, b)
		for i, x := range base {
			require.LessOrEqual(t, ulps64(got[i], bigExp(bigMul(bigOf(b[i]), bigLog(bigOf(x))))), 1.5, "Pow(%v, %v) = %v", x, b[i], got[i])
		}
		Atan2(got, a, b)
		for i, y := range a {
			want := bigAtan(bigDiv(bigOf(y), bigOf(b[i])))
			if b[i] < 0 {
				want = bigAdd(want, bigMul(bigPi, bigOf(math.Copysign(1, y))))
			}
			units := 1.5
			if isa.Active() == isa.Portable {
				units = 2 // computed by package math
			}
			require.LessOrEqual(t, ulps64(got[i], want), units, "Atan2(%v, %v) = %v", y, b[i], got[i])
		}
		Rem(got, a, b)
		for i, x := range a {
			require.Equal(t, math.Mod(x, b[i]), got[i], "Rem(%v, %v)", x, b[i])
		}
		ones := make([]float64, len(a))
		for i := range ones {
			ones[i], a[i] = 1, math.Mod(a[i], 9)
		}
		if isa.Active() == isa.Portable {
			return // here the gradient of gelu is computed by package math
		}
		GeluGrad(got, ones, a)
		for i, x := range a {
			p := bigDiv(bigExp(bigNeg(bigTimes(bigMul(bigOf(x), bigOf(x)), -1))), bigRoot(bigTimes(bigPi, 1)))
			want, _ := bigAdd(bigNormal(bigOf(x)), bigMul(bigOf(x), p)).Float64()
			require.InDelta(t, want, got[i], 8e-16*(math.Exp(-x*x/2)*(1+math.Abs(x))+math.Abs(want)), "GeluGrad(%v)", x)
		}
	})
}

// TestCircularDoubles checks the functions near large multiples of π/2, where the reduction cancels most digits.
func TestCircularDoubles(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 64))
		x := []float64{3.164047124249473e+08, 8.280453622097461e+07, 0x1p29, -0x1p29}
		for len(x) < 40 {
			x = append(x, float64(1+r.IntN(1<<28))*(math.Pi/2))
		}
		for _, c := range functions64Cases {
			if c.name != "Sin" && c.name != "Cos" && c.name != "Tan" {
				continue
			}
			got := make([]float64, len(x))
			c.run(got, x)
			for i, v := range x {
				require.LessOrEqual(t, c.distance(v, got[i]), c.ulps, "%s(%v) = %v", c.name, v, got[i])
			}
		}
	})
}

// TestPlacesOfDoubles requires the same bits for a number at any position, also if results replace operands.
func TestPlacesOfDoubles(t *testing.T) {
	pairs := map[string]func(dst, a, b []float64){"Pow": Pow[float64], "Atan2": Atan2[float64], "Rem": Rem[float64], "GeluGrad": GeluGrad[float64]}
	for _, c := range functions64Cases {
		pairs[c.name] = func(dst, a, _ []float64) { c.run(dst, a) }
	}
	forLevels(t, func(t *testing.T) {
		a := append(numbers64(rand.New(rand.NewPCG(5, 64)), 64), special64...)
		b := append(append([]float64{}, special64...), numbers64(rand.New(rand.NewPCG(6, 64)), 64)...)
		for name, f := range pairs {
			want := make([]float64, len(a))
			f(want, a, b)
			check := func(first int, got []float64) {
				t.Helper()
				for i, v := range got {
					if math.Float64bits(want[first+i]) != math.Float64bits(v) {
						t.Fatalf("%s(%v, %v): %v, not %v", name, a[first+i], b[first+i], v, want[first+i])
					}
				}
			}
			for n := 1; n <= 17; n++ {
				for first := 0; first+n <= len(a); first += n {
					x, y := append([]float64{}, a[first:first+n]...), append([]float64{}, b[first:first+n]...)
					f(x, x, y)
					check(first, x)
				}
			}
			y := append([]float64{}, b...)
			f(y, a, y)
			check(0, y)
			many := 1<<12/len(a) + 2 // more than one assembly call processes
			x, z := slices.Repeat(a, many), slices.Repeat(b, many)
			f(x, x, z)
			for i := range many {
				check(0, x[i*len(a):][:len(a)])
			}
		}
	})
}

// Near 1 the arc cosine is as accurate as elsewhere, also where Go computes it.
func TestAcosNearOne(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for k := 10; k <= 50; k++ {
			h := math.Ldexp(1, -k)
			want := math.Sqrt(2*h) * (1 + h/12 + 3*h*h/160 + 5*h*h*h/896 + 35*h*h*h*h/18432)
			y := make([]float64, 9)
			x := slices.Repeat([]float64{1 - h}, len(y))
			Acos(y, x)
			require.InEpsilonSlice(t, slices.Repeat([]float64{want}, len(y)), y, 1e-15, "1 - 2^-%d", k)
		}
	})
}
