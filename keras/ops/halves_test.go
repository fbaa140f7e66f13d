package ops_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ofOne are the functions of one number.
func ofOne() map[string]func(x *ops.Tensor) *ops.Tensor {
	all := map[string]func(x *ops.Tensor) *ops.Tensor{"cbrt": ops.Cbrt, "deg2rad": ops.Deg2rad, "rad2deg": ops.Rad2deg, "trunc": ops.Trunc,
		"sinc": ops.Sinc, "erfc": ops.Erfc, "digamma": ops.Digamma, "lgamma": ops.Lgamma, "i0": ops.I0, "signbit": ops.Signbit, "angle": ops.Angle,
		"isneginf": ops.Isneginf, "isposinf": ops.Isposinf}
	maps.Copy(all, activations)
	maps.Copy(all, specialUnary)
	delete(all, "sparsemax") // not of one number
	return all
}

// TestHalvesOfOneNumber computes every function of one number for every float16 and every bfloat16, and compares with
// float64: results are the exact ones rounded to the type, or, near the middle, the adjacent number.
func TestHalvesOfOneNumber(t *testing.T) {
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16} {
		_, widen := d.Half()
		xs := make([]float64, 1<<16)
		for i := range xs {
			xs[i] = float64(widen(uint16(i)))
		}
		in := opstest.Floats([]int{len(xs)}, xs...)
		for _, name := range slices.Sorted(maps.Keys(ofOne())) {
			fn := unary(ofOne()[name])
			got, want := opstest.EvalOn(t, "cpu", fn, in.As(d))[0], opstest.Eval(t, fn, in)[0]
			worst, at := 0.5+1./16, 0.0
			for i, x := range xs {
				if d == ir.BFloat16 && x != 0 && math.Abs(x) < d.LeastNormal() {
					continue // kernels treat subnormal numbers as zeros
				}
				lost := lostDigits[name]
				if lost.beyond > 0 && math.Abs(x) > lost.beyond {
					continue
				}
				if e := halfError(d, got.F[i], want.F[i], lost.of1+lost.ofX*math.Abs(x)); e > worst {
					worst, at = e, x
				}
			}
			if at != 0 {
				t.Errorf("%s of the %v %v is wrong by %.3g units of the last place", name, d, at, worst)
			}
		}
	}
}

// lostDigits are the errors of functions that are differences in float32 too: proportional to 1 and to x. Above beyond
// the square of x is infinite.
var lostDigits = map[string]struct{ of1, ofX, beyond float64 }{
	"erfc": {of1: 0x1p-24}, "tanh_shrink": {ofX: 0x1p-23},
	"digamma":    {of1: 0x1p-21}, // for numbers up to 4, at its zeros below 0
	"logaddexp2": {ofX: 0x1p-23}, // of the operands
	"squareplus": {of1: 0x1p-22, ofX: 0x1p-23, beyond: 1e19},
}

// halfError is the error of a number of type d beyond the allowed error, in units of the last place. Subnormal bfloat16
// numbers, and what kernels compute from subnormal numbers, may be zeros.
func halfError(d ir.DType, got, want, allowed float64) float64 {
	switch {
	case math.IsNaN(want) && math.IsNaN(got) || got == want:
		return 0
	case math.IsNaN(want) || math.IsNaN(got):
		return math.Inf(1)
	}
	most := d.Largest()
	beyond := most + unitOf(d, most) // the number that infinity represents
	limit := func(x float64) float64 { return min(max(x, -beyond), beyond) }
	if d == ir.BFloat16 {
		allowed += 0x1p9 * d.LeastNormal()
	}
	want = limit(want)
	return max(math.Abs(limit(got)-want)-allowed, 0) / unitOf(d, want)
}

// unitOf is the distance between the numbers of type d around x.
func unitOf(d ir.DType, x float64) float64 {
	return math.Ldexp(1, math.Ilogb(max(min(math.Abs(x), d.Largest()), d.LeastNormal()))-d.Digits()+1)
}

// TestHalvesOfTwoNumbers is the same for functions of two numbers, on random pairs of all bit patterns and of numbers
// around 1.
func TestHalvesOfTwoNumbers(t *testing.T) {
	all := map[string]func(a, b *ops.Tensor) *ops.Tensor{"logaddexp2": ops.Logaddexp2, "hypot": ops.Hypot, "fmax": ops.Fmax, "fmin": ops.Fmin,
		"heaviside": ops.Heaviside}
	maps.Copy(all, specialBinary)
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16} {
		_, widen := d.Half()
		r := rand.New(rand.NewPCG(7, 8))
		const n = 1 << 17
		a, b := make([]float64, n), make([]float64, n)
		for i := range n {
			for _, x := range [][]float64{a, b} {
				if x[i] = float64(widen(uint16(r.Uint32()))); i%2 == 0 {
					x[i] = ir.RoundFloat(d, r.NormFloat64()*4)
				}
				if d == ir.BFloat16 && math.Abs(x[i]) < 0x1p20*d.LeastNormal() {
					x[i] = 0
				}
			}
		}
		left, right := opstest.Floats([]int{n}, a...), opstest.Floats([]int{n}, b...)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			fn := func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{all[name](x[0], x[1])} }
			got, want := opstest.EvalOn(t, "cpu", fn, left.As(d), right.As(d))[0], opstest.Eval(t, fn, left, right)[0]
			worst, at := 0.5+1./16, -1
			for i := range n {
				if e := halfError(d, got.F[i], want.F[i], lostDigits[name].ofX*max(math.Abs(a[i]), math.Abs(b[i]))); e > worst {
					worst, at = e, i
				}
			}
			if at >= 0 {
				t.Errorf("%s of the %v %v and %v: %v, want %v: wrong by %.3g units of the last place", name, d, a[at], b[at], got.F[at], want.F[at], worst)
			}
		}
	}
}
