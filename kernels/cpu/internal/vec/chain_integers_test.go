package vec

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestIntegerChains compares random chains of steps on integers with plain Go.
func TestIntegerChains(t *testing.T) {
	both := []struct {
		op ChainOp
		f  func(v, x int32) int32
	}{
		{ChainAddInt, func(v, x int32) int32 { return v + x }}, {ChainSubInt, func(v, x int32) int32 { return v - x }},
		{ChainSubIntFrom, func(v, x int32) int32 { return x - v }}, {ChainMulInt, func(v, x int32) int32 { return v * x }},
		{ChainMaxInt, func(v, x int32) int32 { return max(v, x) }}, {ChainMinInt, func(v, x int32) int32 { return min(v, x) }},
		{ChainAnd, func(v, x int32) int32 { return v & x }}, {ChainOr, func(v, x int32) int32 { return v | x }},
		{ChainXor, func(v, x int32) int32 { return v ^ x }}, {ChainNegInt, func(v, _ int32) int32 { return -v }},
		{ChainAbsInt, func(v, _ int32) int32 { return max(v, -v) }},
		{ChainIntToFloat, func(v, _ int32) int32 { f := float32(v); return *(*int32)(unsafe.Pointer(&f)) }},
		{ChainFloatToInt, func(v, _ int32) int32 {
			x, y := []float32{*(*float32)(unsafe.Pointer(&v))}, make([]int32, 1)
			FloatsToInts(y, x)
			return y[0]
		}},
	}
	relations := []func(v, x int32) bool{
		func(v, x int32) bool { return v == x }, func(v, x int32) bool { return v != x }, func(v, x int32) bool { return v < x },
		func(v, x int32) bool { return v <= x }, func(v, x int32) bool { return v > x }, func(v, x int32) bool { return v >= x },
	}
	forLevels(t, func(t *testing.T) {
		if !Chains() {
			t.Skip("no chains with the portable kernels: operations run one by one there, as the other tests see")
		}
		r := rand.New(rand.NewPCG(5, 2))
		for range 2000 {
			n := 1 + r.IntN(300)
			x, y, masks := make([]int32, n), make([]int32, n), make([]uint8, n)
			for i := range x {
				x[i], y[i], masks[i] = int32(r.Uint32()), int32(r.IntN(5)-2), uint8(r.IntN(2))
				if r.IntN(2) == 0 {
					x[i] = int32(r.IntN(5) - 2)
				}
			}
			v, wantMasks, held := make([]int32, n), append([]uint8(nil), masks...), make([]uint8, n)
			px, py, pm := unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(&masks[0])
			steps := []ChainStep{{Op: ChainLoadByteInts, X: pm}}
			for i, m := range masks {
				v[i] = int32(m)
			}
			for k := range 12 {
				p, operand := px, x
				if r.IntN(2) == 0 {
					p, operand = py, y
				}
				number := func(s ChainStep) ChainStep { // of the first element alone
					if op, ok := s.Op.Number(); ok && r.IntN(2) == 0 {
						s.Op, operand = op, slices.Repeat(operand[:1], n)
					}
					return s
				}
				switch k := k % 3; {
				case k == 0:
					s := both[r.IntN(len(both))]
					steps = append(steps, number(ChainStep{Op: s.op, X: p}))
					for i := range v {
						v[i] = s.f(v[i], operand[i])
					}
				case k == 1:
					at := r.IntN(len(relations))
					op := ChainEqualInt + ChainOp(at)
					to := wantMasks
					if r.IntN(2) == 0 {
						op, to = op.Held(), held
					}
					steps = append(steps, number(ChainStep{Op: op, X: p, Y: pm}))
					for i := range v {
						to[i] = bit(relations[at](v[i], operand[i]))
					}
				default:
					s, by := ChainStep{Op: ChainChoose, X: p, Y: pm}, wantMasks
					if steps[len(steps)-1].Op >= ChainHoldEqualInt {
						s, by = number(ChainStep{Op: ChainChooseHeld, X: p}), held
					}
					steps = append(steps, s)
					for i := range v {
						if by[i] == 0 {
							v[i] = operand[i]
						}
					}
				}
			}
			dst := make([]int32, n)
			Chain(append(steps, ChainStep{Op: ChainStore, X: unsafe.Pointer(&dst[0])}), n)
			require.Equal(t, v, dst, "%v", steps)
			require.Equal(t, wantMasks, masks, "%v", steps)
		}
	})
}

// TestMaskChains combines bytes and holds the result.
func TestMaskChains(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		if !Chains() {
			t.Skip("no chains with the portable kernels: operations run one by one there, as the other tests see")
		}
		r := rand.New(rand.NewPCG(5, 3))
		for range 500 {
			n := 1 + r.IntN(300)
			x, y, got := guard.Copy(t, make([]uint8, n), false), guard.Copy(t, make([]uint8, n), false), guard.Copy(t, make([]uint8, n), false)
			for i := range x {
				x[i], y[i] = uint8(r.IntN(2)), uint8(r.IntN(2))
			}
			steps, want := []ChainStep{{Op: ChainHoldBytes, X: unsafe.Pointer(&x[0])}}, append([]uint8(nil), x...)
			for range 5 {
				op := ChainAndBytes + ChainOp(r.IntN(4))
				steps = append(steps, ChainStep{Op: op, X: unsafe.Pointer(&y[0])})
				for i := range want {
					switch op {
					case ChainAndBytes:
						want[i] &= y[i]
					case ChainOrBytes:
						want[i] |= y[i]
					case ChainXorBytes:
						want[i] ^= y[i]
					default:
						want[i] ^= 1
					}
				}
			}
			Chain(append(steps, ChainStep{Op: ChainStoreHeld, X: unsafe.Pointer(&got[0])}), n)
			require.Equal(t, want, got)
		}
	})
}
