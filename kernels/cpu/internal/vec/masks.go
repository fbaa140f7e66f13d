package vec

import "math"

// Relation is a comparison of two numbers. The missing ones follow: a > b is b < a.
type Relation int

// The relations that have loops. NaN is equal to nothing, and neither less nor greater.
const (
	Equal Relation = iota
	NotEqual
	Less
	LessEqual
)

func (r Relation) of(less, equal bool) uint8 {
	if r == Equal && equal || r == NotEqual && !equal || r == Less && less || r == LessEqual && (less || equal) {
		return 1
	}
	return 0
}

// CompareFloats stores 1 where the relation of a to b holds, else 0.
func CompareFloats(r Relation, dst []uint8, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	if compareWords(opFloatEqual+compareOp(r), dst, a, b) {
		return
	}
	for i, v := range a {
		dst[i] = r.of(v < b[i], v == b[i])
	}
}

// CompareInts is [CompareFloats] for integers.
func CompareInts(r Relation, dst []uint8, a, b []int32) {
	a, b = a[:len(dst)], b[:len(dst)]
	if compareWords(opIntEqual+compareOp(r), dst, a, b) {
		return
	}
	for i, v := range a {
		dst[i] = r.of(v < b[i], v == b[i])
	}
}

// NotZero stores 1 where x is not 0, NaN included, else 0.
func NotZero(dst []uint8, x []float32) {
	x = x[:len(dst)]
	if test32(opFloatNotZero, dst, x) {
		return
	}
	for i, v := range x {
		dst[i] = NotEqual.of(false, v == 0)
	}
}

// Finite stores 1 where x is neither infinite nor NaN, else 0.
func Finite(dst []uint8, x []float32) {
	x = x[:len(dst)]
	if test32(opFloatFinite, dst, x) {
		return
	}
	for i, v := range x {
		dst[i] = Equal.of(false, v-v == 0)
	}
}

// Choose stores a where the mask is not 0, else b. It does not matter what the 32 bits of an element mean.
func Choose(dst []uint32, mask []uint8, a, b []uint32) {
	mask, a, b = mask[:len(dst)], a[:len(dst)], b[:len(dst)]
	if choose32(dst, mask, a, b) {
		return
	}
	for i, m := range mask {
		if m != 0 {
			dst[i] = a[i]
		} else {
			dst[i] = b[i]
		}
	}
}

// BytesToFloats stores the bytes as floats.
func BytesToFloats(dst []float32, x []uint8) {
	x = x[:len(dst)]
	if fromBytes32(dst, x) {
		return
	}
	for i, v := range x {
		dst[i] = float32(v)
	}
}

// IntsToFloats stores the nearest floats.
func IntsToFloats(dst []float32, x []int32) {
	x = x[:len(dst)]
	if convert32(opIntToFloat, dst, x) {
		return
	}
	for i, v := range x {
		dst[i] = float32(v)
	}
}

// NegInts stores −x.
func NegInts(dst, x []int32) { integersOf(opNegInt, func(v int32) int32 { return -v }, dst, x) }

// AbsInts stores |x|.
func AbsInts(dst, x []int32) { integersOf(opAbsInt, func(v int32) int32 { return max(v, -v) }, dst, x) }

// SignInts stores −1, 0 or 1.
func SignInts(dst, x []int32) {
	integersOf(opSignInt, func(v int32) int32 { return min(max(v, -1), 1) }, dst, x)
}

func integersOf(op integerConversionOp, f func(v int32) int32, dst, x []int32) {
	x = x[:len(dst)]
	if convert32(op, dst, x) {
		return
	}
	for i, v := range x {
		dst[i] = f(v)
	}
}

// FloatsToInts rounds towards zero and saturates; NaN gives 0.
func FloatsToInts(dst []int32, x []float32) {
	x = x[:len(dst)]
	if convert32(opFloatToInt, dst, x) {
		return
	}
	for i, v := range x {
		switch {
		case v != v:
			dst[i] = 0
		case v >= 1<<31:
			dst[i] = math.MaxInt32
		case v < -1<<31:
			dst[i] = math.MinInt32
		default:
			dst[i] = int32(v)
		}
	}
}

// AddInts, SubInts and MulInts wrap around.
func AddInts(dst, a, b []int32) {
	integers(opAddInt, func(x, y int32) int32 { return x + y }, dst, a, b)
}

// SubInts stores a − b.
func SubInts(dst, a, b []int32) {
	integers(opSubInt, func(x, y int32) int32 { return x - y }, dst, a, b)
}

// MulInts stores a·b.
func MulInts(dst, a, b []int32) {
	integers(opMulInt, func(x, y int32) int32 { return x * y }, dst, a, b)
}

// MaxInts stores the larger of a and b.
func MaxInts(dst, a, b []int32) {
	integers(opMaxInt, func(x, y int32) int32 { return max(x, y) }, dst, a, b)
}

// MinInts stores the smaller of a and b.
func MinInts(dst, a, b []int32) {
	integers(opMinInt, func(x, y int32) int32 { return min(x, y) }, dst, a, b)
}

// ShiftInts stores a shifted to the left by b bits: 0 where b is not from 0 to 31.
func ShiftInts(dst, a, b []int32) {
	integers(opShiftLeftInt, func(x, y int32) int32 { return x << uint32(y) }, dst, a, b)
}

// ShiftIntsRight stores a shifted to the right by b bits, arithmetically: if b is not from 0 to 31, all bits become the
// sign.
func ShiftIntsRight(dst, a, b []int32) {
	integers(opShiftRightInt, func(x, y int32) int32 { return x >> uint32(y) }, dst, a, b)
}

// ShiftUintsRight is ShiftIntsRight for unsigned numbers: 0 if b is not from 0 to 31.
func ShiftUintsRight(dst, a, b []int32) {
	integers(opShiftRightUint, func(x, y int32) int32 { return int32(uint32(x) >> uint32(y)) }, dst, a, b)
}

func integers(op integerOp, f func(x, y int32) int32, dst, a, b []int32) {
	a, b = a[:len(dst)], b[:len(dst)]
	if integers32(op, dst, a, b) {
		return
	}
	for i, v := range a {
		dst[i] = f(v, b[i])
	}
}

// Bits stores the bitwise and, or, or exclusive or of a and b, eight bytes at a time.
func Bits(op BitOp, dst, a, b []uint8) {
	a, b = a[:len(dst)], b[:len(dst)]
	done := packedBytes(opAndBits+packedOp(op), dst, a, b)
	dst, a, b = dst[done:], a[done:], b[done:]
	d, x, y := words(dst), words(a), words(b)
	switch op {
	case And:
		for i, v := range x {
			d[i] = v & y[i]
		}
	case Or:
		for i, v := range x {
			d[i] = v | y[i]
		}
	default:
		for i, v := range x {
			d[i] = v ^ y[i]
		}
	}
	for i := 8 * len(d); i < len(dst); i++ {
		switch op {
		case And:
			dst[i] = a[i] & b[i]
		case Or:
			dst[i] = a[i] | b[i]
		default:
			dst[i] = a[i] ^ b[i]
		}
	}
}

// BitOp is what [Bits] computes.
type BitOp int

// The operations of [Bits].
const (
	And BitOp = iota
	Or
	Xor
)

// Flip stores the bits of x, flipped where those of mask are set, for each eight bytes.
func Flip(dst, x []uint8, mask uint64) {
	x = x[:len(dst)]
	done := 0
	switch mask {
	case math.MaxUint64:
		done = packedUnaryBytes(opFlipBits, dst, x)
	case 0x0101010101010101:
		done = packedUnaryBytes(opFlipBools, dst, x)
	}
	dst, x = dst[done:], x[done:]
	d, s := words(dst), words(x)
	for i, v := range s {
		d[i] = v ^ mask
	}
	for i := 8 * len(d); i < len(dst); i++ {
		dst[i] = x[i] ^ uint8(mask)
	}
}
