package vec

import (
	"math/bits"
	"unsafe"
)

// Operations on integers of one and two bytes that vectors compute in 32 bits, and powers of integers.

// SmallPair is what [SmallPairs] computes.
type SmallPair int

// The operations of [SmallPairs].
const (
	SmallDiv        SmallPair = iota // without a fraction; 0 where b is
	SmallRem                         // with the sign of a; 0 where b is
	SmallShiftLeft                   // by more bits than there are, or a negative number: 0
	SmallShiftRight                  // of numbers with a sign arithmetic; by more bits than there are, or a negative number: 0 or -1
)

// IntType is a type of integers of one to four bytes.
type IntType int

// The types.
const (
	Int8Type IntType = iota
	Uint8Type
	Int16Type
	Uint16Type
	Int32Type
	Uint32Type
)

// size is the number of bytes of an integer.
func (t IntType) size() int { return 1 << (t / 2) }

// SmallPairs computes an operation element by element, of one or two bytes, on n elements and returns how many are
// done, from the first on: none where there is no assembly. dst may be one of the operands.
func SmallPairs(op SmallPair, t IntType, dst, a, b unsafe.Pointer, n int) int {
	return smallPairs(smallPairOp(4*int(t)+int(op)), t.size(), dst, a, b, n)
}

// PowInts stores a to the power b, which wraps around; a negative power of anything but 1 and -1 is 0. It returns how
// many of n elements are done, from the first on: none where there is no assembly. dst may be one of the operands.
func PowInts(t IntType, dst, a, b unsafe.Pointer, n int) (done int) {
	size := t.size()
	for done < n {
		at, count := done*size, min(n-done, powerPiece)
		exponents := unsafe.Slice((*uint8)(unsafe.Add(b, at)), count*size)
		all := uint64(0) // the bits of all exponents
		for _, v := range words(exponents) {
			all |= v
		}
		for half := 32; half >= 8*size; half /= 2 {
			all |= all >> half
		}
		width := bits.Len64(all & (1<<(8*size) - 1))
		m := powers(powerOp(t), size, unsafe.Add(dst, at), unsafe.Add(a, at), unsafe.Add(b, at), count, max(width, 1))
		if done += m; m < count {
			break
		}
	}
	return done
}

// powerPiece is how many exponents are looked at together.
const powerPiece = 512
