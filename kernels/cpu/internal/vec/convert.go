package vec

import "math"

const fewHalves = 12 // fewer numbers take no longer than a call

// BF16ToFloat32 widens bfloat16 numbers, exactly.
func BF16ToFloat32(dst []float32, x []uint16) {
	x = x[:len(dst)]
	if len(dst) >= fewHalves && widen32(bf16, dst, x) {
		return
	}
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(x[i]) << 16)
	}
}

// Float32ToBF16 rounds to the nearest bfloat16, ties to even. NaN stays NaN.
func Float32ToBF16(dst []uint16, x []float32) {
	x = x[:len(dst)]
	if narrow32(bf16, dst, x) {
		return
	}
	for i := range dst {
		bits := math.Float32bits(x[i])
		rounded := (bits + 0x7fff + bits>>16&1) >> 16
		if bits&0x7fffffff > 0x7f800000 {
			rounded = bits>>16 | 0x40 // quiet, and not rounded up to infinity
		}
		dst[i] = uint16(rounded)
	}
}

// F16ToFloat32 widens IEEE half-precision numbers, exactly.
func F16ToFloat32(dst []float32, x []uint16) {
	x = x[:len(dst)]
	if widen32(f16, dst, x) {
		return
	}
	for i := range dst {
		h := uint32(x[i])
		sign := h & 0x8000 << 16
		// Shifted into place, the number is too small by a factor of 2¹¹². A denormal would still be one in float32,
		// which programs flush.
		v := math.Float32frombits(h&0x7fff<<13) * 0x1p112
		if h&0x7c00 == 0 {
			v = float32(h&0x3ff) * 0x1p-24
		}
		bits := math.Float32bits(v)
		if h&0x7c00 == 0x7c00 { // infinity and NaN
			bits |= 0x7f800000
			if h&0x3ff != 0 {
				bits |= 0x400000
			}
		}
		dst[i] = math.Float32frombits(bits | sign)
	}
}

// Float32ToF16 rounds to the nearest IEEE half-precision number, ties to even; from 65520 on to infinity. NaN stays
// NaN.
func Float32ToF16(dst []uint16, x []float32) {
	x = x[:len(dst)]
	if narrow32(f16, dst, x) {
		return
	}
	for i := range dst {
		bits := math.Float32bits(x[i])
		sign, abs := bits>>16&0x8000, bits&0x7fffffff
		var h uint32
		switch {
		case abs > 0x7f800000:
			h = 0x7e00 | abs>>13&0x3ff
		case abs >= 0x477ff000: // 65520
			h = 0x7c00
		case abs < 0x38800000: // below 2⁻¹⁴: denormal; the addition rounds at the half's last bit
			h = math.Float32bits(math.Float32frombits(abs)+0.5) - math.Float32bits(0.5)
		default:
			h = (abs + 0xfff + abs>>13&1 - 112<<23) >> 13
		}
		dst[i] = uint16(sign | h)
	}
}
