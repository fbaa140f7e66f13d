// Package jit makes machine code of elementwise operations that follow each other, while a program is compiled: their
// values stay in the vector registers, where chains of package vec, which go through a list of steps for every few
// vectors, keep one value at a time and find every step anew. It computes the bits that chains compute.
//
// There is code for processors with AVX-512, and for those with AVX2 alone, under Linux. Elsewhere, and where the
// system refuses memory that can be executed, [Compile] returns nil, and chains run. Memory is never writable and
// executable at the same time. AVX2 has no code for functions, as [Has] says.
//
// Code is one loop over vectors. Operands are numbers of a table of pointers: the first of them lie in general
// registers, numbers for all elements and constants in vector registers, as far as there are any; values that do not
// fit are written to their places in memory. The elements after the last whole vector go through a copy of the loop's
// body that reads and writes under a mask; on AVX2, through one that reads and writes one element at a time.
package jit

//go:generate go -C ../../../../internal/asmgen run ./vec -inlines ../../kernels/cpu/internal/jit/inlines_gen_amd64.go

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Operations that chains have not. Those on integers of 32 bits are also on ones of 64, 16 and 8 bits here, but for
// shifts of the small ones and their divisions.
const (
	Convert vec.ChainOp = vec.ChainSameBytes + 1 + iota // of type From to type To, as kernels convert
	// ConvertOdd makes a float of 32 bits of an integer of 32, or of a number of 64, that is then rounded to 16: what
	// does not fit exactly gets an odd last bit, so that it is rounded once.
	ConvertOdd
	MaxUint  // without signs from here on
	MinUint  //
	LessUint //
	LessEqualUint
	GreaterUint
	GreaterEqualUint
	LessBytes         // of bools from here on
	LessEqualBytes    //
	GreaterBytes      //
	GreaterEqualBytes //
	ChooseBytes       // the second operand where the first one is set, else the third one
	DivInt            // of 32 and 64 bits, without a fraction; by 0 it is 0, as are remainders
	RemInt            // with the sign of the first operand
	DivUint
	RemUint
	ShiftLeft // by the bits that the second operand says, as many as there are or more: 0
	ShiftRightInt
	ShiftRightUint
	ReluInt // of one operand from here on
	SignInt
	SignUint
	NotInt
	// Lookup reads elements of 8 to 32 bits: the first operand has their positions, the second is the table. Code ends
	// at the first vector with a position that is not allowed, as [Failure] says.
	Lookup
	Rsqrt // functions of floats of 32 bits from here on, with the bits of package vec on AVX-512
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
	CoarseGelu // results of the coarse ones are rounded to bfloat16 next
	CoarseExp
	CoarseSigmoid
	Pow // of two operands from here on
	Atan2
	GeluGrad
	CoarseGeluGrad
	operations
)

const firstFunction = Rsqrt

// Step is an operation on a block. Op is the step of a chain whose value is the first operand and whose X is the second
// one; [vec.ChainLoad] copies. A choice's mask is its first operand, its values are the others.
type Step struct {
	Op       vec.ChainOp
	Dst      uint8
	In       [3]uint8 // as many as Op has
	Stored   bool     // the result is needed in memory
	From, To ir.DType // of Convert
	Lookup   *Table   // of Lookup
}

// Table is what a lookup knows of its table.
type Table struct {
	Size    int    // bytes of an element
	Last    uint32 // the last position
	Clips   bool   // positions beyond an end stand for it, and none fails
	Number  int32  // what it is called in a failure, not 0
	Failure uint8  // the pointer to where failures are noted
}

// Failure is where code notes the positions of a vector of which some are beyond the last one.
type Failure struct {
	At     [16]int32 // zeros for what is no element of the block
	Done   int       // the elements before them
	Number int       // of the table; 0 means that all positions were allowed
}

// The kinds of operands and results.
const (
	vector = 'v' // elements
	mask   = 'm' // bytes of 0 and 1
	words  = 'w' // of fewer bytes than elements have, in memory only
	number = 'n' // one for all elements
)

// operands returns the kinds of what a step on elements of size bytes reads, and of its result.
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
