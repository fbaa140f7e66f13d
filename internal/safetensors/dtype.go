package safetensors

import "slices"

// DType is the type of a tensor's elements, by its name in the file.
type DType string

// The types of the format.
const (
	Bool       DType = "BOOL"    // one byte, 0 or 1
	F4         DType = "F4"      // 4 bits: 2 of exponent, 1 of fraction; two to a byte
	F6E2M3     DType = "F6_E2M3" // 6 bits
	F6E3M2     DType = "F6_E3M2" // 6 bits
	U8         DType = "U8"
	I8         DType = "I8"
	F8E5M2     DType = "F8_E5M2" // 8 bits: 5 of exponent, 2 of fraction
	F8E4M3     DType = "F8_E4M3" // 8 bits: 4 of exponent, 3 of fraction
	F8E8M0     DType = "F8_E8M0" // 8 bits of exponent, a power of two
	I16        DType = "I16"
	U16        DType = "U16"
	F16        DType = "F16"  // IEEE 754 binary16
	BF16       DType = "BF16" // the upper 16 bits of a binary32
	I32        DType = "I32"
	U32        DType = "U32"
	F32        DType = "F32"
	C64        DType = "C64" // two binary32: real and imaginary part
	F64        DType = "F64"
	I64        DType = "I64"
	U64        DType = "U64"
	F8E4M3FNUZ DType = "F8_E4M3FNUZ" // F8_E4M3 with another bias and without negative zero
	F8E5M2FNUZ DType = "F8_E5M2FNUZ" // F8_E5M2 with another bias and without negative zero
)

// order lists the types by alignment, as the reference implementation compares them.
var order = []DType{Bool, F4, F6E2M3, F6E3M2, U8, I8, F8E5M2, F8E4M3, F8E8M0, F8E4M3FNUZ, F8E5M2FNUZ, I16, U16, F16, BF16, I32,
	U32, F32, C64, F64, I64, U64}

var widths = map[DType]int{Bool: 8, F4: 4, F6E2M3: 6, F6E3M2: 6, U8: 8, I8: 8, F8E5M2: 8, F8E4M3: 8, F8E8M0: 8, F8E4M3FNUZ: 8,
	F8E5M2FNUZ: 8, I16: 16, U16: 16, F16: 16, BF16: 16, I32: 32, U32: 32, F32: 32, C64: 64, F64: 64, I64: 64, U64: 64}

// Bits is the width of one element, or 0 for a type that the format does not have.
func (d DType) Bits() int { return widths[d] }

// rank is the position of the type in the order of files.
func (d DType) rank() int { return slices.Index(order, d) }
