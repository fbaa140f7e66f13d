package ir

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// half describes a 16-bit type to the tests below.
type half struct {
	dtype DType
	to    func(uint16) float32
	from  func(float32) uint16
	inf   uint16 // bits of +infinity
	next  float64
}

var halves = []half{
	{Float16, Float16ToFloat32, Float16FromFloat32, 0x7c00, 0x1p16},
	{BFloat16, BFloat16ToFloat32, BFloat16FromFloat32, 0x7f80, 0x1p128},
}

// All 65536 patterns survive widening and narrowing, and hold the number that IEEE 754's formula gives.
func TestHalfPatterns(t *testing.T) {
	for _, h := range halves {
		fraction := 10
		if h.dtype == BFloat16 {
			fraction = 7
		}
		bias := 1<<(14-fraction) - 1
		for bits := range 1 << 16 {
			v := h.to(uint16(bits))
			exp, frac := bits>>fraction&(1<<(15-fraction)-1), bits&(1<<fraction-1)
			sign := 1.0
			if bits>>15 == 1 {
				sign = -1
			}
			var want float64
			switch {
			case exp == 1<<(15-fraction)-1 && frac != 0:
				if v == v {
					t.Fatalf("%v %04x is %v, want NaN", h.dtype, bits, v)
				}
				if back := h.to(h.from(v)); back == back {
					t.Fatalf("%v %04x: NaN comes back as %v", h.dtype, bits, back)
				}
				continue
			case exp == 1<<(15-fraction)-1:
				want = math.Inf(int(sign))
			case exp == 0:
				want = sign * math.Ldexp(float64(frac), 1-bias-fraction)
			default:
				want = sign * math.Ldexp(float64(1<<fraction+frac), exp-bias-fraction)
			}
			if float64(v) != want || math.Signbit(float64(v)) != (sign < 0) {
				t.Fatalf("%v %04x is %v, want %v", h.dtype, bits, v, want)
			}
			if back := h.from(v); back != uint16(bits) {
				t.Fatalf("%v %04x comes back as %04x", h.dtype, bits, back)
			}
			if r := RoundFloat(h.dtype, want); r != want {
				t.Fatalf("RoundFloat(%v, %v) = %v", h.dtype, want, r)
			}
		}
	}
}

// Between neighbours, the nearer one wins; in the middle, the even one. The float64 next to the middle would be
// rounded twice by a detour over float32.
func TestHalfRounding(t *testing.T) {
	for _, h := range halves {
		for bits := range h.inf {
			low, high := float64(h.to(bits)), float64(h.to(bits+1))
			if bits+1 == h.inf {
				high = h.next // rounds to infinity
			}
			middle := (low + high) / 2
			even, up := low, float64(h.to(bits+1))
			if bits&1 == 1 {
				even = up
			}
			for _, sign := range []float64{1, -1} {
				check := func(v, want float64) {
					if got := RoundFloat(h.dtype, sign*v); got != sign*want {
						t.Fatalf("RoundFloat(%v, %v) = %v, want %v", h.dtype, sign*v, got, sign*want)
					}
				}
				check(middle, even)
				check(math.Nextafter(middle, 0), low)
				check(math.Nextafter(middle, math.Inf(1)), up)
				f := float32(middle)
				if got := float64(h.to(h.from(f))); got != even {
					t.Fatalf("%v from float32 %v is %v, want %v", h.dtype, f, got, even)
				}
				below, above := math.Nextafter32(f, 0), math.Nextafter32(f, float32(math.Inf(1)))
				if got := float64(h.to(h.from(below))); got != low {
					t.Fatalf("%v from float32 %v is %v, want %v", h.dtype, below, got, low)
				}
				if got := float64(h.to(h.from(above))); got != up {
					t.Fatalf("%v from float32 %v is %v, want %v", h.dtype, above, got, up)
				}
			}
		}
	}
}

// The nearest number is never farther than any neighbour, over random float64 of all sizes.
func TestRoundFloatIsNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		v := math.Ldexp(rng.Float64()+0.5, rng.IntN(60)-40)
		for _, h := range halves {
			got := RoundFloat(h.dtype, v)
			if math.IsInf(got, 0) {
				assert.GreaterOrEqual(t, v, (float64(h.to(h.inf-1))+h.next)/2)
				continue
			}
			bits := h.from(float32(got))
			for _, near := range []uint16{bits - 1, bits + 1} {
				if bits == 0 && near > bits+1 || near == h.inf {
					continue
				}
				if other := float64(h.to(near)); math.Abs(other-v) < math.Abs(got-v) {
					t.Fatalf("RoundFloat(%v, %v) = %v, but %v is nearer", h.dtype, v, got, other)
				}
			}
		}
	}
}

func TestRoundFloatEnds(t *testing.T) {
	for _, d := range []DType{Float16, BFloat16, Float32, Float64} {
		assert.True(t, math.IsNaN(RoundFloat(d, math.NaN())))
		assert.Equal(t, math.Inf(1), RoundFloat(d, math.Inf(1)))
		assert.Equal(t, math.Inf(-1), RoundFloat(d, math.Inf(-1)))
		assert.True(t, math.Signbit(RoundFloat(d, math.Copysign(0, -1))))
		assert.True(t, math.Signbit(RoundFloat(d, -1e-320)), "%v keeps the sign of what vanishes", d)
	}
	assert.Equal(t, math.Inf(1), RoundFloat(BFloat16, 1e300))
	assert.Equal(t, math.Inf(-1), RoundFloat(Float16, -1e300))
	assert.Equal(t, 65504.0, RoundFloat(Float16, 65519.9))
	assert.Equal(t, math.Inf(1), RoundFloat(Float16, 65520))
	assert.Equal(t, 1e-320, RoundFloat(Float64, 1e-320))
	assert.Equal(t, float64(float32(0.1)), RoundFloat(Float32, 0.1))
}
