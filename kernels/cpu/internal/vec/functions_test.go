package vec

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

var every = flag.Uint64("every", 4093, "test functions of one operand with each of so many float32: 1 for all")

// ulps is the distance of got from want in ULP of want rounded to float32.
func ulps(got float32, want float64) float64 {
	if want != want {
		if got != got {
			return 0
		}
		return math.Inf(1)
	}
	rounded := float32(want)
	if got == rounded {
		if rounded == 0 && want == 0 && math.Signbit(want) != math.Signbit(float64(got)) {
			return math.Inf(1)
		}
		return 0
	}
	if got != got || math.IsInf(want, 0) {
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	ulp := math.Ldexp(1, max(e, -125)-24)
	if math.IsInf(float64(got), 0) { // just above the largest number
		got64 := math.Copysign(math.Ldexp(1, 128), float64(got))
		return math.Abs(got64-want) / ulp
	}
	return math.Abs(float64(got)-want) / ulp
}

// accurate lists the functions of one operand with their largest error in ULP.
var accurate = []struct {
	name string
	run  func(dst, x []float32)
	want func(float64) float64
	ulps float64
}{
	{"Floor", Floor[float32], math.Floor, 0},
	{"Ceil", Ceil[float32], math.Ceil, 0},
	{"Round", Round[float32], math.RoundToEven, 0},
	{"Sign", Sign[float32], sign, 0},
	{"Exp", Exp[float32], math.Exp, 1.1},
	{"Log", Log[float32], math.Log, 0.9},
	{"Tanh", Tanh[float32], math.Tanh, 1.91},
	{"Sigmoid", Sigmoid[float32], func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 2},
	{"Erf", Erf[float32], math.Erf, 1.3},
	{"Rsqrt", Rsqrt[float32], func(x float64) float64 { return 1 / math.Sqrt(x) }, 1.5},
	{"Expm1", Expm1[float32], math.Expm1, 2},
	{"Log1p", Log1p[float32], math.Log1p, 2},
	{"Sin", Sin[float32], math.Sin, 2},
	{"Cos", Cos[float32], math.Cos, 2},
	{"Tan", Tan[float32], math.Tan, 2},
	{"Asin", Asin[float32], math.Asin, 2},
	{"Acos", Acos[float32], math.Acos, 2},
	{"Atan", Atan[float32], math.Atan, 2},
	{"Sinh", Sinh[float32], math.Sinh, 2},
	{"Cosh", Cosh[float32], math.Cosh, 2},
	{"Asinh", Asinh[float32], asinh, 2},
	{"Acosh", Acosh[float32], math.Acosh, 2},
	{"Atanh", Atanh[float32], math.Atanh, 2},
	{"ErfInv", ErfInv[float32], math.Erfinv, 2},
	{"Erfc", Erfc[float32], math.Erfc, 2},
	{"Exp2", Exp2[float32], math.Exp2, 1.1},
	{"Lgamma", Lgamma[float32], lgamma, 1},
}

// visit calls f with all float32, or with a sample, which is denser at the functions' critical points.
func visit(f func(x []float32)) {
	batch := append([]float32(nil), special...)
	step := *every
	if testing.Short() {
		step *= 16
	}
	add := func(x float32) {
		if batch = append(batch, x); len(batch) == 1<<12 {
			f(batch)
			batch = batch[:0]
		}
	}
	for bits := uint64(0); bits < 1<<32; bits += step {
		add(math.Float32frombits(uint32(bits)))
	}
	for i := range 1 << 18 {
		add(float32(i-1<<17) * 0x1p-14)
	}
	for i := range 1 << 14 { // where some have poles, and others switch formulas
		add(1 - float32(i)*0x1p-24)
		add(float32(i)*0x1p-24 - 1)
	}
	f(batch)
}

func TestFunctions(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, c := range accurate {
			t.Run(c.name, func(t *testing.T) { checkFunction(t, c.run, c.want, c.ulps) })
		}
	})
}

func checkFunction(t *testing.T, run func(dst, x []float32), f func(float64) float64, limit float64) {
	worst, at := 0.0, float32(0)
	visit(func(x []float32) {
		dst := make([]float32, len(x))
		run(dst, x)
		for i, got := range dst {
			want := f(float64(x[i]))
			if math.Abs(want) < 0x1p-126 && math.Abs(float64(got)-want) < 0x1p-126 {
				continue // programs flush them
			}
			if d := ulps(got, want); d > worst {
				worst, at = d, x[i]
			}
		}
	})
	got := make([]float32, 1)
	run(got, []float32{at})
	if worst > limit {
		t.Errorf("of %v is %v, want %v: wrong by %.3g units of the last place, more than %v", at, got[0], f(float64(at)), worst, limit)
	}
	t.Logf("at most %.3f units of the last place", worst)
}

// TestFunctionsOfZero: a zero keeps its sign, or gets the sign that package math gives it.
func TestFunctionsOfZero(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		x := make([]float32, 37) // in whole vectors and after them
		for i := range x {
			x[i] = float32(math.Copysign(0, float64(i%2)-0.5))
		}
		for _, c := range accurate {
			dst := make([]float32, len(x))
			c.run(dst, x)
			for i, v := range x {
				want := c.want(float64(v))
				require.Equal(t, math.Signbit(want), math.Signbit(float64(dst[i])), "%s(%v): %v", c.name, v, dst[i])
			}
		}
	})
}

func TestFunctionsOfTwo(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			run  func(dst, a, b []float32)
			want func(a, b float64) float64
			ulps float64
		}{
			{"Pow", Pow[float32], math.Pow, 2},
			{"Atan2", Atan2[float32], math.Atan2, 2},
			{"Rem", Rem[float32], math.Mod, 0},
		} {
			r := rand.New(rand.NewPCG(1, 2))
			worst := 0.0
			var worstA, worstB, worstGot float32
			check := func(a, b []float32) {
				dst := make([]float32, len(a))
				c.run(dst, a, b)
				for i, got := range dst {
					want := c.want(float64(a[i]), float64(b[i]))
					if math.Abs(want) < 0x1p-126 && math.Abs(float64(got)) <= 0x1p-126 {
						continue
					}
					if isDenormal(a[i]) || isDenormal(b[i]) {
						continue // programs flush them
					}
					if d := ulps(got, want); d > worst {
						worst, worstA, worstB, worstGot = d, a[i], b[i], got
					}
				}
			}
			for _, a := range special {
				for range 3 { // in vectors, and in the remainder
					b := append([]float32(nil), special...)
					as := make([]float32, len(b))
					for i := range as {
						as[i] = a
					}
					check(as, b)
				}
			}
			rounds := 3000
			if testing.Short() {
				rounds /= 10
			}
			for round := range rounds {
				a, b := make([]float32, 1000), make([]float32, 1000)
				for i := range a {
					switch round % 4 {
					case 0:
						a[i], b[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
					case 1:
						a[i], b[i] = float32(math.Exp(40*r.NormFloat64())), float32(r.NormFloat64()*4)
					case 2:
						a[i], b[i] = float32(1+r.NormFloat64()*0.1), float32(r.NormFloat64()*300)
					default:
						a[i], b[i] = float32(r.IntN(41)-20), float32(r.IntN(41)-20)/2
					}
				}
				check(a, b)
			}
			if worst > c.ulps {
				t.Errorf("%s(%v, %v) = %v, want %v: wrong by %.3g units of the last place, more than %v", c.name, worstA, worstB, worstGot,
					c.want(float64(worstA), float64(worstB)), worst, c.ulps)
			}
			t.Logf("%s: at most %.3f units of the last place", c.name, worst)
		}
	})
}

func isDenormal(x float32) bool { return x != 0 && math.Abs(float64(x)) < 0x1p-126 }

// The bits of a result depend neither on its position nor on the instruction set.
func TestFunctionsHaveTheSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x := append(append([]float32(nil), special...), random[float32](r, 1003)...)
	want := map[string][]float32{}
	forLevels(t, func(t *testing.T) {
		if isa.Active() == isa.Portable {
			t.Skip("the same bits are asked of vectors alone; the portable kernels compute otherwise, and may differ in the last one")
		}
		for _, c := range accurate {
			dst := make([]float32, len(x))
			c.run(dst, x)
			for i := range x {
				one := make([]float32, 1)
				c.run(one, x[i:i+1])
				require.True(t, equal(dst[i], one[0]), "%s(%v): %v among others, %v alone", c.name, x[i], dst[i], one[0])
				if w := want[c.name]; w != nil {
					require.True(t, equal(dst[i], w[i]), "%s(%v): %v and %v", c.name, x[i], dst[i], w[i])
				}
			}
			want[c.name] = dst
		}
	})
}
