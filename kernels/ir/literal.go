package ir

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Literal is a constant tensor: its type and its elements, little endian and row-major. When Splat is set, Data holds
// one element that fills the whole shape.
type Literal struct {
	Type  Type
	Data  []byte
	Splat bool
}

// Scalar returns a literal of the given shape in which every element is v, converted to dtype (rounded to nearest even
// for floats, truncated towards zero for integers, v != 0 for bool).
func Scalar(dtype DType, v float64, shape ...int) Literal {
	return Literal{Type: Type{dtype, shape}, Data: AppendElement(nil, dtype, v), Splat: true}
}

// Floats returns a literal with the given elements, converted as Scalar does.
func Floats(dtype DType, shape Shape, values []float64) (Literal, error) {
	if !dtype.Valid() {
		return Literal{}, fmt.Errorf("ir: a literal of type %v; it needs an element type such as Float32", dtype)
	}
	if shape.Size() != len(values) {
		return Literal{}, fmt.Errorf("ir: literal of shape %v needs %d elements, received %d", shape, shape.Size(), len(values))
	}
	data := make([]byte, 0, len(values)*dtype.Size())
	for _, v := range values {
		data = AppendElement(data, dtype, v)
	}
	return Literal{Type: Type{dtype, shape}, Data: data}, nil
}

// AppendElement appends the little-endian encoding of v in the given element type: rounded once, to nearest even, for
// floats; truncated towards zero and saturated for integers, where NaN gives 0; v != 0 for bool.
func AppendElement(data []byte, dtype DType, v float64) []byte {
	le := binary.LittleEndian
	switch dtype {
	case Bool:
		if v != 0 {
			return append(data, 1)
		}
		return append(data, 0)
	case Int8, Uint8:
		return append(data, byte(truncate(dtype, v)))
	case Int16, Uint16:
		return le.AppendUint16(data, uint16(truncate(dtype, v)))
	case Int32, Uint32:
		return le.AppendUint32(data, uint32(truncate(dtype, v)))
	case Int64, Uint64:
		return le.AppendUint64(data, truncate(dtype, v))
	case Float32:
		return le.AppendUint32(data, math.Float32bits(float32(v)))
	case Float64:
		return le.AppendUint64(data, math.Float64bits(v))
	}
	switch f := &dtypeTable[dtype]; {
	case f.narrow != nil && f.size == 1:
		return append(data, byte(f.narrow(toOdd32(v))))
	case f.narrow != nil:
		return le.AppendUint16(data, f.narrow(toOdd32(v)))
	}
	panic(fmt.Sprintf("ir: no encoding for %v", dtype))
}

// truncate truncates v to an integer of the given type, as two's complement bits.
func truncate(dtype DType, v float64) uint64 {
	bits := dtype.Size() * 8
	low, high := 0.0, math.Ldexp(1, bits) // v must be in [low, high)
	if dtype.IsSigned() {
		low, high = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	}
	v = math.Trunc(v)
	switch {
	case v != v:
		return 0
	case v >= high && dtype.IsSigned():
		return 1<<(bits-1) - 1
	case v >= high:
		return math.MaxUint64
	case v < low && dtype.IsSigned():
		return 1 << (bits - 1)
	case v < low:
		return 0
	case dtype.IsSigned():
		return uint64(int64(v))
	}
	return uint64(v)
}

// Element reads element i of row-major data of the given type as a float64; 64-bit integers beyond 2^53 are rounded.
func Element(data []byte, dtype DType, i int) float64 {
	le := binary.LittleEndian
	switch dtype {
	case Bool, Uint8:
		return float64(data[i])
	case Int8:
		return float64(int8(data[i]))
	case Int16:
		return float64(int16(le.Uint16(data[2*i:])))
	case Uint16:
		return float64(le.Uint16(data[2*i:]))
	case Int32:
		return float64(int32(le.Uint32(data[4*i:])))
	case Uint32:
		return float64(le.Uint32(data[4*i:]))
	case Int64:
		return float64(int64(le.Uint64(data[8*i:])))
	case Uint64:
		return float64(le.Uint64(data[8*i:]))
	case BFloat16: // the same as by the table, without calls
		return float64(BFloat16ToFloat32(le.Uint16(data[2*i:])))
	case Float32:
		return float64(math.Float32frombits(le.Uint32(data[4*i:])))
	case Float64:
		return math.Float64frombits(le.Uint64(data[8*i:]))
	}
	switch f := &dtypeTable[dtype]; {
	case f.widen != nil && f.size == 1:
		return float64(f.widen(uint16(data[i])))
	case f.widen != nil:
		return float64(f.widen(le.Uint16(data[2*i:])))
	}
	panic(fmt.Sprintf("ir: no decoding for %v", dtype))
}

// At returns element i (row-major) as a float64.
func (l Literal) At(i int) float64 {
	if l.Splat {
		i = 0
	}
	return Element(l.Data, l.Type.DType, i)
}

// String prints short literals in full and long ones by type and checksum.
func (l Literal) String() string {
	n := l.Type.Shape.Size() //dim:known a literal that is no splat has its elements
	if l.Splat {
		return fmt.Sprintf("%v(%s)", l.Type, l.text(0))
	}
	if n > 8 { //dim:known
		return fmt.Sprintf("%v(%d elements, %x)", l.Type, n, checksum(l.Data))
	}
	values := make([]string, n) //dim:known it has its elements
	for i := range values {
		values[i] = l.text(i)
	}
	return fmt.Sprintf("%v[%s]", l.Type, strings.Join(values, " "))
}

// text prints element i exactly, so that different literals print differently.
func (l Literal) text(i int) string {
	switch l.Type.DType {
	case Int64:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(l.Data[8*i:])), 10)
	case Uint64:
		return strconv.FormatUint(binary.LittleEndian.Uint64(l.Data[8*i:]), 10)
	}
	return strconv.FormatFloat(l.At(i), 'g', -1, 64)
}
