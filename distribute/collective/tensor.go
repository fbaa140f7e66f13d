package collective

import (
	"fmt"
	"unsafe"

	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Tensor is memory that takes part in a collective: Data holds the elements in row-major order and native byte order.
type Tensor struct {
	DType ir.DType
	Shape []int // nil: one axis
	Data  []byte
}

// Of returns a tensor over the memory of values; nothing is copied. Without a shape it has one axis.
func Of[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](values []T, shape ...int) Tensor {
	var zero T
	var d ir.DType
	switch any(zero).(type) {
	case int8:
		d = ir.Int8
	case int16:
		d = ir.Int16
	case int32:
		d = ir.Int32
	case int64:
		d = ir.Int64
	case uint8:
		d = ir.Uint8
	case uint16:
		d = ir.Uint16
	case uint32:
		d = ir.Uint32
	case uint64:
		d = ir.Uint64
	case float32:
		d = ir.Float32
	case float64:
		d = ir.Float64
	}
	return Tensor{d, shape, numbers.Bytes(values)}
}

// Values returns the elements of a tensor made by Of or returned by AllGather; nothing is copied.
func Values[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](t Tensor) []T {
	return numbers.View[T](t.Data)
}

// elements returns the number of elements, from the shape or, if there is none, from the size of the memory.
func (t Tensor) elements() int {
	if t.Shape == nil {
		return len(t.Data) / t.DType.Size()
	}
	count := 1
	for _, n := range t.Shape {
		count *= n
	}
	return count
}

func (t Tensor) check() error {
	size := t.DType.Size()
	if !t.DType.Valid() {
		return fmt.Errorf("collective: the tensor has no element type")
	}
	if len(t.Data)%size != 0 {
		return fmt.Errorf("collective: %d bytes do not hold whole elements of %v", len(t.Data), t.DType)
	}
	if len(t.Data) > 0 && uintptr(unsafe.Pointer(&t.Data[0]))%uintptr(size) != 0 {
		return fmt.Errorf("collective: the memory of the tensor is not aligned to %d bytes", size)
	}
	if t.Shape == nil {
		return nil
	}
	count := 1
	for _, n := range t.Shape {
		if n < 0 || n > 0 && count > len(t.Data)/n {
			return fmt.Errorf("collective: the shape %v does not fit %d bytes of %v", t.Shape, len(t.Data), t.DType)
		}
		count *= n
	}
	if count*size != len(t.Data) {
		return fmt.Errorf("collective: the shape %v does not fit %d bytes of %v", t.Shape, len(t.Data), t.DType)
	}
	return nil
}

// vector is the concatenation of the memory of tensors of one type.
type vector struct {
	parts []Tensor
	size  int
}

func newVector(parts []Tensor) vector {
	v := vector{parts: parts}
	for _, t := range parts {
		v.size += len(t.Data)
	}
	return v
}

// each calls f with the pieces of memory of [from, to) and their offsets from from.
func (v vector) each(from, to int, f func(at int, piece []byte)) {
	at := 0
	for _, t := range v.parts {
		low, high := max(from, at), min(to, at+len(t.Data))
		if low < high {
			f(low-from, t.Data[low-at:high-at])
		}
		at += len(t.Data)
		if at >= to {
			return
		}
	}
}

// read copies [from, from+len(dst)) to dst.
func (v vector) read(dst []byte, from int) {
	if len(v.parts) == 1 {
		copy(dst, v.parts[0].Data[from:])
		return
	}
	v.each(from, from+len(dst), func(at int, piece []byte) { copy(dst[at:], piece) })
}

// write copies src to [from, from+len(src)).
func (v vector) write(src []byte, from int) {
	if len(v.parts) == 1 {
		copy(v.parts[0].Data[from:], src)
		return
	}
	v.each(from, from+len(src), func(at int, piece []byte) { copy(piece, src[at:]) })
}
