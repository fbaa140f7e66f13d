package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

type binaryCase struct {
	name  string
	f32   func(dst, a, b []float32)
	f64   func(dst, a, b []float64)
	exact func(a, b float32) float32 // nil if not correctly rounded
	ref   func(a, b float64) float64
}

var binaries = []binaryCase{
	{"Add", Add[float32], Add[float64], func(a, b float32) float32 { return a + b }, func(a, b float64) float64 { return a + b }},
	{"Sub", Sub[float32], Sub[float64], func(a, b float32) float32 { return a - b }, func(a, b float64) float64 { return a - b }},
	{"Mul", Mul[float32], Mul[float64], func(a, b float32) float32 { return a * b }, func(a, b float64) float64 { return a * b }},
	{"Div", Div[float32], Div[float64], func(a, b float32) float32 { return a / b }, func(a, b float64) float64 { return a / b }},
	{"Max", Max[float32], Max[float64], nil, func(a, b float64) float64 { return max(a, b) }},
	{"Min", Min[float32], Min[float64], nil, func(a, b float64) float64 { return min(a, b) }},
	{"ReluGrad", ReluGrad[float32], ReluGrad[float64], func(a, b float32) float32 {
		if b > 0 {
			return a
		}
		return 0
	}, func(a, b float64) float64 {
		if b > 0 {
			return a
		}
		return 0
	}},
	{"TanhGrad", TanhGrad[float32], TanhGrad[float64], nil, func(a, b float64) float64 { return a * (1 - b*b) }},
	{"SigmoidGrad", SigmoidGrad[float32], SigmoidGrad[float64], nil, func(a, b float64) float64 { return a * (b * (1 - b)) }},
}

func TestBinary(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, c := range binaries {
			for _, n := range lengths {
				a, b := random[float32](rng, n), random[float32](rng, n+3)
				dst := random[float32](rng, n)
				c.f32(dst, a, b)
				for i := range dst {
					want := c.ref(float64(a[i]), float64(b[i]))
					size := max(math.Abs(float64(a[i])), math.Abs(want))
					require.InDelta(t, want, float64(dst[i]), 3e-7*max(size, 1e-30)*(1+float64(b[i]*b[i])), "%s n %d i %d", c.name, n, i)
				}
				c.f32(a, a, b) // in place
				require.Equal(t, dst, a, "%s in place", c.name)
			}
			a64, b64, d64 := random[float64](rng, 37), random[float64](rng, 37), make([]float64, 37)
			c.f64(d64, a64, b64)
			for i := range d64 {
				require.InEpsilon(t, 1+c.ref(a64[i], b64[i])*0+math.Abs(c.ref(a64[i], b64[i])), 1+math.Abs(d64[i]), 1e-14)
				require.Equal(t, math.Signbit(c.ref(a64[i], b64[i])), math.Signbit(d64[i]), c.name)
			}
		}
	})
}

func TestBinarySpecialValues(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, c := range binaries {
			for _, b := range special {
				a, bs, dst := make([]float32, 0, 64), make([]float32, 64), make([]float32, 64)
				for len(a) < 64 {
					a = append(a, special[len(a)%len(special)])
				}
				for i := range bs {
					bs[i] = b
				}
				c.f32(dst, a, bs)
				for i, got := range dst {
					if c.exact != nil {
						require.True(t, equal(c.exact(a[i], b), got), "%s(%v, %v) = %v", c.name, a[i], b, got)
						continue
					}
					if want := c.ref(float64(a[i]), float64(b)); math.IsNaN(want) {
						require.True(t, got != got, "%s(%v, %v) = %v, want NaN", c.name, a[i], b, got)
					} else if c.name == "Max" || c.name == "Min" {
						require.Equal(t, float32(want), got, "%s(%v, %v)", c.name, a[i], b)
					}
				}
			}
		}
	})
}
