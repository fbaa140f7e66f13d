package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// drawLongs draws integers of any magnitude, including the ends of their range and pairs of equal ones.
func drawLongs(r *rand.Rand, n int) []int64 {
	x := make([]int64, n)
	for i := range x {
		switch x[i] = int64(r.Uint64()) >> r.IntN(64); r.IntN(8) {
		case 0:
			x[i] = math.MinInt64 + int64(r.IntN(2))
		case 1:
			x[i] = math.MaxInt64 - int64(r.IntN(2))
		case 2:
			x[i] = int64(r.IntN(5) - 2)
		}
	}
	return x
}

func ulongs(x []int64) []uint64 {
	y := make([]uint64, len(x))
	for i, v := range x {
		y[i] = uint64(v)
	}
	return y
}

// TestLongs compares with Go's operators, at any length, also if the result overwrites an operand, and at the ends of
// memory.
func TestLongs(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 8))
		for _, n := range []int{1, 3, 7, 8, 9, 16, 31, 100, 4099} {
			a, b := guard.Copy(t, make([]int64, n), false), guard.Copy(t, make([]int64, n), false)
			copy(a, drawLongs(r, n))
			copy(b, drawLongs(r, n))
			for i := range n / 4 {
				b[4*i] = a[4*i]
			}
			check := func(name string, f func(dst, a, b []int64), want func(a, b int64) int64) {
				dst, own := guard.Copy(t, make([]int64, n), false), append([]int64(nil), a...)
				f(dst, a, b)
				f(own, own, b)
				for i := range a {
					require.Equal(t, want(a[i], b[i]), dst[i], "%s of %d and %d, %d of %d", name, a[i], b[i], i, n)
				}
				require.Equal(t, append([]int64(nil), dst...), own, name)
			}
			low, high := guard.Copy(t, a, false), guard.Copy(t, b, false)
			OrderLongs(low, high)
			for i := range a {
				require.Equal(t, [2]int64{min(a[i], b[i]), max(a[i], b[i])}, [2]int64{low[i], high[i]}, "%d and %d, %d of %d", a[i], b[i], i, n)
			}
			one := func(f func(dst, x []int64)) func(dst, a, b []int64) { return func(dst, a, _ []int64) { f(dst, a) } }
			signless := func(f func(dst, a, b []uint64)) func(dst, a, b []int64) {
				return func(dst, a, b []int64) {
					y := make([]uint64, len(dst))
					f(y, ulongs(a), ulongs(b))
					for i, v := range y {
						dst[i] = int64(v)
					}
				}
			}
			check("sum", AddLongs, func(a, b int64) int64 { return a + b })
			check("difference", SubLongs, func(a, b int64) int64 { return a - b })
			check("maximum", MaxLongs, func(a, b int64) int64 { return max(a, b) })
			check("minimum", MinLongs, func(a, b int64) int64 { return min(a, b) })
			check("maximum without signs", signless(MaxUlongs), func(a, b int64) int64 { return int64(max(uint64(a), uint64(b))) })
			check("minimum without signs", signless(MinUlongs), func(a, b int64) int64 { return int64(min(uint64(a), uint64(b))) })
			check("opposite", one(NegLongs), func(a, _ int64) int64 { return -a })
			check("magnitude", one(AbsLongs), func(a, _ int64) int64 {
				if a < 0 {
					return -a
				}
				return a
			})
			check("sign", one(SignLongs), func(a, _ int64) int64 {
				switch {
				case a > 0:
					return 1
				case a < 0:
					return -1
				}
				return 0
			})
			for k, name := range []string{"=", "≠", "<", "≤"} {
				dst, without := guard.Copy(t, make([]uint8, n), false), guard.Copy(t, make([]uint8, n), false)
				CompareLongs(Relation(k), dst, a, b)
				CompareLongs(Relation(k), without, ulongs(a), ulongs(b))
				for i, v := range a {
					w := b[i]
					require.Equal(t, [...]bool{v == w, v != w, v < w, v <= w}[k], dst[i] == 1, "%d %s %d", v, name, w)
					x, y := uint64(v), uint64(w)
					require.Equal(t, [...]bool{x == y, x != y, x < y, x <= y}[k], without[i] == 1, "%d %s %d", x, name, y)
				}
			}
		}
	})
}

// TestDoublesAndFloats: conversions round once, and keep infinities and NaN.
func TestDoublesAndFloats(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 8))
		for _, n := range []int{1, 7, 8, 15, 16, 100, 4099} {
			x, y := guard.Copy(t, make([]float64, n), false), guard.Copy(t, make([]float32, n), false)
			for i := range x {
				x[i] = math.Ldexp(r.NormFloat64(), r.IntN(240)-110)
				if i%11 == 3 {
					x[i] = []float64{math.Inf(1), math.NaN(), math.Copysign(0, -1), 1e300, 1 + 0x1p-24, 1 + 0x3p-24}[r.IntN(6)]
				}
			}
			DoublesToFloats(y, x)
			back := guard.Copy(t, make([]float64, n), false)
			FloatsToDoubles(back, y)
			for i, v := range x {
				require.Equal(t, math.Float32bits(float32(v)), math.Float32bits(y[i]), v)
				require.Equal(t, math.Float64bits(float64(y[i])), math.Float64bits(back[i]), v)
			}
		}
	})
}
