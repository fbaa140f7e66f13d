package vector

// 32-bit integers.

// ToInt rounds to the nearest integer, ties to even.
func ToInt(dst, v Vector) { record(opToInt, dst, v) }

// TruncateToInt truncates to an integer.
func TruncateToInt(dst, v Vector) { record(opTruncateToInt, dst, v) }

// ToFloat converts integers to floats.
func ToFloat(dst, v Vector) { record(opToFloat, dst, v) }

// AddInt is dst = a + b.
func AddInt(dst, a Vector, b Operand) { record(opAddInt, dst, a, b) }

// SubtractInt is dst = a − b.
func SubtractInt(dst, a Vector, b Operand) { record(opSubtractInt, dst, a, b) }

// MultiplyInt is dst = a·b.
func MultiplyInt(dst, a Vector, b Operand) { record(opMultiplyInt, dst, a, b) }

// MultiplyLongs sets each 64-bit integer to the product of the lower halves of a and b, unsigned. On arm64, b must be a
// constant whose numbers have two equal halves.
func MultiplyLongs(dst, a Vector, b Operand) { record(opMultiplyLongs, dst, a, b) }

// MaxInt is the larger of signed integers.
func MaxInt(dst, a Vector, b Operand) { record(opMaxInt, dst, a, b) }

// MinInt is the smaller of signed integers.
func MinInt(dst, a Vector, b Operand) { record(opMinInt, dst, a, b) }

// AndInt is And for integers.
func AndInt(dst, a Vector, b Operand) { record(opAndInt, dst, a, b) }

// OrInt is Or for integers.
func OrInt(dst, a Vector, b Operand) { record(opOrInt, dst, a, b) }

// ZeroInt is Zero for integers.
func ZeroInt(dst Vector) { record(opXorInt, dst, dst, dst) }

// LoadInt is Load for integers.
func LoadInt(dst Vector, from Memory) { record(opLoadInt, dst, from) }

// StoreInt is Store for integers.
func StoreInt(to Memory, v Vector) { record(opStoreInt, to, v) }

// BroadcastInt sets all elements to the integer in memory.
func BroadcastInt(dst Vector, from Memory) { record(opBroadcastInt, dst, from) }

// AddDots adds, to each integer, four products of unsigned bytes in a and signed ones in b. For AVX512-VNNI.
func AddDots(sum, a, b Vector) { record(opAddDots, sum, a, b) }

// AddPairs sets each integer to the sum of two products of signed 16-bit numbers. For AVX2.
func AddPairs(dst, a, b Vector) { record(opAddPairs, dst, a, b) }

// AddBytePairs sets each 16-bit number to the sum of two products of unsigned bytes in a and signed ones in b; the sum
// saturates. For amd64.
func AddBytePairs(dst, a, b Vector) { record(opAddBytePairs, dst, a, b) }

// Ones sets all bits. For vectors of 256 bits.
func Ones(dst Vector) { record(opOnes, dst, dst, dst) }

// ShiftRightWords shifts 16-bit numbers right, shifting in zeros. For amd64.
func ShiftRightWords(dst, v Vector, by int) { recordNumber(opShiftRightWords, by, dst, v) }

// ShiftLeft shifts by a number of bits.
func ShiftLeft(dst, v Vector, by int) { recordNumber(opShiftLeft, by, dst, v) }

// ShiftRight shifts right by a number of bits, shifting in zeros.
func ShiftRight(dst, v Vector, by int) { recordNumber(opShiftRight, by, dst, v) }

// ShiftRightSigned shifts right by a number of bits, shifting in the sign.
func ShiftRightSigned(dst, v Vector, by int) { recordNumber(opShiftRightSigned, by, dst, v) }

// ShiftLeftBy shifts each integer left by the unsigned number of bits in b.
func ShiftLeftBy(dst, a Vector, b Operand) { record(opShiftLeftBy, dst, a, b) }

// ShiftRightBy shifts each integer right by the number of bits in b, shifting in zeros.
func ShiftRightBy(dst, a Vector, b Operand) { record(opShiftRightBy, dst, a, b) }

// ShiftRightSignedBy shifts each integer right by the number of bits in b, shifting in the sign.
func ShiftRightSignedBy(dst, a Vector, b Operand) { record(opShiftRightSignedBy, dst, a, b) }

// Conversions when loading and storing.

// BroadcastByte loads a byte into all bytes of a vector.
func BroadcastByte(dst Vector, from Memory) { record(opBroadcastByte, dst, from) }

// WidenBytes loads unsigned bytes as integers.
func WidenBytes(dst Vector, from Memory) { record(opWidenBytes, dst, from) }

// WidenWords loads unsigned 16-bit numbers as integers.
func WidenWords(dst Vector, from Memory) { record(opWidenWords, dst, from) }

// StoreLowWords stores the lower 16 bits of each integer, whose upper bits must be 0. It destroys v.
func StoreLowWords(to Memory, v Vector) { record(opStoreLowWords, to, v) }

// StoreLowBytes stores the lowest byte of each integer; in vectors of 256 bits the other bytes must be 0. It destroys
// v. For amd64.
func StoreLowBytes(to Memory, v Vector) { record(opStoreLowBytes, to, v) }

// WidenFloats loads float32 as float64, in functions with 64-bit floats.
func WidenFloats(dst Vector, from Memory) { record(opWidenFloats, dst, from) }

// StoreFloats rounds float64 to float32 and stores it. It destroys v.
func StoreFloats(to Memory, v Vector) { record(opStoreFloats, to, v) }

// LoadFloat16 loads float16 as float32.
func LoadFloat16(dst Vector, from Memory) { record(opLoadFloat16, dst, from) }

// StoreFloat16 rounds float32 to float16 and stores it.
func StoreFloat16(to Memory, v Vector) { record(opStoreFloat16, to, v) }

// RoundFloat16 rounds v to numbers of float16, but keeps them as float32. For amd64.
func RoundFloat16(v Vector) { record(opRoundFloat16, v) }

// StoreBFloat16 stores v as bfloat16, subnormals as 0. For AVX-512 with AVX512-BF16.
func StoreBFloat16(to Memory, v Vector) { record(opStoreBFloat16, to, v) }

// RoundBFloat16 rounds v to numbers of bfloat16 (subnormals to 0), but keeps them as float32. For AVX-512 with
// AVX512-BF16.
func RoundBFloat16(v Vector) { record(opRoundBFloat16, v) }

// StoreBFloat16Where stores the numbers of v as bfloat16, subnormals as 0, where the mask of words is set. For AVX-512
// with AVX512-BF16.
func StoreBFloat16Where(to Memory, words Mask, v Vector) { record(opStoreBFloat16Where, to, words, v) }

// StoreBFloat16PairWhere is StoreBFloat16Where for the numbers of two vectors, first low, then high. It destroys low.
func StoreBFloat16PairWhere(to Memory, words Mask, low, high Vector) {
	record(opStoreBFloat16PairWhere, to, words, low, high)
}
