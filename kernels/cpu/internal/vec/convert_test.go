package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHalfPrecision(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		// Every half-precision number survives the conversion to float32 and back, and has the value given by its
		// definition.
		all, wide, back := make([]uint16, 1<<16), make([]float32, 1<<16), make([]uint16, 1<<16)
		for i := range all {
			all[i] = uint16(i)
		}
		F16ToFloat32(wide, all)
		Float32ToF16(back, wide)
		for i, h := range all {
			exponent, fraction := int(h>>10&31), float64(h&1023)
			want := math.Ldexp(fraction, -24)
			if exponent > 0 {
				want = math.Ldexp(1024+fraction, exponent-25)
			}
			if h>>15 != 0 {
				want = -want
			}
			switch {
			case exponent == 31 && fraction != 0:
				require.True(t, wide[i] != wide[i])
				require.True(t, back[i]&0x7c00 == 0x7c00 && back[i]&0x3ff != 0, "%#x came back as %#x", h, back[i])
			case exponent == 31:
				require.True(t, math.IsInf(float64(wide[i]), 1-int(h>>15)*2))
				require.Equal(t, h, back[i])
			default:
				require.Equal(t, float32(want), wide[i])
				require.Equal(t, h, back[i])
			}
		}
		BF16ToFloat32(wide, all)
		Float32ToBF16(back, wide)
		for i, b := range all {
			require.Equal(t, uint32(b)<<16, math.Float32bits(wide[i]))
			if wide[i] == wide[i] {
				require.Equal(t, b, back[i])
			} else {
				require.True(t, back[i]&0x7f80 == 0x7f80 && back[i]&0x7f != 0)
			}
		}
	})
}

// TestHalfRounding checks rounding to nearest even against the two neighbors found by widening.
func TestHalfRounding(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		nearest := func(x float32, got uint16, widen func([]float32, []uint16)) {
			around, wide := []uint16{got - 1, got, got + 1}, make([]float32, 3)
			widen(wide, around)
			mine := math.Abs(float64(wide[1]) - float64(x))
			for i, other := range []int{0, 2} {
				if math.IsNaN(float64(wide[other])) || math.IsInf(float64(wide[other]), 0) || math.Signbit(float64(wide[other])) != math.Signbit(float64(wide[1])) {
					continue
				}
				d := math.Abs(float64(wide[other]) - float64(x))
				require.False(t, d < mine || d == mine && got&1 == 1, "%v rounds to %v, neighbour %d is %v", x, wide[1], i, wide[other])
			}
		}
		x := random[float32](rand.New(rand.NewPCG(17, 18)), 3000)
		for i := range x {
			x[i] *= float32(math.Ldexp(1, i%40-26))
			if i%5 == 0 { // exactly between two neighbors
				x[i] = math.Float32frombits(math.Float32bits(x[i])&^0x1fff | 0x1000)
			}
			if i%7 == 0 { // the same for bfloat16
				x[i] = math.Float32frombits(math.Float32bits(x[i])&^0xffff | 0x8000)
			}
		}
		h, b := make([]uint16, len(x)), make([]uint16, len(x))
		Float32ToF16(h, x)
		Float32ToBF16(b, x)
		for i := range x {
			if math.Abs(float64(x[i])) < 65504 {
				nearest(x[i], h[i], F16ToFloat32)
			}
			nearest(x[i], b[i], BF16ToFloat32)
		}
		Float32ToF16(h[:6], []float32{65519, 65520, -1e9, 0x1p-25, 0x1.002p-25, float32(math.Inf(-1))})
		require.Equal(t, []uint16{0x7bff, 0x7c00, 0xfc00, 0, 1, 0xfc00}, h[:6])
	})
}
