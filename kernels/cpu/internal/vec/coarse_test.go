package vec

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
)

// TestCoarseFunctions computes all numbers of bfloat16, and others of every magnitude, as before rounding to bfloat16:
// with subnormals and, as in programs, with subnormals flushed. Subnormal results may be zeros.
func TestCoarseFunctions(t *testing.T) {
	slope := func(x float64) float64 {
		if math.IsInf(x, 0) {
			return math.NaN()
		}
		return exactSlope(x)
	}
	of := func(dst, x []float32) {
		ones := make([]float32, len(x))
		for i := range ones {
			ones[i] = 1
		}
		CoarseGeluGrad(dst, ones, x)
	}
	var halves []float32
	for i := range 1 << 16 {
		halves = append(halves, math.Float32frombits(uint32(i)<<16))
	}
	forFlushing(t, func(t *testing.T) {
		for _, c := range []struct {
			name               string
			run                func(dst, x []float32)
			want               func(float64) float64
			relative, absolute float64
		}{
			{"CoarseGelu", CoarseGelu, exactGelu, 0x1p-15, 0x1p-126},
			{"CoarseExp", CoarseExp, math.Exp, 0x1p-15, 0x1p-126},
			{"CoarseSigmoid", CoarseSigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 0x1p-15, 0x1p-126},
			{"CoarseGeluGrad", of, slope, 0x1p-15, 0x1p-24}, // near its zero
		} {
			worst, worstHalf := 0.0, 0.0
			check := func(x []float32) {
				dst := make([]float32, len(x))
				c.run(dst, x)
				for i, got := range dst {
					want := c.want(float64(x[i]))
					if want > math.MaxFloat32 {
						want = math.Inf(1)
					}
					if math.IsNaN(want) {
						require.True(t, got != got, "%s(%v) = %v, want NaN", c.name, x[i], got)
						continue
					}
					diff, size := math.Abs(float64(got)-want), math.Abs(want)
					if float64(got) == want {
						continue
					}
					if diff > c.relative*size+c.absolute {
						t.Fatalf("%s(%v) = %v, want %v: relative error %.3g", c.name, x[i], got, want, diff/size)
					}
					if size > 0x1p-120 && len(x) > 60000 {
						worstHalf = max(worstHalf, diff/size)
					} else if size > 0x1p-120 {
						worst = max(worst, diff/size)
					}
				}
			}
			check(halves)
			require.LessOrEqual(t, otherwise(c.run, c.want, halves), 20, c.name)
			sweep(check)
			t.Logf("%s: largest relative error %.3g of bfloat16, %.3g of any number; %d rounded otherwise", c.name, worstHalf, worst,
				otherwise(c.run, c.want, halves))
		}
	})
}

// forFlushing runs a test for the levels, in both modes of arithmetic.
func forFlushing(t *testing.T, test func(t *testing.T)) {
	forLevels(t, func(t *testing.T) {
		t.Run("kept", test)
		t.Run("flushed", func(t *testing.T) {
			defer flush.EnterZero().Leave()
			test(t)
		})
	})
}

// otherwise counts the numbers whose result rounds to another bfloat16 than the exact result.
func otherwise(run func(dst, x []float32), want func(float64) float64, x []float32) (count int) {
	got, exact := make([]float32, len(x)), make([]float32, len(x))
	run(got, x)
	for i, v := range x {
		if exact[i] = float32(want(float64(v))); math.Abs(float64(exact[i])) < 0x1p-120 || exact[i] != exact[i] {
			got[i], exact[i] = 0, 0
		}
	}
	a, b := make([]uint16, len(x)), make([]uint16, len(x))
	Float32ToBF16(a, got)
	Float32ToBF16(b, exact)
	for i := range a {
		if a[i] != b[i] {
			count++
		}
	}
	return count
}
