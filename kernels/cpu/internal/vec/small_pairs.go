package vec

import (
	"math/bits"
	"unsafe"
)

// Operations on integers of one and two bytes that vectors compute in 32 bits; and powers of integers.

// SmallPair is an operation of [SmallPairs].
type SmallPair int

// The operations of [SmallPairs].
const (
	SmallDiv        SmallPair = iota // truncated; 0 if b is 0
	SmallRem                         // with the sign of a; 0 if b is 0
	SmallShiftLeft                   // 0 if b is negative, or at least the number of bits
	SmallShiftRight                  // arithmetic for signed numbers; 0 or -1 if b is negative, or at least the number of bits
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

// SmallPairs computes an operation on n elements of one or two bytes. It returns how many it has computed, starting
// with the first: none if there is no assembly. dst may be one of the operands.
func SmallPairs(op SmallPair, t IntType, dst, a, b unsafe.Pointer, n int) int {
	return smallPairs(smallPairOp(4*int(t)+int(op)), t.size(), dst, a, b, n)
}

// PowInts stores a to the power b, which wraps around; negative powers are 0, except those of 1 and -1. It returns how
// many of n elements it has computed, starting with the first: none if there is no assembly. dst may be one of the
// operands.
func PowInts(t IntType, dst, a, b unsafe.Pointer, n int) (done int) {
	size := t.size()
	for done < n {
		at, count := done*size, min(n-done, powerPiece)
		exponents := unsafe.Slice((*uint8)(unsafe.Add(b, at)), count*size)
		all := uint64(0) // the bits of all exponents, ored
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

// powerPiece is how many exponents are examined together.
const powerPiece = 512
