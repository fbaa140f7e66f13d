package reference

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Value is a tensor: its type and its elements in row-major order, in F for floating point types and in I for the
// others.
type Value struct {
	Type ir.Type
	F    []float64
	// I holds integers, and bool as 0 and 1. A uint64 is held as the int64 of the same bits.
	I []int64
}

// zeros returns a value of the given type.
func zeros(t ir.Type) Value {
	v := Value{Type: t}
	if t.DType.IsFloat() {
		v.F = make([]float64, t.Shape.Size())
	} else {
		v.I = make([]int64, t.Shape.Size())
	}
	return v
}

// New returns a value with the given elements, which are converted as ir.AppendElement does.
func New(dtype ir.DType, shape ir.Shape, elements ...float64) (Value, error) {
	literal, err := ir.Floats(dtype, shape, elements)
	if err != nil {
		return Value{}, fmt.Errorf("reference: %w", err)
	}
	return FromLiteral(literal), nil
}

// FromBytes reads a value from its little-endian, row-major encoding, the content of a kernels.Buffer.
func FromBytes(t ir.Type, data []byte) (Value, error) {
	if len(data) != t.Bytes() {
		return Value{}, fmt.Errorf("reference: a value of type %v has %d bytes, received %d", t, t.Bytes(), len(data))
	}
	v := zeros(t)
	for i := range v.F {
		v.F[i] = ir.Element(data, t.DType, i)
	}
	for i := range v.I {
		v.I[i] = integer(t.DType, data, i)
	}
	return v, nil
}

// FromLiteral returns the value of a constant.
func FromLiteral(l ir.Literal) Value {
	v := zeros(l.Type)
	at := func(i int) int {
		if l.Splat {
			return 0
		}
		return i
	}
	for i := range v.F {
		v.F[i] = ir.Element(l.Data, l.Type.DType, at(i))
	}
	for i := range v.I {
		v.I[i] = integer(l.Type.DType, l.Data, at(i))
	}
	return v
}

// integer reads element i of a type that is not floating point.
func integer(d ir.DType, data []byte, i int) int64 {
	if d.Size() == 8 {
		return int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return int64(ir.Element(data, d, i))
}

// Bytes encodes the value, little endian and row-major; floats are rounded to the nearest number of their type.
func (v Value) Bytes() []byte {
	data := make([]byte, 0, v.Type.Bytes())
	for _, x := range v.F {
		data = ir.AppendElement(data, v.Type.DType, x)
	}
	for _, x := range v.I {
		data = append(data, binary.LittleEndian.AppendUint64(nil, uint64(x))[:v.Type.DType.Size()]...)
	}
	return data
}

// At returns element i (row-major) as a float64; integers beyond 2^53 are rounded.
func (v Value) At(i int) float64 {
	if v.Type.DType.IsFloat() {
		return v.F[i]
	}
	if v.Type.DType == ir.Uint64 {
		return float64(uint64(v.I[i]))
	}
	return float64(v.I[i])
}

// Clone returns a copy that shares nothing with v.
func (v Value) Clone() Value {
	c := zeros(v.Type)
	copy(c.F, v.F)
	copy(c.I, v.I)
	return c
}

// set copies element j of from, which has the same element type, to element i.
func (v Value) set(i int, from Value, j int) {
	if v.F != nil {
		v.F[i] = from.F[j]
	} else {
		v.I[i] = from.I[j]
	}
}

// indices visits the elements of a shape in row-major order: their number and their index along each axis. The index
// slice is reused.
func indices(s ir.Shape) iter.Seq2[int, []int] {
	return func(yield func(int, []int) bool) {
		at := make([]int, len(s))
		for i := range s.Size() {
			if !yield(i, at) {
				return
			}
			for a := len(s) - 1; a >= 0; a-- {
				if at[a]++; at[a] < s[a] {
					break
				}
				at[a] = 0
			}
		}
	}
}

// position is the row-major number of the element at the given index.
func position(s ir.Shape, at []int) int {
	n := 0
	for a, d := range s {
		n = n*d + at[a]
	}
	return n
}
