package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The forms of operations on signed 32-bit integers.

var chainIntUnary = map[ir.Op]vec.ChainOp{ir.Neg: vec.ChainNegInt, ir.Abs: vec.ChainAbsInt}

var chainIntBinary = map[ir.Op][2]vec.ChainOp{ir.Add: {vec.ChainAddInt, vec.ChainAddInt}, ir.Sub: {vec.ChainSubInt, vec.ChainSubIntFrom},
	ir.Mul: {vec.ChainMulInt, vec.ChainMulInt}, ir.Maximum: {vec.ChainMaxInt, vec.ChainMaxInt}, ir.Minimum: {vec.ChainMinInt, vec.ChainMinInt},
	ir.BitAnd: {vec.ChainAnd, vec.ChainAnd}, ir.BitOr: {vec.ChainOr, vec.ChainOr}, ir.BitXor: {vec.ChainXor, vec.ChainXor}}

var chainCompareInt = map[ir.Direction][2]vec.ChainOp{ir.Eq: {vec.ChainEqualInt, vec.ChainEqualInt}, ir.Ne: {vec.ChainNotEqualInt, vec.ChainNotEqualInt},
	ir.Lt: {vec.ChainLessInt, vec.ChainGreaterInt}, ir.Gt: {vec.ChainGreaterInt, vec.ChainLessInt},
	ir.Le: {vec.ChainLessEqualInt, vec.ChainGreaterEqualInt}, ir.Ge: {vec.ChainGreaterEqualInt, vec.ChainLessEqualInt}}

// conversionForm returns the form of a conversion to another compute type.
func conversionForm(from, to ir.DType) chainForm {
	switch {
	case from == ir.Bool && to.IsFloat():
		return chainForm{ok: true, unary: true, loads: true, first: vec.ChainLoadBytes}
	case from == ir.Bool && to == ir.Int32:
		return chainForm{ok: true, unary: true, loads: true, first: vec.ChainLoadByteInts}
	case from == ir.Int32 && to == ir.Float32:
		return chainForm{ok: true, unary: true, first: vec.ChainIntToFloat}
	case from == ir.Float32 && to == ir.Int32:
		return chainForm{ok: true, unary: true, first: vec.ChainFloatToInt}
	}
	return chainForm{}
}
