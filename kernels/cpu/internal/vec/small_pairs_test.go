package vec

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

func intTypeOf[T Small | int32 | uint32]() IntType {
	t := IntType(2 * (bits.Len(uint(unsafe.Sizeof(T(0)))) - 1))
	if ^T(0) > 0 {
		t++
	}
	return t
}

func pointer[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// requirePairs compares operations on integers with Go's own, element by element.
func requirePairs[T Small](t *testing.T, a, b []T) {
	size := int(unsafe.Sizeof(T(0)))
	for op, want := range map[SmallPair]func(x, y T) T{
		SmallDiv: func(x, y T) T {
			if y == 0 {
				return 0
			}
			return x / y
		},
		SmallRem: func(x, y T) T {
			if y == 0 {
				return 0
			}
			return x % y
		},
		SmallShiftLeft:  func(x, y T) T { return x << uint64(y) },
		SmallShiftRight: func(x, y T) T { return x >> uint64(y) },
	} {
		got := make([]T, len(a))
		done := SmallPairs(op, intTypeOf[T](), pointer(got), pointer(a), pointer(b), len(a))
		if packs() {
			require.Greater(t, done, len(a)-16)
		}
		for i := range done {
			require.Equal(t, want(a[i], b[i]), got[i], "operation %d of %d and %d, %d bytes", op, a[i], b[i], size)
		}
	}
	requirePowers(t, a, b)
}

func requirePowers[T Small | int32 | uint32](t *testing.T, a, b []T) {
	got := make([]T, len(a))
	for i := range PowInts(intTypeOf[T](), pointer(got), pointer(a), pointer(b), len(a)) {
		want, x, minusOne := T(1), a[i], T(0)
		minusOne--
		for e := uint64(b[i]); e > 0; e >>= 1 {
			if e&1 == 1 {
				want *= x
			}
			x *= x
		}
		if b[i] < 0 && a[i] != 1 && a[i] != minusOne {
			want = 0
		}
		require.Equal(t, want, got[i], "%d to the power %d", a[i], b[i])
	}
}

// everyPair lists all pairs of bytes.
func everyPair[T int8 | uint8]() (a, b []T) {
	for x := range 256 {
		for y := range 256 {
			a, b = append(a, T(x)), append(b, T(y))
		}
	}
	return a, b
}

// drawPairs draws integers, including small ones, the largest ones and zeros.
func drawPairs[T Small | int32 | uint32](r *rand.Rand, n int) (a, b []T) {
	draw := func() T {
		switch r.IntN(4) {
		case 0:
			return T(r.IntN(20)) - 5
		case 1:
			edges := []uint64{0, 1, math.MaxUint64, math.MaxInt16, math.MaxInt16 + 1, math.MaxInt32, math.MaxInt32 + 1, 8, 16, 32}
			return T(edges[r.IntN(len(edges))])
		}
		return T(r.Uint64())
	}
	for range n {
		a, b = append(a, draw()), append(b, draw())
	}
	return a, b
}

// TestSmallPairs compares divisions, remainders, shifts and powers of small integers with Go's: all pairs of single
// bytes, and random ones of other types, also by 0 and of the smallest numbers.
func TestSmallPairs(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		int8s, by := everyPair[int8]()
		requirePairs(t, int8s, by)
		uint8s, to := everyPair[uint8]()
		requirePairs(t, uint8s, to)
		r := rand.New(rand.NewPCG(8, 16))
		int16s, by16 := drawPairs[int16](r, 20011)
		requirePairs(t, int16s, by16)
		uint16s, to16 := drawPairs[uint16](r, 20011)
		requirePairs(t, uint16s, to16)
		int32s, by32 := drawPairs[int32](r, 5003)
		requirePowers(t, int32s, by32)
		uint32s, to32 := drawPairs[uint32](r, 5003)
		requirePowers(t, uint32s, to32)
		requireEdges[uint8](t)
		requireEdges[uint16](t)
		requireEdges[int32](t)
	})
}

// requireEdges compares powers where one exponent is larger than the others, at the end of memory.
func requireEdges[T uint8 | uint16 | int32](t *testing.T) {
	for n := 1; n <= 40; n++ {
		a, b := guard.Copy(t, make([]T, n), false), guard.Copy(t, make([]T, n), false)
		for i := range n {
			a[i], b[i] = T(i+2), 1
		}
		for i := range n {
			b[i] = 5
			requirePowers(t, a, b)
			b[i] = 1
		}
		if x, ok := any(a).([]uint8); ok {
			requirePairs(t, x, any(b).([]uint8))
		}
		if x, ok := any(a).([]uint16); ok {
			requirePairs(t, x, any(b).([]uint16))
		}
	}
}

// TestBytesOfDoubles compares comparisons and choices of float64 with plain Go.
func TestBytesOfDoubles(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(8, 64))
		for _, n := range []int{0, 1, 7, 8, 9, 100, 1003, 1<<14 + 9} {
			x, y, bytes := make([]float64, n), make([]float64, n), make([]uint8, n)
			for i := range x {
				x[i], y[i] = special64[r.IntN(len(special64))], special64[r.IntN(len(special64))]
			}
			for relation, want := range map[Relation]func(a, b float64) bool{Equal: func(a, b float64) bool { return a == b },
				NotEqual: func(a, b float64) bool { return a != b }, Less: func(a, b float64) bool { return a < b },
				LessEqual: func(a, b float64) bool { return a <= b }} {
				CompareDoubles(relation, bytes, x, y)
				for i := range x {
					require.Equal(t, want(x[i], y[i]), bytes[i] == 1, "relation %d of %v and %v", relation, x[i], y[i])
				}
			}
			FiniteDoubles(bytes, x)
			a, b, got := make([]uint64, n), make([]uint64, n), make([]uint64, n)
			for i, v := range x {
				require.Equal(t, v-v == 0, bytes[i] == 1, "%v", v)
				a[i], b[i] = r.Uint64(), r.Uint64()
			}
			ChooseWords(got, bytes, a, b)
			for i, m := range bytes {
				require.Equal(t, []uint64{b[i], a[i]}[m], got[i])
			}
		}
	})
}
