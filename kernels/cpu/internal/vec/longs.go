package vec

import "unsafe"

// 64-bit integers, which have their kernels in the tables of 64-bit floats, and conversions between the sizes of
// floats.

// bits64 views integers as the floats with the same bits.
func bits64[T int64 | uint64](s []T) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

//go:noinline
func longs[T int64 | uint64](op binary64Op, f func(a, b T) T, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if binary64(op, bits64(dst), bits64(a), bits64(b)) {
		return
	}
	for i, v := range a {
		dst[i] = f(v, b[i])
	}
}

//go:noinline
func longsOf(op unary64Op, f func(x int64) int64, dst, x []int64) {
	x = x[:len(dst)]
	if unary64(op, bits64(dst), bits64(x)) {
		return
	}
	for i, v := range x {
		dst[i] = f(v)
	}
}

// AddLongs stores a + b, which wraps around.
func AddLongs(dst, a, b []int64) {
	longs(opAddLongs, func(a, b int64) int64 { return a + b }, dst, a, b)
}

// SubLongs stores a − b, which wraps around.
func SubLongs(dst, a, b []int64) {
	longs(opSubLongs, func(a, b int64) int64 { return a - b }, dst, a, b)
}

// MaxLongs stores the larger one.
func MaxLongs(dst, a, b []int64) {
	longs(opMaxLongs, func(a, b int64) int64 { return max(a, b) }, dst, a, b)
}

// MinLongs stores the smaller one.
func MinLongs(dst, a, b []int64) {
	longs(opMinLongs, func(a, b int64) int64 { return min(a, b) }, dst, a, b)
}

// MaxUlongs is [MaxLongs] for unsigned integers.
func MaxUlongs(dst, a, b []uint64) {
	longs(opMaxUlongs, func(a, b uint64) uint64 { return max(a, b) }, dst, a, b)
}

// MinUlongs is [MinLongs] for unsigned integers.
func MinUlongs(dst, a, b []uint64) {
	longs(opMinUlongs, func(a, b uint64) uint64 { return min(a, b) }, dst, a, b)
}

// OrderLongs leaves the smaller ones of pairs of numbers in x, and the larger ones in y.
func OrderLongs(x, y []int64) {
	y = y[:len(x)]
	for i := orderLongs(x, y); i < len(x); i++ {
		x[i], y[i] = min(x[i], y[i]), max(x[i], y[i])
	}
}

// NegLongs stores −x.
func NegLongs(dst, x []int64) { longsOf(opNegLongs, func(v int64) int64 { return -v }, dst, x) }

// AbsLongs stores |x|.
func AbsLongs(dst, x []int64) {
	longsOf(opAbsLongs, func(v int64) int64 { return max(v, -v) }, dst, x)
}

// SignLongs stores −1, 0 or 1.
func SignLongs(dst, x []int64) {
	longsOf(opSignLongs, func(v int64) int64 { return v>>63 | int64(uint64(-v)>>63) }, dst, x)
}

// CompareLongs stores 1 where the relation of a to b holds, else 0.
func CompareLongs[T int64 | uint64](r Relation, dst []uint8, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	op := opLongsEqual + compare64Op(r)
	if r >= Less && ^T(0) > 0 { // unsigned
		op += opUlongsLess - opLongsLess
	}
	for i := compare64(op, dst, bits64(a), bits64(b)); i < len(dst); i++ {
		dst[i] = r.of(a[i] < b[i], a[i] == b[i])
	}
}

// FloatsToDoubles stores the same numbers.
func FloatsToDoubles(dst []float64, x []float32) {
	x = x[:len(dst)]
	for i := convert64(opFloatsToDoubles, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(x)), 8, 4, len(dst)); i < len(dst); i++ {
		dst[i] = float64(x[i])
	}
}

// DoublesToFloats stores the nearest numbers.
func DoublesToFloats(dst []float32, x []float64) {
	x = x[:len(dst)]
	for i := convert64(opDoublesToFloats, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(x)), 4, 8, len(dst)); i < len(dst); i++ {
		dst[i] = float32(x[i])
	}
}
