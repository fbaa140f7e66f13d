// Package jit compiles sequences of elementwise operations to machine code, while a program is compiled. Values stay in
// vector registers. The chains of package vec, in contrast, interpret a list of steps for every few vectors and keep
// only one value at a time. Both compute the same bits.
//
// There is code for processors with AVX-512, and for those with AVX2 alone, under Linux. Elsewhere, and where the
// system refuses executable memory, [Compile] returns nil, and chains run. Memory is never writable and executable at
// the same time. With AVX2 alone, most functions have no code; see [Has].
//
// The code is one loop over vectors. Operands are indices into a table of pointers. The first pointers are kept in
// general registers. Constants, and operands that are one number for all elements, are kept in vector registers as far
// as there are any; values that do not fit are spilled to their places in memory. The elements after the last whole
// vector go through a copy of the loop's body that reads and writes under a mask, or, on AVX2, through one that handles
// one element at a time.
package jit

//go:generate go -C ../../../../internal/asmgen run ./vec -inlines ../../kernels/cpu/internal/jit/inlines_gen_amd64.go

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Operations that chains do not have. Those on 32-bit integers also work on 64, 16 and 8 bits here, except shifts of
// the small ones and their divisions.
const (
	Convert vec.ChainOp = vec.ChainSameBytes + 1 + iota // from type From to type To, like the kernels of conversions
	// ConvertOdd makes a 32-bit float from a 32-bit integer or a 64-bit number, which is then rounded to 16 bits: what
	// does not fit exactly gets an odd last bit, so that the result is as if rounded once.
	ConvertOdd
	MaxUint  // unsigned from here on
	MinUint  //
	LessUint //
	LessEqualUint
	GreaterUint
	GreaterEqualUint
	LessBytes         // of bools from here on
	LessEqualBytes    //
	GreaterBytes      //
	GreaterEqualBytes //
	ChooseBytes       // the second operand where the first one is set, else the third
	DivInt            // of 32 and 64 bits, truncated; division and remainder by 0 give 0
	RemInt            // with the sign of the first operand
	DivUint
	RemUint
	ShiftLeft // by the bits that the second operand says; by all bits or more, it gives 0
	ShiftRightInt
	ShiftRightUint
	ReluInt // of one operand from here on
	SignInt
	SignUint
	NotInt
	// Lookup reads elements of 8 to 32 bits: the first operand is their positions, the second the table. The code stops
	// at the first vector with a position that is not allowed; see [Failure].
	Lookup
	Rsqrt // functions of 32-bit floats from here on; on AVX-512 with the bits of package vec
	Exp
	Log
	Tanh
	Sigmoid
	Erf
	Expm1
	Log1p
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Asinh
	Acosh
	Atanh
	ErfInv
	Exp2
	Gelu
	CoarseGelu // results of the coarse functions are rounded to bfloat16 next
	CoarseExp
	CoarseSigmoid
	Pow // of two operands from here on
	Atan2
	GeluGrad
	CoarseGeluGrad
	operations
)

const firstFunction = Rsqrt

// Step is an operation on a block. If a chain has Op, the first operand is the chain's value and the second its X;
// [vec.ChainLoad] copies. The first operand of a choice is the mask, the others are the values.
type Step struct {
	Op       vec.ChainOp
	Dst      uint8
	In       [3]uint8 // as many as Op takes
	Stored   bool     // the result is needed in memory
	From, To ir.DType // for Convert
	Lookup   *Table   // for Lookup
}

// Table describes the table of a lookup.
type Table struct {
	Size    int    // bytes of an element
	Last    uint32 // the last position
	Clips   bool   // positions beyond an end are clamped to it, and none fails
	Number  int32  // identifies the table in a failure; not 0
	Failure uint8  // the pointer to the Failure that is written
}

// Failure is where code stores the positions of a vector that has some beyond the last one.
type Failure struct {
	At     [16]int32 // zeros where the block has no element
	Done   int       // the elements before that vector
	Number int       // of the table; 0 means that all positions were allowed
}

// The kinds of operands and results.
const (
	vector = 'v' // elements
	mask   = 'm' // bytes of 0 and 1, true or false
	words  = 'w' // fewer bytes than elements have; in memory only
	number = 'n' // one number for all elements
)

// operands returns the kinds of the operands and of the result of a step on elements of size bytes.
func (s *Step) operands(size int) (reads string, result byte) {
	switch op := s.Op; {
	case op == Lookup && s.Lookup.Size < size:
		return "vw", words
	case op == Lookup:
		return "vw", vector
	case op == ConvertOdd:
		return "v", kindOf(ir.Float32, size)
	case op >= ReluInt && op <= NotInt, op >= firstFunction && op < Pow:
		return "v", vector
	case op == Convert:
		return string(kindOf(s.From, size)), kindOf(s.To, size)
	case op >= LessUint && op <= GreaterEqualUint:
		return "vv", mask
	case op >= LessBytes && op <= GreaterEqualBytes:
		return "mm", mask
	case op == ChooseBytes:
		return "mmm", mask
	case op == vec.ChainLoadBytes, op == vec.ChainLoadByteInts:
		return "m", vector
	case op == vec.ChainFinite:
		return "v", mask
	case op == vec.ChainNotHeld:
		return "m", mask
	case op == vec.ChainChoose:
		return "mvv", vector
	case op == vec.ChainShare:
		return "vvv", vector
	case op == vec.ChainLoadBF16, op == vec.ChainLoadF16:
		return "w", vector
	case op == vec.ChainStoreBF16, op == vec.ChainStoreF16:
		return "v", words
	case op == vec.ChainAndBytes, op == vec.ChainOrBytes, op == vec.ChainXorBytes, op == vec.ChainSameBytes:
		return "mm", mask
	case op >= vec.ChainAddNumber && op <= vec.ChainMinNumber:
		return "vn", vector
	case op >= vec.ChainEqual && op <= vec.ChainGreaterEqual, op >= vec.ChainEqualInt && op <= vec.ChainGreaterEqualInt:
		return "vv", mask
	case op == vec.ChainLoad, op >= vec.ChainNeg && op <= vec.ChainSign, op == vec.ChainRoundBF16, op == vec.ChainRoundF16,
		op >= vec.ChainNegInt && op <= vec.ChainFloatToInt:
		return "v", vector
	}
	return "vv", vector
}

// kindOf returns the kind of an operand or result of a type.
func kindOf(d ir.DType, size int) byte {
	switch {
	case d == ir.Bool:
		return mask
	case d.Size() == size:
		return vector
	}
	return words
}
