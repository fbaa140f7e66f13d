package ir

import (
	"fmt"
	"math"
)

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

// dtypeTable is everything that this package, the reference and the conformance suite know about a type. To add one,
// add a constant and a row here.
var dtypeTable = [dtypeCount]struct {
	name   string
	hlo    string
	size   int
	digits int // significant bits of a float
	least  int // its smallest normal number is 2^least
	// narrow and widen convert floats of at most 16 bits from and to float32, by their bits; nil for the others.
	narrow func(float32) uint16
	widen  func(uint16) float32
}{
	Invalid:  {name: "invalid", hlo: "", size: 0},
	Bool:     {name: "bool", hlo: "i1", size: 1},
	Int8:     {name: "int8", hlo: "i8", size: 1},
	Int16:    {name: "int16", hlo: "i16", size: 2},
	Int32:    {name: "int32", hlo: "i32", size: 4},
	Int64:    {name: "int64", hlo: "i64", size: 8},
	Uint8:    {name: "uint8", hlo: "ui8", size: 1},
	Uint16:   {name: "uint16", hlo: "ui16", size: 2},
	Uint32:   {name: "uint32", hlo: "ui32", size: 4},
	Uint64:   {name: "uint64", hlo: "ui64", size: 8},
	Float16:  {name: "float16", hlo: "f16", size: 2, digits: 11, least: -14, narrow: Float16FromFloat32, widen: Float16ToFloat32},
	BFloat16: {name: "bfloat16", hlo: "bf16", size: 2, digits: 8, least: -126, narrow: BFloat16FromFloat32, widen: BFloat16ToFloat32},
	Float32:  {name: "float32", hlo: "f32", size: 4, digits: 24, least: -126},
	Float64:  {name: "float64", hlo: "f64", size: 8, digits: 53, least: -1022},
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
func (d DType) Size() int {
	if d >= dtypeCount {
		return 0
	}
	return dtypeTable[d].size
}

// Digits is the number of significant bits of a floating point type, 0 for others.
func (d DType) Digits() int { return dtypeTable[d].digits }

// LeastNormal is the smallest normal number of a floating point type, 0 for others.
func (d DType) LeastNormal() float64 {
	if !d.IsFloat() {
		return 0
	}
	return math.Ldexp(1, dtypeTable[d].least)
}

// Largest is the largest finite number of a floating point type, 0 for others. Types have IEEE's layout, in which the
// exponent range is symmetric.
func (d DType) Largest() float64 {
	if !d.IsFloat() {
		return 0
	}
	return math.Ldexp(2-math.Ldexp(1, 1-dtypeTable[d].digits), 1-dtypeTable[d].least)
}

// IsFloat reports whether d is a floating point type.
func (d DType) IsFloat() bool { return d < dtypeCount && dtypeTable[d].digits > 0 }

// IsHalf reports whether d is a float of half precision, Float16 or BFloat16, or a smaller one: it is stored as such
// and computed in float32. [DType.Half] converts.
func (d DType) IsHalf() bool { return d < dtypeCount && dtypeTable[d].narrow != nil }

// Half returns functions that round a float32 to the bits of half precision, or of a smaller type, and that read these
// bits exactly. They are nil for other types.
func (d DType) Half() (narrow func(float32) uint16, widen func(uint16) float32) {
	return dtypeTable[d].narrow, dtypeTable[d].widen
}

// IsWideFloat reports whether d is Float32 or Float64.
func (d DType) IsWideFloat() bool { return d == Float32 || d == Float64 }

// IsInteger reports whether d is a signed or unsigned integer type; bool is not.
func (d DType) IsInteger() bool { return d >= Int8 && d <= Uint64 }

// IsSigned reports whether d can hold negative values.
func (d DType) IsSigned() bool { return d >= Int8 && d <= Int64 || d.IsFloat() }

// Wrap returns what an integer type makes of a whole number: its lowest bits.
func (d DType) Wrap(v int64) int64 {
	unused := 64 - 8*d.Size()
	if d.IsSigned() {
		return v << unused >> unused
	}
	return int64(uint64(v) << unused >> unused)
}

// Holds reports whether a whole number is within the limits of an integer type.
func (d DType) Holds(v int64) bool {
	return d.IsInteger() && d.Wrap(v) == v && (v >= 0 || d.IsSigned())
}

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
