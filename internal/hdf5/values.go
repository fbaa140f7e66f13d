package hdf5

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unsafe"
)

// number is what values can be read as and written from.
type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// littleEndian says whether this machine stores numbers in the byte order of our files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// memory gives the bytes of a slice of numbers, in the machine's order.
func memory[T number](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(values[0])))
}

// swap reverses the bytes of each element of size bytes.
func swap(b []byte, size int) {
	if size == 1 {
		return
	}
	for ; len(b) >= size; b = b[size:] {
		slices.Reverse(b[:size])
	}
}

// swaps says whether the byte order of the type's elements must be changed.
func (t Type) swaps() bool { return t.BigEndian && t.Class != ClassReference && t.Size > 1 }

// numeric explains why a type holds no numbers, "" if it does.
func (t Type) numeric(integers bool) string {
	switch {
	case t.odd != "":
		return t.odd
	case t.Class == ClassInt, t.Class == ClassUint, t.Class == ClassBool:
		return ""
	case t.Class == ClassFloat && !integers, t.Class == ClassBfloat16 && !integers:
		return ""
	case integers:
		return t.String() + ", expected integers"
	}
	return t.String() + ", expected numbers"
}

// toFloats converts little-endian elements.
func toFloats[T float32 | float64](t Type, b []byte) []T {
	values := make([]T, len(b)/t.Size)
	le := binary.LittleEndian
	for i := range values {
		e := b[i*t.Size:]
		switch {
		case t.Class == ClassBfloat16:
			values[i] = T(math.Float32frombits(uint32(le.Uint16(e)) << 16))
		case t.Class == ClassFloat && t.Size == 2:
			values[i] = T(halfToFloat(le.Uint16(e)))
		case t.Class == ClassFloat && t.Size == 4:
			values[i] = T(math.Float32frombits(le.Uint32(e)))
		case t.Class == ClassFloat:
			values[i] = T(math.Float64frombits(le.Uint64(e)))
		case t.Class == ClassInt:
			values[i] = T(signed(e, t.Size))
		default:
			values[i] = T(unsigned(e, t.Size))
		}
	}
	return values
}

// toInts converts little-endian elements.
func toInts(t Type, b []byte) ([]int64, error) {
	values := make([]int64, len(b)/t.Size)
	for i := range values {
		e := b[i*t.Size:]
		if t.Class == ClassInt {
			values[i] = signed(e, t.Size)
			continue
		}
		u := unsigned(e, t.Size)
		if u > math.MaxInt64 {
			return nil, unsupported("the value %d, which is more than an int64 holds", u)
		}
		values[i] = int64(u)
	}
	return values, nil
}

func unsigned(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func signed(b []byte, size int) int64 {
	shift := 64 - 8*size
	return int64(unsigned(b, size)) << shift >> shift
}

// halfToFloat widens an IEEE binary16: 1 sign, 5 exponent and 10 fraction bits.
func halfToFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent, fraction := uint32(h>>10&31), uint32(h&0x3ff)
	switch exponent {
	case 31: // infinity, NaN
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	case 0: // zero, subnormal: fraction · 2⁻²⁴
		return math.Float32frombits(math.Float32bits(float32(fraction)*(1.0/(1<<24))) | sign)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// toStrings gives the strings of elements, which share memory.
func (f *File) toStrings(t Type, b []byte) ([]string, error) {
	switch {
	case t.Class != ClassString:
		return nil, unsupported("%s, expected strings", t)
	case t.Variable:
		return f.variableStrings(t, b)
	}
	all := string(b)
	values := make([]string, len(b)/t.Size)
	for i := range values {
		s := all[i*t.Size : (i+1)*t.Size]
		switch t.padding {
		case nulPadded:
			s = strings.TrimRight(s, "\x00")
		case nulTerminated:
			s, _, _ = strings.Cut(s, "\x00")
		case spacePadded:
			s = strings.TrimRight(s, " ")
		}
		values[i] = s
	}
	return values, nil
}

func (f *File) variableStrings(t Type, b []byte) ([]string, error) {
	values := make([]string, len(b)/t.Size)
	c := f.cursor(b, "strings")
	for i := range values {
		n, address, index := c.u32(), c.address(), c.u32()
		if n == 0 || address == 0 || address == undefined {
			continue
		}
		s, err := f.heap.object(address, index)
		if err != nil {
			return nil, err
		}
		if uint64(n) > uint64(len(s)) {
			return nil, corrupt("a string of %d bytes in a heap object of %d", n, len(s))
		}
		values[i], _, _ = strings.Cut(s[:n], "\x00")
	}
	return values, c.err
}
