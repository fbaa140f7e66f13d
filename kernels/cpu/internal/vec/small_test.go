package vec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSmalls compares operations on 8-bit and 16-bit integers with Go's operators, including all pairs of bytes.
func TestSmalls(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		testSmalls[int8](t)
		testSmalls[uint8](t)
		testSmalls[int16](t)
		testSmalls[uint16](t)
		testSmallsOf[int8](t)
		testSmallsOf[int16](t)
		testWidened[int8](t)
		testWidened[int16](t)
		testWidened[uint16](t)
		testWords(t)
	})
}

// testSmallsOf and testWidened go through all numbers.
func testSmallsOf[T int8 | int16](t *testing.T) {
	x, got := make([]T, 1<<16+5), make([]T, 1<<16+5)
	for i := range x {
		x[i] = T(i)
	}
	for op, f := range map[SmallUnary]func(v T) T{SmallNeg: func(v T) T { return -v }, SmallAbs: func(v T) T { return max(v, -v) },
		SmallSign: func(v T) T { return min(max(v, -1), 1) }} {
		SmallsOf(op, got, x)
		for i, v := range x {
			if got[i] != f(v) {
				require.Equal(t, f(v), got[i], "operation %d of %d, %T", op, v, v)
			}
		}
	}
}

func testWidened[T int8 | int16 | uint16](t *testing.T) {
	x, ints, floats := make([]T, 1<<16+5), make([]int32, 1<<16+5), make([]float32, 1<<16+5)
	for i := range x {
		x[i] = T(i)
	}
	SmallsToInts(ints, x)
	SmallsToFloats(floats, x)
	for i, v := range x {
		if ints[i] != int32(v) || floats[i] != float32(v) {
			require.Failf(t, "wrong", "%T %d: %d, %v", v, v, ints[i], floats[i])
		}
	}
}

// testWords computes functions of one 32-bit number, and maxima and minima of unsigned ones.
func testWords(t *testing.T) {
	for _, n := range []int{0, 1, 7, 16, 100, 1000} {
		x, y, got := make([]int32, n), make([]uint32, n), make([]int32, n)
		other, extremes := make([]uint32, n), make([]uint32, n)
		for i := range x {
			x[i], y[i], other[i] = int32(rand.Uint32()), rand.Uint32(), rand.Uint32()
			if i%4 == 0 {
				x[i] = []int32{0, -1 << 31, 1<<31 - 1, -1}[i/4%4]
			}
		}
		for name, f := range map[string]struct {
			run  func(dst, x []int32)
			want func(v int32) int32
		}{"neg": {NegInts, func(v int32) int32 { return -v }}, "abs": {AbsInts, func(v int32) int32 { return max(v, -v) }},
			"sign": {SignInts, func(v int32) int32 { return min(max(v, -1), 1) }}} {
			f.run(got, x)
			for i, v := range x {
				require.Equal(t, f.want(v), got[i], "%s of %d", name, v)
			}
		}
		Uint32Max(extremes, y, other)
		for i, v := range extremes {
			require.Equal(t, max(y[i], other[i]), v)
		}
		Uint32Min(extremes, y, other)
		for i, v := range extremes {
			require.Equal(t, min(y[i], other[i]), v)
		}
	}
}

func testSmalls[T Small](t *testing.T) {
	for _, n := range []int{0, 1, 3, 4, 7, 8, 9, 31, 1 << 16} {
		a, b, got, bools := make([]T, n), make([]T, n), make([]T, n), make([]uint8, n)
		for i := range a {
			a[i], b[i] = T(i), T(i>>8)
			if i%5 == 0 {
				a[i] = T(rand.Uint32())
			}
			if i%7 == 0 {
				b[i] = a[i]
			}
		}
		for op, f := range map[SmallOp]func(x, y T) T{SmallAdd: func(x, y T) T { return x + y }, SmallSub: func(x, y T) T { return x - y },
			SmallMax: func(x, y T) T { return max(x, y) }, SmallMin: func(x, y T) T { return min(x, y) }, SmallMul: func(x, y T) T { return x * y }} {
			Smalls(op, got, a, b)
			for i, v := range a {
				if got[i] != f(v, b[i]) {
					require.Equal(t, f(v, b[i]), got[i], "operation %d of %d and %d, %T", op, v, b[i], v)
				}
			}
		}
		for r := Equal; r <= LessEqual; r++ {
			CompareSmalls(r, bools, a, b)
			for i, v := range a {
				if bools[i] != r.of(v < b[i], v == b[i]) {
					require.Failf(t, "wrong", "relation %d of %d and %d, %T: %d", r, v, b[i], v, bools[i])
				}
			}
		}
	}
}

// TestSmallsInPlace: results may replace either operand, and so may the bytes of comparisons.
func TestSmallsInPlace(t *testing.T) {
	for _, n := range append([]int{64, 77, 511, 512, 513, 1100}, rand.Perm(40)...) {
		a, b, want := make([]uint8, n), make([]uint8, n), make([]uint8, n)
		for i := range a {
			a[i], b[i] = uint8(rand.IntN(5)), uint8(rand.IntN(5))
		}
		all := map[string]func(dst, a, b []uint8){}
		for op := SmallAdd; op <= SmallMul; op++ {
			all[fmt.Sprint("operation ", op)] = func(dst, a, b []uint8) { Smalls(op, dst, a, b) }
		}
		for r := Equal; r <= LessEqual; r++ {
			all[fmt.Sprint("relation ", r)] = func(dst, a, b []uint8) { CompareSmalls(r, dst, a, b) }
		}
		for name, f := range all {
			f(want, a, b)
			x, y := slices.Clone(a), slices.Clone(b)
			f(x, x, b)
			f(y, a, y)
			require.Equal(t, want, x, "%s, %d over the first", name, n)
			require.Equal(t, want, y, "%s, %d over the second", name, n)
		}
	}
}

// TestChooseSmalls selects 8-bit and 16-bit elements, into other memory or in place of any operand.
func TestChooseSmalls(t *testing.T) {
	testChooseSmalls[uint8](t)
	testChooseSmalls[uint16](t)
}

func testChooseSmalls[T uint8 | uint16](t *testing.T) {
	for n := range 40 {
		where, a, b, got := make([]uint8, n), make([]T, n), make([]T, n), make([]T, n)
		for i := range a {
			where[i], a[i], b[i] = uint8(rand.IntN(2)), T(rand.Uint32()), T(rand.Uint32())
		}
		ChooseSmalls(got, where, a, b)
		for i, v := range where {
			want := b[i]
			if v == 1 {
				want = a[i]
			}
			require.Equal(t, want, got[i])
		}
		x, y := slices.Clone(a), slices.Clone(b)
		ChooseSmalls(x, where, x, b)
		ChooseSmalls(y, where, a, y)
		require.Equal(t, got, x, "%d over the first", n)
		require.Equal(t, got, y, "%d over the second", n)
		if place, ok := any(where).([]T); ok {
			ChooseSmalls(place, where, a, b)
			require.Equal(t, got, place, "%d over the bytes", n)
		}
	}
}
