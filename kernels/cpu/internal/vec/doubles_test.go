package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDoubles compares reductions and functions of float64 with plain Go: the same bits on every level.
func TestDoubles(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 4))
		for _, n := range []int{0, 1, 7, 8, 9, 24, 100, 1000, 5001} {
			for _, special := range []float64{1, math.Inf(1), math.Inf(-1), math.NaN()} {
				x, y, got := make([]float64, n), make([]float64, n), make([]float64, n)
				for i := range x {
					x[i], y[i] = r.NormFloat64(), r.NormFloat64()
				}
				if n > 0 {
					x[r.IntN(n)] = special
				}
				largest, smallest := math.Inf(-1), math.Inf(1)
				for _, v := range x {
					largest, smallest = max(largest, v), min(smallest, v)
				}
				requireBits(t, largest, MaxOf(x))
				requireBits(t, smallest, MinOf(x))
				if n <= sumBlock {
					var s [8]float64
					for i, v := range x[:n&^7] {
						s[i%8] += v
					}
					for i, v := range x[n&^7:] {
						s[i] += v
					}
					requireBits(t, join(&s), Sum(x))
				}
				for name, f := range map[string]struct {
					run  func()
					want func(a, b float64) float64
				}{
					"add":   {func() { Add(got, x, y) }, func(a, b float64) float64 { return a + b }},
					"sub":   {func() { Sub(got, x, y) }, func(a, b float64) float64 { return a - b }},
					"mul":   {func() { Mul(got, x, y) }, func(a, b float64) float64 { return a * b }},
					"div":   {func() { Div(got, x, y) }, func(a, b float64) float64 { return a / b }},
					"max":   {func() { Max(got, x, y) }, func(a, b float64) float64 { return max(a, b) }},
					"min":   {func() { Min(got, x, y) }, func(a, b float64) float64 { return min(a, b) }},
					"neg":   {func() { Neg(got, x) }, func(a, _ float64) float64 { return -a }},
					"abs":   {func() { Abs(got, x) }, func(a, _ float64) float64 { return math.Abs(a) }},
					"sqrt":  {func() { Sqrt(got, x) }, func(a, _ float64) float64 { return math.Sqrt(a) }},
					"floor": {func() { Floor(got, x) }, func(a, _ float64) float64 { return math.Floor(a) }},
					"ceil":  {func() { Ceil(got, x) }, func(a, _ float64) float64 { return math.Ceil(a) }},
					"round": {func() { Round(got, x) }, func(a, _ float64) float64 { return math.RoundToEven(a) }},
					"sign":  {func() { Sign(got, x) }, func(a, _ float64) float64 { return sign(a) }},
					"relu":  {func() { Relu(got, x) }, func(a, _ float64) float64 { return max(a, 0) }},
					"scale": {func() { Scale(got, x, -3) }, func(a, _ float64) float64 { return -3 * a }},
					"plus":  {func() { AddScalar(got, x, 0.3) }, func(a, _ float64) float64 { return a + 0.3 }},
					"most":  {func() { MinScalar(got, x, 0.3) }, func(a, _ float64) float64 { return min(a, 0.3) }},
					"least": {func() { MaxScalar(got, x, math.NaN()) }, func(a, _ float64) float64 { return math.NaN() }},
					"gradient": {func() { ReluGrad(got, x, y) }, func(a, b float64) float64 {
						if b > 0 {
							return a
						}
						return 0
					}},
				} {
					f.run()
					for i, v := range x {
						if want := f.want(v, y[i]); math.Float64bits(want) != math.Float64bits(got[i]) && !(want != want && got[i] != got[i]) {
							t.Fatalf("%s of %v and %v, element %d of %d: %v, not %v", name, v, y[i], i, n, got[i], want)
						}
					}
				}
			}
		}
	})
}

func requireBits(t *testing.T, want, got float64) {
	t.Helper()
	if math.Float64bits(want) != math.Float64bits(got) && !(want != want && got != got) {
		require.Equal(t, want, got)
	}
}
