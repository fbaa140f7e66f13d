package vector

// Predicate is a comparison. None of them traps, and all but Unordered, NotEqual and NotLessEqual are false if an
// operand is NaN.
type Predicate int

// The predicates, by their numbers on amd64.
const (
	Equal        Predicate = 0
	Unordered    Predicate = 3 // either is NaN
	NotEqual     Predicate = 4
	LessThan     Predicate = 17
	LessEqual    Predicate = 18
	NotLessEqual Predicate = 22
	GreaterEqual Predicate = 29
	GreaterThan  Predicate = 30
)

// Compare returns where a predicate b.
func Compare(p Predicate, a Vector, b Operand) Mask {
	k := newMask()
	recordNumber(opCompare, int(p), k, a, b)
	return k
}

// CompareInt returns where a predicate b, Equal or LessThan, of integers with a sign.
func CompareInt(p Predicate, a, b Vector) Mask {
	k := newMask()
	if p == Equal {
		recordNumber(opCompareInt, int(p), k, a, b)
	} else {
		recordNumber(opCompareInt, int(p), k, b, a)
	}
	return k
}

// Signs returns where the sign bit is set in v, all of whose bits equal it where the mask is kept in a vector. Then it
// is v itself: v must not change while the mask is used.
func Signs(v Vector) Mask {
	k := newMask()
	if !program.current.wide() {
		k.alias = v.register
	}
	record(opSigns, k, v)
	return k
}

// Odd returns where the lowest bit of integers is set.
func Odd(v Vector) Mask {
	if !program.current.wide() {
		high, spread := NewVector(v.bytes), NewVector(v.bytes)
		ShiftLeft(high, v, 31)
		ShiftRightSigned(spread, high, 31)
		return Signs(spread)
	}
	one := Constant("c00000001", 1)
	k := newMask()
	record(opOdd, k, v, one)
	return k
}

// ZeroBytes returns where a byte in memory is 0. Zero is a vector of zeros, which AVX-512 does not read.
func ZeroBytes(from Memory, zero Vector) Mask {
	k := newMask()
	record(opZeroBytes, k, from, zero)
	return k
}

// LoadMask returns where a byte in memory is not 0; it has no more than the lowest bit set.
func LoadMask(from Memory) Mask {
	k := newMask()
	record(opLoadMask, k, from)
	return k
}

// StoreMask stores a byte for each element: 1 or 0.
func StoreMask(to Memory, k Mask) {
	if program.current.wide() {
		record(opStoreMask, to, k, Constant("c01010101", 0x01010101))
		return
	}
	record(opStoreMask, to, k)
}

// MaskLanes makes a vector of all ones and zeros.
func MaskLanes(dst Vector, k Mask) { record(opMaskLanes, dst, k) }

// Not returns where k is not set.
func Not(k Mask) Mask {
	if program.current.wide() {
		r := newMask()
		record(opNot, r, k)
		return r
	}
	ones, r := Constant("cffffffff", 0xffffffff), newMask()
	record(opNot, r, k, ones)
	return r
}

// Either adds b to a, and returns a.
func Either(a, b Mask) Mask {
	record(opEither, a, b)
	return a
}

// Blend sets dst to v where the mask is set.
func Blend(dst Vector, k Mask, v Operand) { record(opBlend, dst, v, k) }

// Choose sets dst to yes where the mask is set, and to no elsewhere. For vectors of 256 bits, where the two may be
// other registers than dst.
func Choose(dst Vector, k Mask, yes, no Vector) { record(opChoose, dst, no, yes, k) }

// Keep sets dst to v where the mask is set, and to 0 elsewhere.
func Keep(dst Vector, k Mask, v Operand) { record(opKeep, dst, k, v) }

// MaskBits makes a mask of the lowest bits of a number. For AVX-512.
func MaskBits(from Operand) Mask {
	k := newMask()
	record(opMaskBits, k, from)
	return k
}

// MaskWords makes a mask of the lowest 32 bits of a number, for elements of 16 bits. For AVX-512.
func MaskWords(from Memory) Mask {
	k := newMask()
	record(opMaskWords, k, from)
	return k
}

// MaskTable makes a mask of all ones and zeros in memory. For vectors of 256 bits.
func MaskTable(from Memory) Mask {
	k := newMask()
	record(opMaskTable, k, from)
	return k
}

// SetWhere sets all bits of the elements where the mask is set.
func SetWhere(v Vector, k Mask) { record(opSetWhere, v, k) }

// LoadWhere loads the elements where the mask is set, and 0 elsewhere; masked elements are not read.
func LoadWhere(dst Vector, k Mask, from Memory) { record(opLoadWhere, dst, k, from) }

// StoreWhere stores the elements of v where the mask is set.
func StoreWhere(to Memory, k Mask, v Vector) { record(opStoreWhere, to, k, v) }

// Select sets each bit of dst to that of v where the bit of choice is set; with other, where it is not set. For
// AVX-512.
func Select(dst, choice Vector, v Operand, other bool) {
	table := 0xe2
	if other {
		table = 0xb8
	}
	recordNumber(opSelect, table, dst, choice, v)
}
