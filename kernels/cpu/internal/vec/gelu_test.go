package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func exactGelu(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }

func exactSlope(x float64) float64 {
	return math.Erfc(-x/math.Sqrt2)/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
}

// TestGeluAccuracy visits numbers of every exponent, more densely around 0. In the far tail, the rounding of x² costs
// x²/2 ULP.
func TestGeluAccuracy(t *testing.T) {
	one := func(x []float32) []float32 {
		y := make([]float32, len(x))
		for i := range y {
			y[i] = 1
		}
		return y
	}
	forLevels(t, func(t *testing.T) {
		for _, c := range []struct {
			name     string
			run      func(dst, x []float32)
			want     func(float64) float64
			relative float64
			absolute func(x float64) float64
		}{
			{"Gelu", Gelu[float32], exactGelu, 4e-7, func(float64) float64 { return 0 }},
			{"GeluGrad", func(dst, x []float32) { GeluGrad(dst, one(x), x) }, exactSlope, 4e-7, func(x float64) float64 {
				x = min(math.Abs(x), 50)
				return 2e-7 * math.Exp(-x*x/2) * (1 + x) // the two terms cancel near -0.75
			}},
		} {
			worst, far := 0.0, 0.0
			sweep(func(x []float32) {
				dst := make([]float32, len(x))
				c.run(dst, x)
				for i, got := range dst {
					v := float64(x[i])
					want := c.want(v)
					if math.IsNaN(want) {
						require.True(t, got != got, "%s(%v) = %v, want NaN", c.name, x[i], got)
						continue
					}
					if math.IsInf(v, 1) {
						require.Equal(t, float32(want), got, "%s(%v)", c.name, x[i])
						continue
					}
					diff, size := math.Abs(float64(got)-want), math.Abs(want)
					if size >= 0x1p-126 && c.absolute(v) < 1e-8*size {
						if v < -4 {
							far = max(far, diff/size)
						} else {
							worst = max(worst, diff/size)
						}
					}
					if bound := c.relative; !(diff <= (bound+min(v*v, 300)*0x1p-24)*size+c.absolute(v)+0x1p-149) {
						t.Fatalf("%s(%v) = %v, want %v: relative error %.3g", c.name, x[i], got, want, diff/size)
					}
				}
			})
			t.Logf("%s: largest relative error %.3g, below -4 %.3g", c.name, worst, far)
		}
	})
}

func TestGeluSpecialValues(t *testing.T) {
	inf := float32(math.Inf(1))
	x := []float32{inf, 0, float32(math.Copysign(0, -1)), -20, 20, -1e30, 1e30, -inf, math.Float32frombits(0x7f800001), math.Float32frombits(0xffffffff)}
	nan := func(x float32) bool { return x != x }
	forLevels(t, func(t *testing.T) {
		y, d, ones := make([]float32, len(x)), make([]float32, len(x)), []float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
		Gelu(y, x)
		GeluGrad(d, ones, x)
		require.Equal(t, []float32{inf, 0, 0, 0, 20, 0, 1e30}, y[:7])
		require.Equal(t, []float32{0.5, 0.5, 0, 1, 0, 1}, d[1:7])
		require.True(t, nan(y[7]) && nan(d[0]) && nan(d[7]), "0·∞")
		for i := 8; i < len(x); i++ {
			require.True(t, nan(y[i]) && nan(d[i]), "NaN of other bits")
		}
	})
	wide := []float64{-100, 100, 0, -0.75, 3}
	y, d := make([]float64, len(wide)), make([]float64, len(wide))
	Gelu(y, wide)
	GeluGrad(d, []float64{2, 2, 2, 2, 2}, wide)
	for i, v := range wide {
		require.InDelta(t, exactGelu(v), y[i], 1e-15)
		require.InDelta(t, 2*exactSlope(v), d[i], 1e-15)
	}
}

// TestGeluPosition computes the same values in vectors and in tails of every length, in place too.
func TestGeluPosition(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		x := random[float32](rand.New(rand.NewPCG(15, 6)), 70)
		want, slope := make([]float32, 70), make([]float32, 70)
		Gelu(want, x)
		GeluGrad(slope, x, x)
		for first := range 40 {
			for n := range 30 {
				got, d := slices.Clone(x[first:first+n]), slices.Clone(x[first:first+n])
				Gelu(got, got)
				GeluGrad(d, d, d)
				require.Equal(t, want[first:first+n], got)
				require.Equal(t, slope[first:first+n], d)
			}
		}
	})
}
