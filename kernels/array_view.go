package kernels

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Number is a Go type of numbers.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Element is a Go type that elements of arrays can have: numbers and bools. int and uint are stored as integers of
// their size, int64 and uint64 on most machines.
type Element interface{ Number | ~bool }

// kinds are the element types for kinds of Go types, except int and uint.
var kinds = [...]ir.DType{
	reflect.Bool: ir.Bool, reflect.Int8: ir.Int8, reflect.Int16: ir.Int16, reflect.Int32: ir.Int32, reflect.Int64: ir.Int64,
	reflect.Uint8: ir.Uint8, reflect.Uint16: ir.Uint16, reflect.Uint32: ir.Uint32, reflect.Uint64: ir.Uint64,
	reflect.Float32: ir.Float32, reflect.Float64: ir.Float64,
}

// DTypeOfKind returns the element type for a kind of Go types, or Invalid if there is none.
func DTypeOfKind(k reflect.Kind) ir.DType {
	switch {
	case k == reflect.Int && unsafe.Sizeof(int(0)) == 8:
		return ir.Int64
	case k == reflect.Int:
		return ir.Int32
	case k == reflect.Uint && unsafe.Sizeof(uint(0)) == 8:
		return ir.Uint64
	case k == reflect.Uint:
		return ir.Uint32
	case int(k) < len(kinds):
		return kinds[k]
	}
	return ir.Invalid
}

// DTypeOf returns the element type of arrays of T.
func DTypeOf[T Element]() ir.DType { return DTypeOfKind(reflect.TypeFor[T]().Kind()) }

// nativeIsLittle says whether this machine stores numbers as arrays do.
var nativeIsLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// ArrayOf returns an array of the given shape (default: a vector) that uses the memory of values.
func ArrayOf[T Element](values []T, shape ...int) (Array, error) {
	if shape == nil {
		shape = []int{len(values)}
	}
	return ArrayAt(DTypeOf[T](), unsafe.Pointer(unsafe.SliceData(values)), len(values), shape...)
}

// ArrayAt returns an array of the given shape (default: a scalar) that uses the memory of n elements of a type at an
// address. It is [ArrayOf] for code that knows types only by reflection.
func ArrayAt(dtype ir.DType, data unsafe.Pointer, n int, lengths ...int) (Array, error) {
	shape := slices.Clone(ir.Shape(lengths))
	if slices.ContainsFunc(shape, func(length int) bool { return length < 0 }) {
		return Array{}, fmt.Errorf("kernels: ArrayOf: received shape %v; expected lengths of at least 0", []int(shape))
	}
	if ir.MulLengths(shape...) != n {
		return Array{}, fmt.Errorf("kernels: ArrayOf: received %d values for shape %v, which holds %d", n, []int(shape), ir.MulLengths(shape...))
	}
	a := Array{ir.Type{DType: dtype, Shape: shape}, unsafe.Slice((*byte)(data), n*dtype.Size())}
	if a.Data == nil {
		a.Data = []byte{}
	}
	if !nativeIsLittle {
		a.Data = slices.Clone(a.Data)
		a.swap()
	}
	return a, nil
}

// swap reverses the bytes of each element.
func (a Array) swap() {
	if size := a.Type.DType.Size(); size > 1 {
		for raw := a.Data; len(raw) >= size; raw = raw[size:] {
			slices.Reverse(raw[:size])
		}
	}
}

// View returns the elements as a slice of their Go type, row-major, in the memory of the array: writes to it change the
// array. It fails if T is not the element type ([Values] converts), or if the memory is not aligned for it, which
// cannot happen with arrays created by this module.
func View[T Element](a Array) ([]T, error) {
	want := DTypeOf[T]()
	if err := a.viewable(want); err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(a.Data))), len(a.Data)/want.Size()), nil
}

func (a Array) viewable(want ir.DType) error {
	if err := a.Check(); err != nil {
		return fmt.Errorf("kernels: View: %w", err)
	}
	size := want.Size()
	switch {
	case a.Type.DType != want:
		return fmt.Errorf("kernels: View: the array holds %v, not %v; Values converts", a.Type.DType, want)
	case uintptr(unsafe.Pointer(unsafe.SliceData(a.Data)))%uintptr(size) != 0:
		return fmt.Errorf("kernels: View: the memory of the array is not aligned for %v; Values, or a Clone, copies it", want)
	case size > 1 && !nativeIsLittle:
		return fmt.Errorf("kernels: View: this machine keeps the bytes of a number in the other order; Values copies them")
	case want == ir.Bool && slices.ContainsFunc(a.Data, func(b byte) bool { return b > 1 }):
		return fmt.Errorf("kernels: View: the array of bools holds bytes other than 0 and 1")
	}
	return nil
}

// Values returns a copy of the elements, row-major, converted to T as Go converts numbers; bools are 0 and 1. For the
// zero Array it is nil.
func Values[T Number](a Array) []T {
	if a.IsZero() {
		return nil
	}
	out := make([]T, a.Len())
	if DTypeOf[T]() == a.Type.DType && nativeIsLittle {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(out)*a.Type.DType.Size()), a.Data)
		return out
	}
	le := binary.LittleEndian
	switch d := a.Data; a.Type.DType {
	case ir.Int64:
		for i := range out {
			out[i] = T(int64(le.Uint64(d[8*i:])))
		}
	case ir.Uint64:
		for i := range out {
			out[i] = T(le.Uint64(d[8*i:]))
		}
	default: // float64 holds these exactly
		for i := range out {
			out[i] = T(ir.Element(d, a.Type.DType, i))
		}
	}
	return out
}

// Float32s returns a copy of the elements as float32, row-major. [View] reads them in place.
func (a Array) Float32s() []float32 { return Values[float32](a) }

// Float64s returns a copy of the elements as float64, row-major.
func (a Array) Float64s() []float64 { return Values[float64](a) }

// Int64s returns a copy of the elements as int64, row-major; fractions are truncated.
func (a Array) Int64s() []int64 { return Values[int64](a) }

// Int32s returns a copy of the elements as int32, row-major; fractions are truncated.
func (a Array) Int32s() []int32 { return Values[int32](a) }

// Bools returns the elements as bools, row-major: whether each differs from 0.
func (a Array) Bools() []bool {
	out := make([]bool, a.Len())
	for i := range out {
		out[i] = a.Element(i) != 0
	}
	return out
}

// Rows returns the elements as plain Go slices: one row for each position of axis 0, the other axes flattened
// row-major, converted as by [Values]. The rows are a copy and share one block of memory. A scalar has one row.
func Rows[T Number](a Array) ([][]T, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("kernels: Rows: %w", err)
	}
	n := 1
	if a.Rank() > 0 {
		n = a.Type.Shape[0]
	}
	rows, all := make([][]T, n), Values[T](a)
	if len(all) == 0 {
		return rows, nil
	}
	width := len(all) / n
	for i := range rows {
		rows[i] = all[i*width : (i+1)*width : (i+1)*width]
	}
	return rows, nil
}

// Convert returns the elements in another element type, rounded or truncated as in [ir.AppendElement]. It returns a
// itself if it already has that type.
func (a Array) Convert(dtype ir.DType) (Array, error) {
	if err := a.Check(); err != nil {
		return Array{}, fmt.Errorf("kernels: Convert: %w", err)
	}
	if a.Type.DType == dtype {
		return a, nil
	}
	if !dtype.Valid() {
		return Array{}, fmt.Errorf("kernels: Convert: %v is no element type", dtype)
	}
	out := Array{ir.Type{DType: dtype, Shape: a.Type.Shape.Clone()}, make([]byte, 0, a.Len()*dtype.Size())}
	wide := a.Type.DType == ir.Int64 || a.Type.DType == ir.Uint64
	for i := range a.Len() {
		if wide && (dtype == ir.Int64 || dtype == ir.Uint64) {
			out.Data = append(out.Data, a.Data[8*i:8*i+8]...)
			continue
		}
		out.Data = ir.AppendElement(out.Data, dtype, a.Element(i))
	}
	return out, nil
}

// Elements returns the elements as a slice of their Go type, row-major: []float32, []int64, []bool, ... in the memory
// of the array if [View] can do that, otherwise as a copy. For half precision it is []float32, for the zero Array nil.
// It is for code that does not know the type; other code uses View or [Values].
func (a Array) Elements() any {
	switch a.Type.DType {
	case ir.Bool:
		if view, err := View[bool](a); err == nil {
			return view
		}
		return a.Bools()
	case ir.Int8:
		return viewOrCopy[int8](a)
	case ir.Int16:
		return viewOrCopy[int16](a)
	case ir.Int32:
		return viewOrCopy[int32](a)
	case ir.Int64:
		return viewOrCopy[int64](a)
	case ir.Uint8:
		return viewOrCopy[uint8](a)
	case ir.Uint16:
		return viewOrCopy[uint16](a)
	case ir.Uint32:
		return viewOrCopy[uint32](a)
	case ir.Uint64:
		return viewOrCopy[uint64](a)
	case ir.Float64:
		return viewOrCopy[float64](a)
	case ir.Float32:
		return viewOrCopy[float32](a)
	}
	if a.Type.DType.IsHalf() {
		return a.Float32s()
	}
	return nil
}

func viewOrCopy[T Number](a Array) []T {
	if view, err := View[T](a); err == nil {
		return view
	}
	return Values[T](a)
}
