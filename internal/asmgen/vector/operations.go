package vector

// Moves.

// Load sets dst from memory, or from another vector.
func Load(dst Vector, from Operand) { record(opLoad, dst, from) }

// Store stores v, a vector of any length, in memory.
func Store(to Memory, v Vector) { record(opStore, to, v) }

// Copy sets dst to v.
func Copy(dst, v Vector) { record(opCopy, dst, v) }

// Broadcast sets all elements to the number in memory.
func Broadcast(dst Vector, from Memory) { record(opBroadcast, dst, from) }

// StoreFirst stores the first element of v.
func StoreFirst(to Memory, v Vector) { record(opStoreFirst, to, v) }

// AddFirst adds the first elements of a and b.
func AddFirst(dst, a, b Vector) { record(opAddFirst, dst, a, b) }

// Extract sets dst to a half of v: 0 the lower one, 1 the upper one.
func Extract(dst, v Vector, half int) { recordNumber(opExtract, half, dst, v) }

// The orders of four elements for [Permute].
const (
	SwapPairs  = 0x4e // 2 3 0 1
	SwapWithin = 0xb1 // 1 0 3 2
)

// Permute reorders each four elements of v.
func Permute(dst Vector, v Operand, order int) { recordNumber(opPermute, order, dst, v) }

// Lookup sets each element to the one that the low bits of index select in a table with a vector's length. For amd64;
// on arm64 the table is a constant and the index is of bytes.
func Lookup(dst, index Vector, table Operand) { record(opLookup, dst, index, table) }

// LookupTwo sets each element of dst to the one that index selects in the old dst followed by the table. For AVX-512.
func LookupTwo(dst, index Vector, table Operand) { record(opLookupTwo, dst, index, table) }

// LookupBytes is LookupTwo for bytes. For AVX512_VBMI.
func LookupBytes(dst, index Vector, table Operand) { record(opLookupBytes, dst, index, table) }

// InterleaveLow interleaves elements of a and b, from the lower half of each four.
func InterleaveLow(dst, a, b Vector) { record(opInterleaveLow, dst, a, b) }

// InterleaveHigh interleaves elements of a and b, from the upper half of each four.
func InterleaveHigh(dst, a, b Vector) { record(opInterleaveHigh, dst, a, b) }

// Shuffle selects two elements from each four of a and two from b, each by two bits of the order.
func Shuffle(dst, a, b Vector, order int) { recordNumber(opShuffle, order, dst, a, b) }

// Halves selects two halves of a and b, each by four bits of the order: 0 and 1 are those of a, 2 and 3 those of b. For
// vectors of 256 bits.
func Halves(dst, a, b Vector, order int) { recordNumber(opHalves, order, dst, a, b) }

// Pattern sets all elements to 32 bits, using a scalar for a temporary.
func Pattern(dst Vector, bits uint32, by Scalar) { recordNumber(opPattern, int(bits), dst, by) }

// Floating-point arithmetic. The last operand may be in memory.

// Add is dst = a + b.
func Add(dst, a Vector, b Operand) { record(opAdd, dst, a, b) }

// Subtract is dst = a − b.
func Subtract(dst, a Vector, b Operand) { record(opSubtract, dst, a, b) }

// Multiply is dst = a·b.
func Multiply(dst, a Vector, b Operand) { record(opMultiply, dst, a, b) }

// Divide is dst = a / b.
func Divide(dst, a Vector, b Operand) { record(opDivide, dst, a, b) }

// Max is dst = a > b ? a : b: b if either is NaN.
func Max(dst, a Vector, b Operand) { record(opMax, dst, a, b) }

// Min is dst = a < b ? a : b: b if either is NaN.
func Min(dst, a Vector, b Operand) { record(opMin, dst, a, b) }

// And is dst = a & b, bit by bit.
func And(dst, a Vector, b Operand) { record(opAnd, dst, a, b) }

// Or is dst = a | b, bit by bit.
func Or(dst, a Vector, b Operand) { record(opOr, dst, a, b) }

// Xor is dst = a ^ b, bit by bit.
func Xor(dst, a Vector, b Operand) { record(opXor, dst, a, b) }

// Zero sets all elements to 0.
func Zero(dst Vector) { Xor(dst, dst, dst) }

// Sqrt is dst = √v.
func Sqrt(dst, v Vector) { record(opSqrt, dst, v) }

// Rounding modes.
const (
	Nearest    = 0 // ties to even
	Downwards  = 1
	Upwards    = 2
	TowardZero = 3
)

// Round rounds to integers, as floats.
func Round(dst, v Vector, how int) { recordNumber(opRound, how, dst, v) }

// Reduce is v − Round(v), or 0 for an infinity. For AVX-512.
func Reduce(dst, v Vector, how int) { recordNumber(opReduce, how, dst, v) }

// Inverse is an approximation of 1/v with 14 bits. Since processors may give different results, it is only for starting
// iterations whose results do not depend on it. For AVX-512.
func Inverse(dst, v Vector) { record(opInverse, dst, v) }

// Scale is dst = v·2ⁿ, where n is a float, which is rounded down. For AVX-512.
func Scale(dst, v, n Vector) { record(opScale, dst, v, n) }

// Exponent sets dst to the exponent of v, as a float: for 8 it is 3. For AVX-512.
func Exponent(dst, v Vector) { record(opExponent, dst, v) }

// Intervals for [Fraction]: [½, 1) and [¾, 1½).
const (
	FromHalf          = 2
	FromThreeQuarters = 3
)

// Fraction divides v by a power of two such that the result is in the interval. For AVX-512.
func Fraction(dst, v Vector, interval int) { recordNumber(opFraction, interval, dst, v) }

// FixUp replaces dst where x belongs to certain classes of numbers. The table has four bits for each class, starting
// from the lowest: quiet NaN, signaling NaN, 0, 1, −∞, +∞, negative and positive numbers. The bits select the value: 0
// is dst, 2 is x as a quiet NaN, 3 a NaN, 4 −∞, 5 +∞. For AVX-512.
func FixUp(dst, x Vector, table Memory) { record(opFixUp, dst, x, table) }

// AddProduct is sum += a·b, rounded once.
func AddProduct(sum, a Vector, b Operand) { record(opAddProduct, sum, a, b) }

// AddProductOf is sum += a·b, where b is a single number in memory. For AVX-512.
func AddProductOf(sum, a Vector, b Memory) { record(opAddProductOf, sum, a, b) }

// AddHalfPairsOf adds, to each float of sum, the two products of a pair of bfloat16 in a and a single pair in memory.
// For AVX-512 with AVX512-BF16.
func AddHalfPairsOf(sum, a Vector, b Memory) { record(opAddHalfPairsOf, sum, a, b) }

// SubtractProduct is sum −= a·b, rounded once.
func SubtractProduct(sum, a Vector, b Operand) { record(opSubtractProduct, sum, a, b) }

// MultiplyAdd is v = v·a + b, rounded once.
func MultiplyAdd(v, a Vector, b Operand) { record(opMultiplyAdd, v, a, b) }

// MultiplyAddConstant is MultiplyAdd with a constant, of which it reads only the first element if that is cheaper.
func MultiplyAddConstant(v, a Vector, b Memory) { record(opMultiplyAddConstant, v, a, b) }

// MultiplySubtract is v = v·a − b, rounded once.
func MultiplySubtract(v, a Vector, b Operand) { record(opMultiplySubtract, v, a, b) }

// SubtractScaled is v = b − v·a, rounded once.
func SubtractScaled(v, a Vector, b Operand) { record(opSubtractScaled, v, a, b) }
