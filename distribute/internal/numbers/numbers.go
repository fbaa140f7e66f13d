// Package numbers combines the numbers of replicas and workers, in host memory.
package numbers

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Number is a type that can be combined; half precision and smaller floats are combined in float32.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// View returns bytes, aligned for T, as numbers without copying.
func View[T Number](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}

// Bytes returns numbers as bytes without copying.
func Bytes[T Number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// Combine sets dst to a combined with b, element by element: the sum for ir.Sum and ir.Mean, the product for ir.Prod,
// or ir.Min or ir.Max, which give NaN if either is NaN. Half precision and smaller floats are rounded at each step.
// All three have the same length, and dst may be a or b. The order of the operands matters only if both are NaN.
func Combine(kind ir.Kind, d ir.DType, dst, a, b []byte) {
	if d == ir.Float32 && (kind == ir.Sum || kind == ir.Mean) {
		cpu.Add(View[float32](dst), View[float32](a), View[float32](b))
		return
	}
	switch d {
	case ir.Float32:
		combine(kind, View[float32](dst), View[float32](a), View[float32](b))
	case ir.Float64:
		combine(kind, View[float64](dst), View[float64](a), View[float64](b))
	case ir.Int8:
		combine(kind, View[int8](dst), View[int8](a), View[int8](b))
	case ir.Int16:
		combine(kind, View[int16](dst), View[int16](a), View[int16](b))
	case ir.Int32:
		combine(kind, View[int32](dst), View[int32](a), View[int32](b))
	case ir.Int64:
		combine(kind, View[int64](dst), View[int64](a), View[int64](b))
	case ir.Uint8, ir.Bool:
		combine(kind, View[uint8](dst), View[uint8](a), View[uint8](b))
	case ir.Uint16:
		combine(kind, View[uint16](dst), View[uint16](a), View[uint16](b))
	case ir.Uint32:
		combine(kind, View[uint32](dst), View[uint32](a), View[uint32](b))
	case ir.Uint64:
		combine(kind, View[uint64](dst), View[uint64](a), View[uint64](b))
	}
	switch {
	case d.IsHalf() && d.Size() == 1:
		combineHalf(kind, d, View[uint8](dst), View[uint8](a), View[uint8](b))
	case d.IsHalf():
		combineHalf(kind, d, View[uint16](dst), View[uint16](a), View[uint16](b))
	}
}

func combine[T Number](kind ir.Kind, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	switch kind {
	case ir.Sum, ir.Mean:
		for i := range dst {
			dst[i] = a[i] + b[i]
		}
	case ir.Prod:
		for i := range dst {
			dst[i] = a[i] * b[i]
		}
	case ir.Min:
		for i := range dst {
			dst[i] = min(a[i], b[i])
		}
	case ir.Max:
		for i := range dst {
			dst[i] = max(a[i], b[i])
		}
	}
}

// combineHalf is combine for half precision and smaller floats, whose elements are of type T.
func combineHalf[T uint8 | uint16](kind ir.Kind, d ir.DType, dst, a, b []T) {
	narrow, widen := d.Half()
	sum := kind == ir.Sum || kind == ir.Mean
	for i := range dst {
		x, y, z := widen(uint16(a[i])), widen(uint16(b[i])), float32(0)
		switch {
		case sum:
			z = x + y
		case kind == ir.Prod:
			z = x * y
		case kind == ir.Min:
			z = min(x, y)
		case kind == ir.Max:
			z = max(x, y)
		}
		dst[i] = T(narrow(z))
	}
}

// Divide divides floating point numbers by n.
func Divide(d ir.DType, data []byte, n int) {
	switch {
	case d == ir.Float32:
		divide(View[float32](data), float32(n))
	case d == ir.Float64:
		divide(View[float64](data), float64(n))
	case d.IsHalf() && d.Size() == 1:
		divideHalf(d, View[uint8](data), n)
	case d.IsHalf():
		divideHalf(d, View[uint16](data), n)
	}
}

func divide[T float32 | float64](data []T, n T) {
	for i := range data {
		data[i] /= n
	}
}

func divideHalf[T uint8 | uint16](d ir.DType, data []T, n int) {
	narrow, widen := d.Half()
	for i, x := range data {
		data[i] = T(narrow(widen(uint16(x)) / float32(n)))
	}
}
