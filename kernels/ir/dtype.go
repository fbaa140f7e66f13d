package ir

import "fmt"

// DType is the element type of a value.
type DType uint8

// The element types. The zero value is Invalid, so that a forgotten type is noticed.
const (
	Invalid DType = iota
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float16
	BFloat16
	Float32
	Float64
	dtypeCount
)

var dtypeTable = [dtypeCount]struct {
	name string
	hlo  string
	size int
}{
	Invalid:  {"invalid", "", 0},
	Bool:     {"bool", "i1", 1},
	Int8:     {"int8", "i8", 1},
	Int16:    {"int16", "i16", 2},
	Int32:    {"int32", "i32", 4},
	Int64:    {"int64", "i64", 8},
	Uint8:    {"uint8", "ui8", 1},
	Uint16:   {"uint16", "ui16", 2},
	Uint32:   {"uint32", "ui32", 4},
	Uint64:   {"uint64", "ui64", 8},
	Float16:  {"float16", "f16", 2},
	BFloat16: {"bfloat16", "bf16", 2},
	Float32:  {"float32", "f32", 4},
	Float64:  {"float64", "f64", 8},
}

// DTypes lists all valid element types.
func DTypes() []DType {
	all := make([]DType, 0, dtypeCount-1)
	for d := Bool; d < dtypeCount; d++ {
		all = append(all, d)
	}
	return all
}

// String returns the Keras spelling: "float32", "bfloat16", "bool", ...
func (d DType) String() string {
	if d >= dtypeCount {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypeTable[d].name
}

// StableHLO returns the MLIR spelling: "f32", "bf16", "i1", ...
func (d DType) StableHLO() string { return dtypeTable[d].hlo }

// Size is the number of bytes of one element.
func (d DType) Size() int { return dtypeTable[d].size }

// IsFloat reports whether d is one of the four floating point types.
func (d DType) IsFloat() bool { return d >= Float16 && d < dtypeCount }

// IsInteger reports whether d is a signed or unsigned integer type; bool is not.
func (d DType) IsInteger() bool { return d >= Int8 && d <= Uint64 }

// IsSigned reports whether d can hold negative values.
func (d DType) IsSigned() bool { return d >= Int8 && d <= Int64 || d.IsFloat() }

// Valid reports whether d is a real element type.
func (d DType) Valid() bool { return d > Invalid && d < dtypeCount }

// ParseDType reads the Keras spelling of an element type.
func ParseDType(name string) (DType, error) {
	for d := Bool; d < dtypeCount; d++ {
		if dtypeTable[d].name == name {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("ir: unknown dtype %q; known: %v", name, DTypes())
}
