package vec

import (
	"math"
	"unsafe"
)

// Float is the element type of the generic kernels.
type Float interface{ float32 | float64 }

// single reports whether T is float32; the compiler folds it to a constant.
func single[T Float]() bool {
	var zero T
	return unsafe.Sizeof(zero) == 4
}

// as32 views a slice of T, which must be float32.
func as32[T Float](s []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

func nan[T Float]() T { return T(math.NaN()) }

// words views x, up to a multiple of eight bytes, as 64-bit words.
func words(x []uint8) []uint64 {
	if len(x) < 8 {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/8)
}

// fours views 4n bytes of x as 32-bit words.
func fours(x []uint8, n int) []uint32 {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&x[:4*n][0])), n)
}
