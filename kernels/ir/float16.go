package ir

import "math"

// BFloat16FromFloat32 rounds to the nearest bfloat16, ties to even; NaN stays NaN.
func BFloat16FromFloat32(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + (b>>16)&1) >> 16)
}

// BFloat16ToFloat32 widens exactly.
func BFloat16ToFloat32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// Float16FromFloat32 rounds to the nearest IEEE half, ties to even; values beyond 65504 (after rounding) become
// infinite.
func Float16FromFloat32(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	abs := b & 0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00
	case abs >= 0x477ff000:
		return sign | 0x7c00
	case abs < 0x38800000: // below the smallest normal half, 2^-14: round in units of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(abs))*(1<<24)))
	}
	abs += 0xfff + (abs>>13)&1
	return sign | uint16((abs-0x38000000)>>13)
}

// Float16ToFloat32 widens exactly.
func Float16ToFloat32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10)&0x1f, uint32(h&0x3ff)
	switch exp {
	case 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// toOdd32 narrows to float32 so that a later rounding to 16 bits equals a single rounding of v. A number that does not
// fit exactly becomes the neighbour with an odd last bit ("rounding to odd"), which is never a tie of a 16-bit type.
func toOdd32(v float64) float32 {
	f := float32(v)
	if v != v || float64(f) == v {
		return f
	}
	if math.Abs(float64(f)) > math.Abs(v) { // step back towards zero; an overflow becomes the largest float32
		f = math.Float32frombits(math.Float32bits(f) - 1)
	}
	return math.Float32frombits(math.Float32bits(f) | 1)
}

// RoundFloat returns the value of the floating point type d that is nearest to v, ties to even, as a float64. Values
// beyond the largest finite one (after rounding) become infinite; NaN stays.
func RoundFloat(d DType, v float64) float64 {
	if d == BFloat16 { // the same as by the table, without calls
		return float64(BFloat16ToFloat32(BFloat16FromFloat32(toOdd32(v))))
	}
	if f := &dtypeTable[d]; f.narrow != nil {
		return float64(f.widen(f.narrow(toOdd32(v))))
	}
	if d == Float32 {
		return float64(float32(v))
	}
	return v
}
