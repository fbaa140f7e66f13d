package vec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSmalls computes integers of one and two bytes beside Go's own operators, all pairs of bytes among them.
func TestSmalls(t *testing.T) {
	testSmalls[int8](t)
	testSmalls[uint8](t)
	testSmalls[int16](t)
	testSmalls[uint16](t)
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
			SmallMax: func(x, y T) T { return max(x, y) }, SmallMin: func(x, y T) T { return min(x, y) }} {
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

// TestSmallsInPlace: results take the place of either operand, and bytes of comparisons too.
func TestSmallsInPlace(t *testing.T) {
	for n := range 40 {
		a, b, want := make([]uint8, n), make([]uint8, n), make([]uint8, n)
		for i := range a {
			a[i], b[i] = uint8(rand.IntN(5)), uint8(rand.IntN(5))
		}
		all := map[string]func(dst, a, b []uint8){}
		for op := SmallAdd; op <= SmallMin; op++ {
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

// TestChooseSmalls picks elements of one and two bytes, into other memory or in place of any operand.
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
