package vec

import "unsafe"

// Floats of 64 bits, of which chains have vector instructions.

// start64 computes the whole vectors of an operation of float64 and returns how many elements are done; 0 for float32.
func start64[T Float](op ChainOp, dst, a, b []T) int {
	if single[T]() || len(dst) < 8 {
		return 0
	}
	return double2(op, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b)), len(dst))
}

// number64 is start64 for one operand and a number.
func number64[T Float](op ChainOp, dst, x []T, a T) int {
	if single[T]() || len(dst) < 8 || a != a {
		return 0
	}
	number := float64(a)
	return double2(op, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(&number), len(dst))
}

// as64 views a slice of T as float64; only where T is that.
func as64[T Float](s []T) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}
