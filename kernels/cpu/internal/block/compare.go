package block

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Compare returns the kernel that compares two blocks of type d (a compute type) into bools.
func Compare(dir ir.Direction, d ir.DType) Func {
	switch d {
	case ir.Float32:
		return compareVectors(dir, vec.CompareFloats)
	case ir.Float64:
		return compareVectors(dir, vec.CompareDoubles)
	case ir.Bool:
		if dir == ir.Eq || dir == ir.Ne {
			return compareBools(dir)
		}
		return compareVectors(dir, vec.CompareSmalls[uint8])
	case ir.Uint8:
		return compareVectors(dir, vec.CompareSmalls[uint8])
	case ir.Int8:
		return compareVectors(dir, vec.CompareSmalls[int8])
	case ir.Int16:
		return compareVectors(dir, vec.CompareSmalls[int16])
	case ir.Int32:
		return compareVectors(dir, vec.CompareInts)
	case ir.Int64:
		return compareVectors(dir, vec.CompareLongs[int64])
	case ir.Uint16:
		return compareVectors(dir, vec.CompareSmalls[uint16])
	case ir.Uint32:
		if dir == ir.Eq || dir == ir.Ne {
			return Compare(dir, ir.Int32)
		}
		return compareWords(dir)
	case ir.Uint64:
		return compareVectors(dir, vec.CompareLongs[uint64])
	}
	return nil
}

// compareBools compares bytes of 0 and 1.
func compareBools(dir ir.Direction) Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		z := View[uint8](dst, n)
		vec.Bits(vec.Xor, z, View[uint8](a, n), View[uint8](b, n))
		if dir == ir.Eq {
			vec.Flip(z, z, 0x0101010101010101)
		}
	}
}

// relations maps to the comparisons that vectors have; for [ir.Gt] and [ir.Ge], operands are exchanged.
var relations = map[ir.Direction]vec.Relation{ir.Eq: vec.Equal, ir.Ne: vec.NotEqual, ir.Lt: vec.Less, ir.Gt: vec.Less, ir.Le: vec.LessEqual, ir.Ge: vec.LessEqual}

//go:noinline
func compareVectors[T Number](dir ir.Direction, compare func(r vec.Relation, dst []uint8, a, b []T)) Func {
	r := relations[dir]
	if dir == ir.Gt || dir == ir.Ge {
		return func(dst, a, b, _ unsafe.Pointer, n int) {
			compare(r, View[uint8](dst, n), View[T](b, n), View[T](a, n))
		}
	}
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		compare(r, View[uint8](dst, n), View[T](a, n), View[T](b, n))
	}
}

func Bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// compareWords compares unsigned 32-bit integers by order.
func compareWords(dir ir.Direction) Func {
	switch dir {
	case ir.Lt:
		return lessWords
	case ir.Gt:
		return func(dst, a, b, _ unsafe.Pointer, n int) { lessWords(dst, b, a, nil, n) }
	case ir.Le:
		return lessEqualWords
	}
	return func(dst, a, b, _ unsafe.Pointer, n int) { lessEqualWords(dst, b, a, nil, n) }
}

func lessWords(dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[uint8](dst, n), View[uint32](a, n), View[uint32](b, n)
	for i, v := range x {
		z[i] = Bit(v < y[i])
	}
}

func lessEqualWords(dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[uint8](dst, n), View[uint32](a, n), View[uint32](b, n)
	for i, v := range x {
		z[i] = Bit(v <= y[i])
	}
}
