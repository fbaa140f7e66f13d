package vec

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAdamGolden uses Keras's own result for three steps from [1, 2] with gradients [.1,−.2], [.3,.05], [−.2,.4].
func TestAdamGolden(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, c := range []struct {
			rate, epsilon, decay float64
			want                 [2]float64
		}{
			{0.001, 1e-7, 0, [2]float64{.997824, 2.001068}},
			{0.1, 0.1, 0, [2]float64{.985864, 2.003815}},
			{0.1, 1e-7, 0.004, [2]float64{.781355, 2.104263}},
		} {
			w, m, v := []float32{1, 2}, make([]float32, 2), make([]float32, 2)
			for step, g := range [][]float32{{.1, -.2}, {.3, .05}, {-.2, .4}} {
				n := float64(step + 1)
				Adam(&AdamArgs[float32]{W: w, M: m, V: v, G: g,
					Alpha:         float32(c.rate * math.Sqrt(1-math.Pow(0.999, n)) / (1 - math.Pow(0.9, n))),
					OneMinusBeta1: 0.1, OneMinusBeta2: 0.001, Epsilon: float32(c.epsilon), GradientScale: 1, Decay: float32(c.rate * c.decay)})
			}
			// Keras computes α from float32 powers of β₂, which is accurate to 2e-5 at the first step.
			assert.InDelta(t, c.want[0], float64(w[0]), 5e-7+3e-5*c.rate, "%+v", c)
			assert.InDelta(t, c.want[1], float64(w[1]), 5e-7+3e-5*c.rate, "%+v", c)
		}
	})
}

// TestSGDGolden uses Keras's own result for the same three steps.
func TestSGDGolden(t *testing.T) {
	gradients := [][]float32{{.1, -.2}, {.3, .05}, {-.2, .4}}
	forLevels(t, func(t *testing.T) {
		w := []float32{1, 2}
		for _, g := range gradients {
			SGD(w, g, 0.01, 0)
		}
		assert.InDeltaSlice(t, []float32{.998, 1.9975}, w, 1e-6)
		for _, nesterov := range []bool{false, true} {
			w, velocity := []float32{1, 2}, make([]float32, 2)
			for _, g := range gradients {
				Momentum(w, velocity, g, 0.1, 0.9, 0, nesterov)
			}
			want := []float32{.9359, 2.0047}
			if nesterov {
				want = []float32{.92231, 1.97923}
			}
			assert.InDeltaSlice(t, want, w, 1e-5)
		}
	})
}

// TestOptimizerLengths compares the float32 kernels with the float64 loops at every tail length.
func TestOptimizerLengths(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(15, 16))
		widen := func(x []float32) []float64 {
			y := make([]float64, len(x))
			for i, v := range x {
				y[i] = float64(v)
			}
			return y
		}
		for _, n := range lengths {
			w, m, v, g := random[float32](rng, n), random[float32](rng, n), random[float32](rng, n), random[float32](rng, n)
			Abs(v, v)
			w64, m64, v64, g64 := widen(w), widen(m), widen(v), widen(g)
			a := AdamArgs[float32]{W: w, M: m, V: v, G: g, Alpha: 0.01, OneMinusBeta1: 0.125, OneMinusBeta2: 0.0078125, Epsilon: 0.001, GradientScale: 0.5, Decay: 0.25}
			Adam(&a)
			Adam(&AdamArgs[float64]{W: w64, M: m64, V: v64, G: g64, Alpha: float64(a.Alpha), OneMinusBeta1: 0.125, OneMinusBeta2: 0.0078125,
				Epsilon: float64(a.Epsilon), GradientScale: 0.5, Decay: 0.25})
			for i := range w {
				require.InDelta(t, w64[i], float64(w[i]), 2e-6)
				require.InDelta(t, m64[i], float64(m[i]), 1e-6)
				require.InDelta(t, v64[i], float64(v[i]), 1e-6)
			}
			for _, nesterov := range []bool{false, true} {
				w64, m64 = widen(w), widen(m)
				Momentum(w, m, g, 0.25, 0.875, 0.125, nesterov)
				Momentum(w64, m64, g64, 0.25, 0.875, 0.125, nesterov)
				for i := range w {
					require.InDelta(t, w64[i], float64(w[i]), 2e-6)
					require.InDelta(t, m64[i], float64(m[i]), 2e-6)
				}
			}
			w64 = widen(w)
			SGD(w, g, 0.25, 0.125)
			SGD(w64, g64, 0.25, 0.125)
			for i := range w {
				require.InDelta(t, w64[i], float64(w[i]), 1e-6)
			}
		}
	})
}

// In float64 the bits are those of the loop without vectors, which computes the last elements and, without vectors, all
// of them. Arm64's compiler fuses products and sums there.
func TestOptimizerDoubles(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(17, 18))
		near := func(want, got []float64) {
			t.Helper()
			if runtime.GOARCH == "amd64" {
				require.Equal(t, want, got)
			} else {
				require.InDeltaSlice(t, want, got, 1e-14)
			}
		}
		for _, n := range append(lengths, functionElements+9) {
			w, m, v, g := random[float64](rng, n), random[float64](rng, n), random[float64](rng, n), random[float64](rng, n)
			Abs(v, v)
			a := AdamArgs[float64]{W: slices.Clone(w), M: slices.Clone(m), V: slices.Clone(v), G: g, Alpha: 0.01, OneMinusBeta1: 0.1, OneMinusBeta2: 0.003, Epsilon: 1e-7, GradientScale: 0.7, Decay: 0.3}
			one := AdamArgs[float64]{W: slices.Clone(w), M: slices.Clone(m), V: slices.Clone(v), G: g}
			Adam(&a)
			for i := range w {
				b := a
				b.W, b.M, b.V, b.G = one.W[i:i+1], one.M[i:i+1], one.V[i:i+1], g[i:i+1]
				Adam(&b)
			}
			near(one.W, a.W)
			near(one.M, a.M)
			near(one.V, a.V)
			for _, nesterov := range []bool{false, true} {
				w1, m1, w2, m2 := slices.Clone(w), slices.Clone(m), slices.Clone(w), slices.Clone(m)
				Momentum(w1, m1, g, 0.01, 0.9, 0.3, nesterov)
				for i := range w2 {
					Momentum(w2[i:i+1], m2[i:i+1], g[i:i+1], 0.01, 0.9, 0.3, nesterov)
				}
				near(w2, w1)
				near(m2, m1)
			}
		}
		w, m, v, g := make([]float64, 64), make([]float64, 64), make([]float64, 64), make([]float64, 64)
		require.Zero(t, testing.AllocsPerRun(10, func() {
			Adam(&AdamArgs[float64]{W: w, M: m, V: v, G: g, Epsilon: 1})
			Momentum(w, m, g, 0.1, 0.9, 0, true)
		}))
	})
}
