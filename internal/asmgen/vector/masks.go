package vector

// Predicate is a comparison. None raises floating-point exceptions, and all but Unordered, NotEqual and NotLessEqual
// are false if an operand is NaN.
type Predicate int

// The predicates, with their numbers on amd64.
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

// Compare returns the mask of a predicate b.
func Compare(p Predicate, a Vector, b Operand) Mask {
	k := newMask()
	recordNumber(opCompare, int(p), k, a, b)
	return k
}

// CompareInt returns the mask of a predicate b, which is Equal or LessThan, for signed integers.
func CompareInt(p Predicate, a, b Vector) Mask {
	k := newMask()
	if p == Equal {
		recordNumber(opCompareInt, int(p), k, a, b)
	} else {
		recordNumber(opCompareInt, int(p), k, b, a)
	}
	return k
}

// Signs returns the mask of the sign bits of v. Where masks are vectors, the mask is v itself: then all bits of an
// element of v must equal its sign, and v must not change while the mask is used.
func Signs(v Vector) Mask {
	k := newMask()
	if !program.current.wide() {
		k.alias = v.register
	}
	record(opSigns, k, v)
	return k
}

// Odd returns the mask of odd integers.
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

// ZeroBytes returns the mask of zero bytes in memory. zero is a vector of zeros, which AVX-512 does not use.
func ZeroBytes(from Memory, zero Vector) Mask {
	k := newMask()
	record(opZeroBytes, k, from, zero)
	return k
}

// LoadMask returns the mask of nonzero bytes in memory, which must be 0 or 1.
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

// MaskLanes sets all bits of the elements in the mask, and clears the others.
func MaskLanes(dst Vector, k Mask) { record(opMaskLanes, dst, k) }

// Not returns the complement of k.
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

// Either sets a to a | b, and returns a.
func Either(a, b Mask) Mask {
	record(opEither, a, b)
	return a
}

// Blend sets dst to v where the mask is set.
func Blend(dst Vector, k Mask, v Operand) { record(opBlend, dst, v, k) }

// Choose sets dst to yes where the mask is set, else to no. For vectors of 256 bits; yes and no may be other registers
// than dst.
func Choose(dst Vector, k Mask, yes, no Vector) { record(opChoose, dst, no, yes, k) }

// Keep sets dst to v where the mask is set, else to 0.
func Keep(dst Vector, k Mask, v Operand) { record(opKeep, dst, k, v) }

// MaskBits makes a mask from the lowest bits of a number. For AVX-512.
func MaskBits(from Operand) Mask {
	k := newMask()
	record(opMaskBits, k, from)
	return k
}

// MaskWords makes a mask for 16-bit elements from the lowest 32 bits of a number. For AVX-512.
func MaskWords(from Memory) Mask {
	k := newMask()
	record(opMaskWords, k, from)
	return k
}

// MaskTable makes a mask from a vector of all ones or zeros in memory. For vectors of 256 bits.
func MaskTable(from Memory) Mask {
	k := newMask()
	record(opMaskTable, k, from)
	return k
}

// SetWhere sets all bits of the elements where the mask is set.
func SetWhere(v Vector, k Mask) { record(opSetWhere, v, k) }

// LoadWhere loads the elements where the mask is set, and sets the others to 0 without reading them.
func LoadWhere(dst Vector, k Mask, from Memory) { record(opLoadWhere, dst, k, from) }

// StoreWhere stores the elements of v where the mask is set.
func StoreWhere(to Memory, k Mask, v Vector) { record(opStoreWhere, to, k, v) }

// Select sets each bit of dst to that of v where the bit of choice is set, or, with other, where it is not set. For
// AVX-512.
func Select(dst, choice Vector, v Operand, other bool) {
	table := 0xe2
	if other {
		table = 0xb8
	}
	recordNumber(opSelect, table, dst, choice, v)
}
