package vec

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// chainReference computes a step element by element, in plain Go.
type chainReference[T Float] struct {
	op     ChainOp
	number bool
	v      func(v, x T, y uint8) T
	y      func(v, x T) bool
	hold   bool // the result of y is held
	held   bool // y is called with what is held
	both   func(v, x, y T) T
}

func larger[T Float](a, b T) T { // b if they are equal
	if a > b || a != a {
		return a
	}
	return b
}

func smaller[T Float](a, b T) T {
	if a < b || a != a {
		return a
	}
	return b
}

func unaryReference[T Float](f func(float64) float64) func(v, x T, y uint8) T {
	return func(v, _ T, _ uint8) T { return T(f(float64(v))) }
}

func chosen[T Float](v, x T, y uint8) T {
	if y != 0 {
		return v
	}
	return x
}

func chosenOther[T Float](v, x T, y uint8) T { return chosen(x, v, y) }

func chainReferences[T Float]() []chainReference[T] {
	return []chainReference[T]{
		{op: ChainLoad, v: func(_, x T, _ uint8) T { return x }},
		{op: ChainLoadNumber, number: true, v: func(_, x T, _ uint8) T { return x }},
		{op: ChainAdd, v: func(v, x T, _ uint8) T { return v + x }},
		{op: ChainSub, v: func(v, x T, _ uint8) T { return v - x }},
		{op: ChainSubFrom, v: func(v, x T, _ uint8) T { return x - v }},
		{op: ChainMul, v: func(v, x T, _ uint8) T { return v * x }},
		{op: ChainDiv, v: func(v, x T, _ uint8) T { return v / x }},
		{op: ChainDivInto, v: func(v, x T, _ uint8) T { return x / v }},
		{op: ChainMax, v: func(v, x T, _ uint8) T { return larger(v, x) }},
		{op: ChainMaxFrom, v: func(v, x T, _ uint8) T { return larger(x, v) }},
		{op: ChainMin, v: func(v, x T, _ uint8) T { return smaller(v, x) }},
		{op: ChainMinFrom, v: func(v, x T, _ uint8) T { return smaller(x, v) }},
		{op: ChainAddNumber, number: true, v: func(v, x T, _ uint8) T { return v + x }},
		{op: ChainSubNumber, number: true, v: func(v, x T, _ uint8) T { return v - x }},
		{op: ChainMulNumber, number: true, v: func(v, x T, _ uint8) T { return v * x }},
		{op: ChainMaxNumber, number: true, v: func(v, x T, _ uint8) T { return larger(x, v) }},
		{op: ChainMinNumber, number: true, v: func(v, x T, _ uint8) T { return smaller(x, v) }},
		{op: ChainNeg, v: func(v, _ T, _ uint8) T { return -v }},
		{op: ChainAbs, v: unaryReference[T](math.Abs)},
		{op: ChainRelu, v: func(v, _ T, _ uint8) T { return larger(0, v) }},
		{op: ChainSqrt, v: unaryReference[T](math.Sqrt)},
		{op: ChainFloor, v: unaryReference[T](math.Floor)},
		{op: ChainCeil, v: unaryReference[T](math.Ceil)},
		{op: ChainRound, v: unaryReference[T](math.RoundToEven)},
		{op: ChainSign, v: func(v, _ T, _ uint8) T {
			switch {
			case v > 0:
				return 1
			case v < 0:
				return -1
			}
			return v
		}},
		{op: ChainKeepPositive, v: func(v, x T, _ uint8) T {
			if x > 0 {
				return v
			}
			return 0
		}},
		{op: ChainWherePositive, v: func(v, x T, _ uint8) T {
			if v > 0 {
				return x
			}
			return 0
		}},
		{op: ChainEqual, y: func(v, x T) bool { return v == x }},
		{op: ChainNotEqual, y: func(v, x T) bool { return v != x }},
		{op: ChainLess, y: func(v, x T) bool { return v < x }},
		{op: ChainLessEqual, y: func(v, x T) bool { return v <= x }},
		{op: ChainGreater, y: func(v, x T) bool { return v > x }},
		{op: ChainGreaterEqual, y: func(v, x T) bool { return v >= x }},
		{op: ChainHoldEqual, hold: true, y: func(v, x T) bool { return v == x }},
		{op: ChainHoldNotEqual, hold: true, y: func(v, x T) bool { return v != x }},
		{op: ChainHoldLess, hold: true, y: func(v, x T) bool { return v < x }},
		{op: ChainHoldLessEqual, hold: true, y: func(v, x T) bool { return v <= x }},
		{op: ChainHoldGreater, hold: true, y: func(v, x T) bool { return v > x }},
		{op: ChainHoldGreaterEqual, hold: true, y: func(v, x T) bool { return v >= x }},
		{op: ChainHoldEqualNumber, number: true, hold: true, y: func(v, x T) bool { return v == x }},
		{op: ChainHoldNotEqualNumber, number: true, hold: true, y: func(v, x T) bool { return v != x }},
		{op: ChainHoldLessNumber, number: true, hold: true, y: func(v, x T) bool { return v < x }},
		{op: ChainHoldLessEqualNumber, number: true, hold: true, y: func(v, x T) bool { return v <= x }},
		{op: ChainHoldGreaterNumber, number: true, hold: true, y: func(v, x T) bool { return v > x }},
		{op: ChainHoldGreaterEqualNumber, number: true, hold: true, y: func(v, x T) bool { return v >= x }},
		{op: ChainChooseHeldNumber, number: true, held: true, v: chosen[T]},
		{op: ChainChooseOtherHeldNumber, number: true, held: true, v: chosenOther[T]},
		{op: ChainChooseHeld, held: true, v: chosen[T]},
		{op: ChainChooseOtherHeld, held: true, v: chosenOther[T]},
		{op: ChainFinite, y: func(v, _ T) bool { return v-v == 0 }},
		{op: ChainHoldFinite, hold: true, y: func(v, _ T) bool { return v-v == 0 }},
		{op: ChainShare, both: func(v, x, y T) T {
			switch {
			case x > y:
				return v
			case x == y:
				return v / 2
			}
			return 0
		}},
		{op: ChainChoose, v: chosen[T]},
		{op: ChainChooseOther, v: chosenOther[T]},
	}
}

// TestChains compares random chains of all steps, over operands that are written and read again, with plain Go, to the
// bit.
func TestChains(t *testing.T) { testChains[float32](t, Chain) }

// TestChains64 is the same for 64-bit floats.
func TestChains64(t *testing.T) { testChains[float64](t, Chain64) }

func testChains[T Float](t *testing.T, run func(steps []ChainStep, n int)) {
	bits := func(v T) uint64 { return math.Float64bits(float64(v)) }
	references := chainReferences[T]()
	forLevels(t, func(t *testing.T) {
		if !Chains() {
			t.Skip("no chains with the portable kernels: operations run one by one there, as the other tests see")
		}
		r := rand.New(rand.NewPCG(1, 2))
		special := []T{0, T(math.Copysign(0, -1)), 1, -1, 0.5, 2.5, T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN()), 3e38}
		for try := range 3000 {
			n := 1 + r.IntN(300)
			floats, masks := make([][]T, 4), make([][]uint8, 2)
			for i := range floats {
				floats[i] = make([]T, n)
				for j := range floats[i] {
					if floats[i][j] = 4 * T(r.NormFloat64()); r.IntN(8) == 0 {
						floats[i][j] = special[r.IntN(len(special))]
					}
				}
			}
			for i := range masks {
				masks[i] = make([]uint8, n)
				for j := range masks[i] {
					masks[i][j] = uint8(r.IntN(2))
				}
			}
			if r.IntN(8) > 0 { // NaN would hide everything else
				floats[3][0] = 1.5
			}
			wantFloats, wantMasks := copies(floats), copies(masks)
			v, held := make([]T, n), make([]uint8, n)
			var steps []ChainStep
			add := func(op ChainOp, x, y unsafe.Pointer) { steps = append(steps, ChainStep{Op: op, X: x, Y: y}) }
			if r.IntN(2) == 0 {
				add(ChainLoad, unsafe.Pointer(&floats[0][0]), nil)
				copy(v, wantFloats[0])
			} else {
				add(ChainLoadBytes, unsafe.Pointer(&masks[0][0]), nil)
				for i, m := range wantMasks[0] {
					v[i] = T(m)
				}
			}
			add(ChainHoldLess, unsafe.Pointer(&floats[1][0]), nil) // nothing has been held before
			for i, x := range wantFloats[1] {
				if v[i] < x {
					held[i] = 1
				}
			}
			for range 1 + r.IntN(14) {
				ref := references[r.IntN(len(references))]
				k, l := r.IntN(len(floats)), r.IntN(len(masks))
				if ref.number {
					k = 3 // the one that no step writes
				}
				number := wantFloats[k][0]
				other := r.IntN(len(floats))
				if ref.both != nil {
					add(ref.op, unsafe.Pointer(&floats[k][0]), unsafe.Pointer(&floats[other][0]))
				} else {
					add(ref.op, unsafe.Pointer(&floats[k][0]), unsafe.Pointer(&masks[l][0]))
				}
				for i := range v {
					if ref.both != nil {
						v[i] = ref.both(v[i], wantFloats[k][i], wantFloats[other][i])
						continue
					}
					x := wantFloats[k][i]
					if ref.number {
						x = number
					}
					m := &wantMasks[l][i]
					if ref.hold || ref.held {
						m = &held[i]
					}
					if ref.y == nil {
						v[i] = ref.v(v[i], x, *m)
					} else if *m = 0; ref.y(v[i], x) {
						*m = 1
					}
				}
				if r.IntN(3) == 0 {
					k := r.IntN(3)
					add(ChainStore, unsafe.Pointer(&floats[k][0]), nil)
					copy(wantFloats[k], v)
				}
			}
			add(ChainStore, unsafe.Pointer(&floats[0][0]), nil)
			copy(wantFloats[0], v)
			require.LessOrEqual(t, len(steps), MaxChain)
			run(steps, n)
			for i := range floats {
				for j := range floats[i] {
					if got, want := floats[i][j], wantFloats[i][j]; bits(got) != bits(want) && !(got != got && want != want) {
						t.Fatalf("chain %d: %d of %d in %d: %v, want %v; steps %v", try, j, n, i, got, want, steps)
					}
				}
			}
			require.Equal(t, wantMasks, masks, "chain %d", try)
		}
	})
}

func copies[T any](all [][]T) (out [][]T) {
	for _, x := range all {
		out = append(out, append([]T(nil), x...))
	}
	return out
}
