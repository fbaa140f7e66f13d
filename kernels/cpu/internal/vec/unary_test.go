package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExactUnary(t *testing.T) {
	ops := map[string]struct {
		run  func(dst, x []float32)
		want func(x float32) float32
	}{
		"Neg":    {Neg[float32], func(x float32) float32 { return -x }},
		"Abs":    {Abs[float32], func(x float32) float32 { return float32(math.Abs(float64(x))) }},
		"Square": {Square[float32], func(x float32) float32 { return x * x }},
		"Sqrt":   {Sqrt[float32], func(x float32) float32 { return float32(math.Sqrt(float64(x))) }},
		"Rsqrt":  {Rsqrt[float32], func(x float32) float32 { return 1 / float32(math.Sqrt(float64(x))) }},
		"Relu": {Relu[float32], func(x float32) float32 {
			if x < 0 {
				return 0
			}
			return x
		}},
	}
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for name, op := range ops {
			for _, n := range lengths {
				x := random[float32](rng, n)
				for i := range x {
					if i%3 == 0 {
						x[i] = special[i/3%len(special)]
					}
				}
				dst := random[float32](rng, n)
				op.run(dst, x)
				for i := range dst {
					require.True(t, equal(op.want(x[i]), dst[i]), "%s(%v) = %v", name, x[i], dst[i])
				}
				op.run(x, x)
				for i := range dst {
					require.True(t, equal(x[i], dst[i]), "%s in place", name)
				}
			}
		}
	})
}

// sweep visits about a million float32 of every exponent and sign, and the special ones, in batches.
func sweep(f func(x []float32)) {
	batch := append([]float32(nil), special...)
	step := uint64(4099)
	if testing.Short() {
		step *= 20
	}
	for bits := uint64(0); bits < 1<<32; bits += step {
		batch = append(batch, math.Float32frombits(uint32(bits)))
		if len(batch) >= 4000 {
			f(batch)
			batch = batch[:0]
		}
	}
	for i := range 200000 { // the range in which the functions are not trivial
		batch = append(batch, float32(i-100000)*1.05e-3)
		if len(batch) >= 4000 || i == 199999 {
			f(batch)
			batch = batch[:0]
		}
	}
}

func TestTranscendental(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, c := range []struct {
			name               string
			run                func(dst, x []float32)
			want               func(float64) float64
			relative, absolute float64
		}{
			{"Exp", Exp[float32], math.Exp, 1.2e-7, 0x1p-149},
			{"Log", Log[float32], math.Log, 1.2e-7, 0},
			{"Tanh", Tanh[float32], math.Tanh, 1.8e-7, 0},
			{"Erf", Erf[float32], math.Erf, 1.3e-7, 0x1p-149},
			{"Sigmoid", Sigmoid[float32], func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 3e-7, 0x1p-149},
		} {
			worst := 0.0
			sweep(func(x []float32) {
				dst := make([]float32, len(x))
				c.run(dst, x)
				for i, got := range dst {
					want := c.want(float64(x[i]))
					if math.IsNaN(want) {
						require.True(t, got != got, "%s(%v) = %v, want NaN", c.name, x[i], got)
						continue
					}
					if math.Abs(want) > math.MaxFloat32*(1+1e-7) { // overflow, or already infinite
						require.Equal(t, float32(want), got, "%s(%v)", c.name, x[i])
						continue
					}
					diff := math.Abs(float64(got) - want)
					if math.Abs(want) >= 0x1p-126 {
						worst = max(worst, diff/math.Abs(want))
					}
					if !(diff <= c.relative*math.Abs(want)+c.absolute) {
						t.Fatalf("%s(%v) = %v, want %v: relative error %.3g", c.name, x[i], got, want, diff/math.Abs(want))
					}
				}
			})
			t.Logf("%s: largest relative error %.3g", c.name, worst)
		}
	})
}

// Where tanh is 1 in float32 the result must be 1: gradients multiply by 1 − y², in which the smallest error shows when
// inputs are large.
func TestTanhSaturates(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		x := []float32{9.02, -9.02, 12, 33, -100, 1e5, -1e30, float32(math.Inf(1)), float32(math.Inf(-1))}
		dst := make([]float32, len(x))
		Tanh(dst, x)
		for i, v := range x {
			require.Equal(t, float32(math.Tanh(float64(v))), dst[i], "Tanh(%v)", v)
		}
	})
}

// TestPositionDoesNotMatter computes the same values in vectors and in tails of every length.
func TestPositionDoesNotMatter(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for name, run := range map[string]func(dst, x []float32){"Exp": Exp[float32], "Log": Log[float32], "Tanh": Tanh[float32],
			"Sigmoid": Sigmoid[float32], "Affine": func(dst, x []float32) { Affine(dst, x, 1.1, 0.3) },
			"TanhGrad": func(dst, x []float32) { TanhGrad(dst, x, x) }} {
			x := random[float32](rand.New(rand.NewPCG(5, 6)), 70)
			want := make([]float32, 70)
			run(want, x)
			for first := range 40 {
				for n := range 30 {
					got := make([]float32, n)
					run(got, x[first:first+n])
					for i := range got {
						require.True(t, equal(want[first+i], got[i]), "%s", name)
					}
				}
			}
		}
	})
}

func TestFloat64(t *testing.T) {
	x := []float64{-3, -0.25, 0, 0.5, 1, 2, 30, math.Inf(1), math.NaN()}
	for name, c := range map[string]struct {
		run  func(dst, x []float64)
		want func(float64) float64
	}{
		"Exp": {Exp[float64], math.Exp}, "Log": {Log[float64], math.Log}, "Tanh": {Tanh[float64], math.Tanh}, "Sqrt": {Sqrt[float64], math.Sqrt},
		"Abs": {Abs[float64], math.Abs}, "Neg": {Neg[float64], func(x float64) float64 { return -x }},
		"Relu":    {Relu[float64], func(x float64) float64 { return math.Max(x, 0) }},
		"Rsqrt":   {Rsqrt[float64], func(x float64) float64 { return 1 / math.Sqrt(x) }},
		"Sigmoid": {Sigmoid[float64], func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	} {
		dst := make([]float64, len(x))
		c.run(dst, x)
		for i := range x {
			want := c.want(x[i])
			ok := math.IsNaN(want) && math.IsNaN(dst[i]) || want == dst[i] || math.Abs(want-dst[i]) <= 1e-15*math.Abs(want)
			assert.True(t, ok, "%s(%v) = %v, want %v", name, x[i], dst[i], want)
		}
	}
}

func TestScalarForms(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, n := range lengths {
			x, y, z := random[float32](rng, n), random[float32](rng, n), random[float32](rng, n)
			affine, scale, shift, axpy, fma := make([]float32, n), make([]float32, n), make([]float32, n), append([]float32(nil), y...), make([]float32, n)
			Affine(affine, x, 1.7, -0.3)
			Scale(scale, x, -2.5)
			AddScalar(shift, x, 0.1)
			Axpy(axpy, -1.3, x)
			MulAdd(fma, x, y, z)
			for i := range n {
				require.InDelta(t, float64(float32(1.7))*float64(x[i])+float64(float32(-0.3)), float64(affine[i]), 1e-6)
				require.Equal(t, -2.5*x[i], scale[i])
				require.Equal(t, x[i]+0.1, shift[i])
				require.InDelta(t, float64(y[i])+float64(float32(-1.3))*float64(x[i]), float64(axpy[i]), 1e-6)
				require.InDelta(t, float64(x[i])*float64(y[i])+float64(z[i]), float64(fma[i]), 1e-6)
			}
		}
		x := []float64{1, 2}
		Axpy(x, 10, []float64{1, 2})
		Affine(x, x, 2, 1)
		require.Equal(t, []float64{23, 45}, x)
		MulAdd(x, x, x, x)
		Scale(x, x, 0.5)
		AddScalar(x, x, 1)
		require.Equal(t, []float64{(23*23+23)*0.5 + 1, (45*45+45)*0.5 + 1}, x)
	})
}
