package collective

import (
	"fmt"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Reduction says how the values of the workers become one.
type Reduction uint8

// The reductions. Mean is the sum divided by the number of workers, for floating point types only. Min and Max give NaN
// where any value is NaN.
const (
	Sum Reduction = iota
	Mean
	Min
	Max
	Product
	reductionCount
)

// String names the reduction.
func (r Reduction) String() string {
	return [...]string{"sum", "mean", "min", "max", "product", "invalid"}[min(r, reductionCount)]
}

// number is what reductions compute with.
type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// view looks at bytes as numbers without copying.
func view[T number](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}

// bytesOf looks at numbers as bytes without copying.
func bytesOf[T number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// combine sets dst to a op b, element by element. dst may be a or b. The order of the operands matters where both are
// NaN only.
func combine[T number](op Reduction, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	switch op {
	case Sum, Mean:
		for len(dst) >= 8 {
			d, x, y := (*[8]T)(dst), (*[8]T)(a), (*[8]T)(b)
			d[0], d[1], d[2], d[3] = x[0]+y[0], x[1]+y[1], x[2]+y[2], x[3]+y[3]
			d[4], d[5], d[6], d[7] = x[4]+y[4], x[5]+y[5], x[6]+y[6], x[7]+y[7]
			dst, a, b = dst[8:], a[8:], b[8:]
		}
		for i := range dst {
			dst[i] = a[i] + b[i]
		}
	case Product:
		for i := range dst {
			dst[i] = a[i] * b[i]
		}
	case Min:
		for i := range dst {
			dst[i] = min(a[i], b[i])
		}
	case Max:
		for i := range dst {
			dst[i] = max(a[i], b[i])
		}
	}
}

// combineHalf is combine for half precision and smaller floats, whose elements are of type T.
func combineHalf[T uint8 | uint16](d ir.DType, op Reduction, dst, a, b []T) {
	narrow, widen := d.Half()
	for i := range dst {
		x, y, z := widen(uint16(a[i])), widen(uint16(b[i])), float32(0)
		switch op {
		case Sum, Mean:
			z = x + y
		case Product:
			z = x * y
		case Min:
			z = min(x, y)
		case Max:
			z = max(x, y)
		}
		dst[i] = T(narrow(z))
	}
}

func divideHalf[T uint8 | uint16](d ir.DType, data []T, n int) {
	narrow, widen := d.Half()
	for i, x := range data {
		data[i] = T(narrow(widen(uint16(x)) / float32(n)))
	}
}

// reduceBytes sets dst to a op b for numbers of type d. All three have the same length.
func reduceBytes(d ir.DType, op Reduction, dst, a, b []byte) {
	if d == ir.Float32 && (op == Sum || op == Mean) {
		cpu.Add(view[float32](dst), view[float32](a), view[float32](b))
		return
	}
	switch d {
	case ir.Float32:
		combine(op, view[float32](dst), view[float32](a), view[float32](b))
	case ir.Float64:
		combine(op, view[float64](dst), view[float64](a), view[float64](b))
	case ir.Int8:
		combine(op, view[int8](dst), view[int8](a), view[int8](b))
	case ir.Int16:
		combine(op, view[int16](dst), view[int16](a), view[int16](b))
	case ir.Int32:
		combine(op, view[int32](dst), view[int32](a), view[int32](b))
	case ir.Int64:
		combine(op, view[int64](dst), view[int64](a), view[int64](b))
	case ir.Uint8, ir.Bool:
		combine(op, view[uint8](dst), view[uint8](a), view[uint8](b))
	case ir.Uint16:
		combine(op, view[uint16](dst), view[uint16](a), view[uint16](b))
	case ir.Uint32:
		combine(op, view[uint32](dst), view[uint32](a), view[uint32](b))
	case ir.Uint64:
		combine(op, view[uint64](dst), view[uint64](a), view[uint64](b))
	}
	switch {
	case d.IsHalf() && d.Size() == 1:
		combineHalf(d, op, view[uint8](dst), view[uint8](a), view[uint8](b))
	case d.IsHalf():
		combineHalf(d, op, view[uint16](dst), view[uint16](a), view[uint16](b))
	}
}

// divide divides floating point numbers by n.
func divide(d ir.DType, data []byte, n int) {
	switch d {
	case ir.Float32:
		for i, x := range view[float32](data) {
			view[float32](data)[i] = x / float32(n)
		}
	case ir.Float64:
		for i, x := range view[float64](data) {
			view[float64](data)[i] = x / float64(n)
		}
	}
	switch {
	case d.IsHalf() && d.Size() == 1:
		divideHalf(d, view[uint8](data), n)
	case d.IsHalf():
		divideHalf(d, view[uint16](data), n)
	}
}

// roundBFloat16 rounds float32 numbers to what bfloat16 can hold.
func roundBFloat16(v []float32) {
	for i, x := range v {
		v[i] = ir.BFloat16ToFloat32(ir.BFloat16FromFloat32(x))
	}
}

// packBFloat16 writes float32 numbers as bfloat16.
func packBFloat16(dst []uint16, src []float32) {
	for i, x := range src {
		dst[i] = ir.BFloat16FromFloat32(x)
	}
}

// unpackBFloat16 reads bfloat16 numbers.
func unpackBFloat16(dst []float32, src []uint16) {
	for i := range dst {
		dst[i] = ir.BFloat16ToFloat32(src[i])
	}
}

func checkReduction(op Reduction, d ir.DType) error {
	switch {
	case op >= reductionCount:
		return fmt.Errorf("collective: unknown reduction %d", op)
	case !d.Valid():
		return fmt.Errorf("collective: tensors need an element type")
	case d == ir.Bool && op != Min && op != Max:
		return fmt.Errorf("collective: %v of bool; use Max for any and Min for all", op)
	case op == Mean && !d.IsFloat():
		return fmt.Errorf("collective: the mean of %v is not defined; use Sum, or convert to a floating point type", d)
	}
	return nil
}
