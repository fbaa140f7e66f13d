package vector

// Integers of 32 bits.

// ToInt is the nearest integer, the even one of two.
func ToInt(dst, v Vector) { record(opToInt, dst, v) }

// TruncateToInt is v without its fraction as an integer.
func TruncateToInt(dst, v Vector) { record(opTruncateToInt, dst, v) }

// ToFloat is the float of an integer.
func ToFloat(dst, v Vector) { record(opToFloat, dst, v) }

// AddInt is dst = a + b.
func AddInt(dst, a Vector, b Operand) { record(opAddInt, dst, a, b) }

// SubtractInt is dst = a − b.
func SubtractInt(dst, a Vector, b Operand) { record(opSubtractInt, dst, a, b) }

// MultiplyInt is dst = a·b.
func MultiplyInt(dst, a Vector, b Operand) { record(opMultiplyInt, dst, a, b) }

// MultiplyLongs sets each integer of 64 bits to the product of the lower halves of a and b, which have no sign. On
// arm64, both halves of each number of b, a constant, are the same.
func MultiplyLongs(dst, a Vector, b Operand) { record(opMultiplyLongs, dst, a, b) }

// MaxInt is the larger one of integers with a sign.
func MaxInt(dst, a Vector, b Operand) { record(opMaxInt, dst, a, b) }

// MinInt is the smaller one of integers with a sign.
func MinInt(dst, a Vector, b Operand) { record(opMinInt, dst, a, b) }

// AndInt is And for results of integer instructions.
func AndInt(dst, a Vector, b Operand) { record(opAndInt, dst, a, b) }

// OrInt is Or for results of integer instructions.
func OrInt(dst, a Vector, b Operand) { record(opOrInt, dst, a, b) }

// ZeroInt is Zero for integer instructions.
func ZeroInt(dst Vector) { record(opXorInt, dst, dst, dst) }

// LoadInt is Load for integer instructions.
func LoadInt(dst Vector, from Memory) { record(opLoadInt, dst, from) }

// StoreInt is Store for integer instructions.
func StoreInt(to Memory, v Vector) { record(opStoreInt, to, v) }

// BroadcastInt sets all elements to the integer in memory.
func BroadcastInt(dst Vector, from Memory) { record(opBroadcastInt, dst, from) }

// AddDots adds to each integer four products: of the bytes without a sign in a and those with one in b. For
// AVX512-VNNI.
func AddDots(sum, a, b Vector) { record(opAddDots, sum, a, b) }

// AddPairs sets each integer to the sum of two products of numbers of 16 bits with a sign. For AVX2.
func AddPairs(dst, a, b Vector) { record(opAddPairs, dst, a, b) }

// AddBytePairs sets each number of 16 bits to the sum, as long as it fits, of two products: of the bytes without a sign
// in a and those with one in b. For amd64.
func AddBytePairs(dst, a, b Vector) { record(opAddBytePairs, dst, a, b) }

// Ones sets all bits. For vectors of 256 bits.
func Ones(dst Vector) { record(opOnes, dst, dst, dst) }

// ShiftRightWords shifts zeros into numbers of 16 bits. For amd64.
func ShiftRightWords(dst, v Vector, by int) { recordNumber(opShiftRightWords, by, dst, v) }

// ShiftLeft shifts by a number of bits.
func ShiftLeft(dst, v Vector, by int) { recordNumber(opShiftLeft, by, dst, v) }

// ShiftRight shifts zeros in.
func ShiftRight(dst, v Vector, by int) { recordNumber(opShiftRight, by, dst, v) }

// ShiftRightSigned shifts the sign in.
func ShiftRightSigned(dst, v Vector, by int) { recordNumber(opShiftRightSigned, by, dst, v) }

// ShiftLeftBy shifts each integer by as many bits as b says, a number without a sign.
func ShiftLeftBy(dst, a Vector, b Operand) { record(opShiftLeftBy, dst, a, b) }

// ShiftRightBy shifts zeros in, as many as b says.
func ShiftRightBy(dst, a Vector, b Operand) { record(opShiftRightBy, dst, a, b) }

// ShiftRightSignedBy shifts the sign in, as many times as b says.
func ShiftRightSignedBy(dst, a Vector, b Operand) { record(opShiftRightSignedBy, dst, a, b) }

// Conversions of values in memory.

// WidenBytes makes integers of bytes without a sign.
func WidenBytes(dst Vector, from Memory) { record(opWidenBytes, dst, from) }

// WidenWords makes integers of numbers of 16 bits without a sign.
func WidenWords(dst Vector, from Memory) { record(opWidenWords, dst, from) }

// StoreLowWords stores the lower 16 bits of each integer, the upper ones of which are 0. It destroys v.
func StoreLowWords(to Memory, v Vector) { record(opStoreLowWords, to, v) }

// StoreLowBytes stores the lowest byte of each integer, the other ones of which are 0 in vectors of 256 bits. It
// destroys v. For amd64.
func StoreLowBytes(to Memory, v Vector) { record(opStoreLowBytes, to, v) }

// WidenFloats converts 32-bit floats to 64-bit ones if those are the elements.
func WidenFloats(dst Vector, from Memory) { record(opWidenFloats, dst, from) }

// StoreFloats rounds floats of 64 bits to ones of 32. It destroys v.
func StoreFloats(to Memory, v Vector) { record(opStoreFloats, to, v) }

// LoadFloat16 makes floats of numbers of half precision.
func LoadFloat16(dst Vector, from Memory) { record(opLoadFloat16, dst, from) }

// StoreFloat16 rounds to half precision.
func StoreFloat16(to Memory, v Vector) { record(opStoreFloat16, to, v) }

// RoundFloat16 rounds v to numbers of half precision, which stay floats. For amd64.
func RoundFloat16(v Vector) { record(opRoundFloat16, v) }

// StoreBFloat16 stores v as bfloat16, denormals as 0. For AVX-512 with AVX512-BF16.
func StoreBFloat16(to Memory, v Vector) { record(opStoreBFloat16, to, v) }

// RoundBFloat16 rounds v to numbers of bfloat16, denormals to 0, which stay floats. For AVX-512 with AVX512-BF16.
func RoundBFloat16(v Vector) { record(opRoundBFloat16, v) }

// StoreBFloat16Where stores those numbers of v as bfloat16, denormals as 0, where the mask of words is set. For AVX-512
// with AVX512-BF16.
func StoreBFloat16Where(to Memory, words Mask, v Vector) { record(opStoreBFloat16Where, to, words, v) }

// StoreBFloat16PairWhere is StoreBFloat16Where of the numbers of two vectors, one after the other. It destroys low.
func StoreBFloat16PairWhere(to Memory, words Mask, low, high Vector) {
	record(opStoreBFloat16PairWhere, to, words, low, high)
}
