package vector

// Moves.

// Load sets dst from memory, or from another vector.
func Load(dst Vector, from Operand) { record(opLoad, dst, from) }

// Store stores v, of any length, in memory.
func Store(to Memory, v Vector) { record(opStore, to, v) }

// Copy sets dst to v.
func Copy(dst, v Vector) { record(opCopy, dst, v) }

// Broadcast sets all elements to the number in memory.
func Broadcast(dst Vector, from Memory) { record(opBroadcast, dst, from) }

// StoreFirst puts the first element of v into memory.
func StoreFirst(to Memory, v Vector) { record(opStoreFirst, to, v) }

// AddFirst adds the first elements of a and b.
func AddFirst(dst, a, b Vector) { record(opAddFirst, dst, a, b) }

// Extract sets dst to a half of v: 0 the lower one, 1 the upper one.
func Extract(dst, v Vector, half int) { recordNumber(opExtract, half, dst, v) }

// How [Permute] orders four elements.
const (
	SwapPairs  = 0x4e // 2 3 0 1
	SwapWithin = 0xb1 // 1 0 3 2
)

// Permute orders the elements of v within each four of them.
func Permute(dst Vector, v Operand, order int) { recordNumber(opPermute, order, dst, v) }

// Lookup sets each element to that of a table of a vector's length which the low bits of index say. For amd64; on arm64
// the table is a constant and the index is of bytes.
func Lookup(dst, index Vector, table Operand) { record(opLookup, dst, index, table) }

// LookupTwo sets the elements of dst to those that index says: of the old dst, followed by those of the table. Only
// AVX-512 has it.
func LookupTwo(dst, index Vector, table Operand) { record(opLookupTwo, dst, index, table) }

// LookupBytes is LookupTwo of bytes, which AVX512_VBMI has.
func LookupBytes(dst, index Vector, table Operand) { record(opLookupBytes, dst, index, table) }

// InterleaveLow takes elements of a and b in turns, of the lower half of each four.
func InterleaveLow(dst, a, b Vector) { record(opInterleaveLow, dst, a, b) }

// InterleaveHigh takes elements of a and b in turns, of the upper half of each four.
func InterleaveHigh(dst, a, b Vector) { record(opInterleaveHigh, dst, a, b) }

// Shuffle takes two elements of each four of a and two of b, each by two bits of the order.
func Shuffle(dst, a, b Vector, order int) { recordNumber(opShuffle, order, dst, a, b) }

// Halves takes two halves of a and b, each by four bits of the order: 0 and 1 are those of a, 2 and 3 those of b. For
// vectors of 256 bits.
func Halves(dst, a, b Vector, order int) { recordNumber(opHalves, order, dst, a, b) }

// Pattern sets all elements to 32 bits; it uses a scalar on the way.
func Pattern(dst Vector, bits uint32, by Scalar) { recordNumber(opPattern, int(bits), dst, by) }

// Arithmetic of floats. The last operand may be in memory.

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

// How to round.
const (
	Nearest    = 0 // the even one of two
	Downwards  = 1
	Upwards    = 2
	TowardZero = 3
)

// Round sets dst to the integer, as a float, that how says.
func Round(dst, v Vector, how int) { recordNumber(opRound, how, dst, v) }

// Reduce sets dst to what Round removes from v, which is below 1; for an infinity it is 0. For AVX-512.
func Reduce(dst, v Vector, how int) { recordNumber(opReduce, how, dst, v) }

// Inverse is dst = 1/v to 14 bits: a start for iterations whose results do not depend on it, since processors need not
// agree on it. For AVX-512.
func Inverse(dst, v Vector) { record(opInverse, dst, v) }

// Scale is dst = v·2ⁿ, n an integer as a float, or rounded downwards to one. For AVX-512.
func Scale(dst, v, n Vector) { record(opScale, dst, v, n) }

// Exponent sets dst to the exponent of v, a float: of 8 it is 3. For AVX-512.
func Exponent(dst, v Vector) { record(opExponent, dst, v) }

// Intervals of [Fraction]: from ½ on, below 1, and from ¾ on, below 1½.
const (
	FromHalf          = 2
	FromThreeQuarters = 3
)

// Fraction sets dst to v divided by a power of two, so that it is in the interval. For AVX-512.
func Fraction(dst, v Vector, interval int) { recordNumber(opFraction, interval, dst, v) }

// FixUp sets what x has of some classes to a value of each class: the table has four bits for each, from the lowest on
// for quiet and signalling NaN, 0, 1, −∞, +∞, negative and positive numbers. 0 leaves dst as it is, 2 is x as a quiet
// NaN, 3 a NaN, 4 −∞, 5 +∞. For AVX-512.
func FixUp(dst, x Vector, table Memory) { record(opFixUp, dst, x, table) }

// AddProduct is sum += a·b, rounded once.
func AddProduct(sum, a Vector, b Operand) { record(opAddProduct, sum, a, b) }

// AddProductOf is sum += a·b with one number in memory for all elements of b. For AVX-512.
func AddProductOf(sum, a Vector, b Memory) { record(opAddProductOf, sum, a, b) }

// AddHalfPairsOf adds to each float of sum the two products of a pair of bfloat16 in a and a pair in memory, the same
// one for all lanes. For AVX-512 with AVX512-BF16.
func AddHalfPairsOf(sum, a Vector, b Memory) { record(opAddHalfPairsOf, sum, a, b) }

// SubtractProduct is sum −= a·b, rounded once.
func SubtractProduct(sum, a Vector, b Operand) { record(opSubtractProduct, sum, a, b) }

// MultiplyAdd is v = v·a + b, rounded once.
func MultiplyAdd(v, a Vector, b Operand) { record(opMultiplyAdd, v, a, b) }

// MultiplyAddConstant is MultiplyAdd with a constant, of which only the first element is read if that is cheaper.
func MultiplyAddConstant(v, a Vector, b Memory) { record(opMultiplyAddConstant, v, a, b) }

// MultiplySubtract is v = v·a − b, rounded once.
func MultiplySubtract(v, a Vector, b Operand) { record(opMultiplySubtract, v, a, b) }

// SubtractScaled is v = b − v·a, rounded once.
func SubtractScaled(v, a Vector, b Operand) { record(opSubtractScaled, v, a, b) }
