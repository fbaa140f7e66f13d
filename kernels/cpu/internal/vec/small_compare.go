package vec

import "unsafe"

// Comparisons of integers of one and two bytes, built from vector kernels of other operations: those of bytes from
// extremes and bitwise operations, those of two bytes by widening.

// comparePiece is how many integers are compared at a time, so that intermediate results stay in the first-level cache.
const comparePiece = 512

var ones = func() (b [comparePiece]uint8) {
	for i := range b {
		b[i] = 1
	}
	return b
}()

// compareVectors is CompareSmalls if there are vector kernels.
func compareVectors[T Small](r Relation, dst []uint8, a, b []T) {
	n := len(a)
	p, q := unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b))
	switch {
	case unsafe.Sizeof(T(0)) == 1:
		compareBytes(r, dst, a, b)
	case T(0)-1 < 0:
		compareWidened(r, dst, unsafe.Slice((*int16)(p), n), unsafe.Slice((*int16)(q), n))
	default:
		compareWidened(r, dst, unsafe.Slice((*uint16)(p), n), unsafe.Slice((*uint16)(q), n))
	}
}

// compareBytes stores 1 where the relation holds and 0 elsewhere, for single bytes. dst may be one of the operands.
func compareBytes[T Small](r Relation, dst []uint8, a, b []T) {
	var extremes [comparePiece]uint8
	for len(dst) > 0 {
		n := min(len(dst), comparePiece)
		p, q, m := bytesOf(a[:n]), bytesOf(b[:n]), extremes[:n]
		switch r {
		case Less: // a < b where the larger one is not a
			Smalls(SmallMax, unsafe.Slice((*T)(unsafe.Pointer(&extremes)), n), a[:n], b[:n])
			Bits(Xor, dst[:n], m, p)
		case LessEqual: // a ≤ b where the larger one is b
			Smalls(SmallMax, unsafe.Slice((*T)(unsafe.Pointer(&extremes)), n), a[:n], b[:n])
			Bits(Xor, dst[:n], m, q)
		default:
			Bits(Xor, dst[:n], p, q)
		}
		Smalls(SmallMin, dst[:n], dst[:n], ones[:n])
		if r == Equal || r == LessEqual {
			Bits(Xor, dst[:n], dst[:n], ones[:n])
		}
		dst, a, b = dst[n:], a[n:], b[n:]
	}
}

// compareWidened is CompareSmalls via 32-bit integers.
func compareWidened[T int16 | uint16](r Relation, dst []uint8, a, b []T) {
	var x, y [comparePiece]int32
	for len(dst) > 0 {
		n := min(len(dst), comparePiece)
		SmallsToInts(x[:n], a[:n])
		SmallsToInts(y[:n], b[:n])
		CompareInts(r, dst[:n], x[:n], y[:n])
		dst, a, b = dst[n:], a[n:], b[n:]
	}
}
