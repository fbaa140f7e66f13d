package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func mixed(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		if x[i] = float32(r.NormFloat64()); i%3 == 0 {
			x[i] = special[r.IntN(len(special))]
		}
	}
	return x
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func TestComparisons(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, n := range lengths {
			a, b := mixed(r, n), mixed(r, n)
			ints, others := make([]int32, n), make([]int32, n)
			for i := range n {
				if i%5 == 0 {
					b[i] = a[i]
				}
				ints[i], others[i] = int32(r.Uint32()), int32(r.Uint32())
				if i%2 == 0 {
					ints[i], others[i] = int32(r.IntN(3)-1), int32(r.IntN(3)-1)
				}
			}
			dst := make([]uint8, n)
			for relation, want := range []func(i int) (bool, bool){
				func(i int) (bool, bool) { return a[i] == b[i], ints[i] == others[i] },
				func(i int) (bool, bool) { return a[i] != b[i], ints[i] != others[i] },
				func(i int) (bool, bool) { return a[i] < b[i], ints[i] < others[i] },
				func(i int) (bool, bool) { return a[i] <= b[i], ints[i] <= others[i] },
			} {
				CompareFloats(Relation(relation), dst, a, b)
				for i := range n {
					w, _ := want(i)
					require.Equal(t, bit(w), dst[i], "relation %d of %v and %v", relation, a[i], b[i])
				}
				CompareInts(Relation(relation), dst, ints, others)
				for i := range n {
					_, w := want(i)
					require.Equal(t, bit(w), dst[i], "relation %d of %v and %v", relation, ints[i], others[i])
				}
			}
			NotZero(dst, a)
			for i := range n {
				require.Equal(t, bit(a[i] != 0), dst[i], "NotZero(%v)", a[i])
			}
			Finite(dst, a)
			for i := range n {
				require.Equal(t, bit(a[i]-a[i] == 0), dst[i], "Finite(%v)", a[i])
			}
			result := make([]uint32, n)
			x, y := make([]uint32, n), make([]uint32, n)
			for i := range n {
				x[i], y[i], dst[i] = r.Uint32(), r.Uint32(), uint8(r.IntN(2))*uint8(1+r.IntN(255))
			}
			Choose(result, dst, x, y)
			for i := range n {
				w := y[i]
				if dst[i] != 0 {
					w = x[i]
				}
				require.Equal(t, w, result[i])
			}
		}
	})
}

func TestConversionsOfIntegers(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, n := range lengths {
			x, bytes, ints := mixed(r, n), make([]uint8, n), make([]int32, n)
			for i := range n {
				if i%4 == 1 {
					x[i] = float32(r.NormFloat64() * 0x1p31)
				}
				bytes[i], ints[i] = uint8(r.Uint32()), int32(r.Uint32())
			}
			floats, got := make([]float32, n), make([]int32, n)
			BytesToFloats(floats, bytes)
			for i := range n {
				require.Equal(t, float32(bytes[i]), floats[i])
			}
			IntsToFloats(floats, ints)
			for i := range n {
				require.Equal(t, float32(ints[i]), floats[i])
			}
			FloatsToInts(got, x)
			for i := range n {
				f := math.Trunc(float64(x[i]))
				want := int32(max(min(f, math.MaxInt32), math.MinInt32))
				if f != f {
					want = 0
				}
				require.Equal(t, want, got[i], "%v", x[i])
			}
		}
	})
}

func TestIntegerArithmetic(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, n := range lengths {
			a, b, dst := make([]int32, n), make([]int32, n), make([]int32, n)
			for i := range n {
				a[i], b[i] = int32(r.Uint32()), int32(r.Uint32())
				if i%3 > 0 { // so that shift amounts are in range, or just outside
					b[i] = int32(r.IntN(40) - 3)
				}
			}
			for _, c := range []struct {
				run  func(dst, a, b []int32)
				want func(x, y int32) int32
			}{
				{AddInts, func(x, y int32) int32 { return x + y }},
				{SubInts, func(x, y int32) int32 { return x - y }},
				{MulInts, func(x, y int32) int32 { return x * y }},
				{MaxInts, func(x, y int32) int32 { return max(x, y) }},
				{MinInts, func(x, y int32) int32 { return min(x, y) }},
				{ShiftInts, func(x, y int32) int32 { return x << uint32(y) }},
				{ShiftIntsRight, func(x, y int32) int32 { return x >> uint32(y) }},
				{ShiftUintsRight, func(x, y int32) int32 { return int32(uint32(x) >> uint32(y)) }},
			} {
				c.run(dst, a, b)
				for i := range n {
					require.Equal(t, c.want(a[i], b[i]), dst[i])
				}
			}
			p, q, s := make([]uint8, n), make([]uint8, n), make([]uint8, n)
			for i := range n {
				p[i], q[i] = uint8(r.Uint32()), uint8(r.Uint32())
			}
			for op, want := range []func(x, y uint8) uint8{
				func(x, y uint8) uint8 { return x & y }, func(x, y uint8) uint8 { return x | y }, func(x, y uint8) uint8 { return x ^ y },
			} {
				Bits(BitOp(op), s, p, q)
				for i := range n {
					require.Equal(t, want(p[i], q[i]), s[i])
				}
			}
			Flip(s, p, 0x0101010101010101)
			for i := range n {
				require.Equal(t, p[i]^1, s[i])
			}
		}
	})
}
