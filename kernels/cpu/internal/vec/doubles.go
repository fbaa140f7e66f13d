package vec

import (
	"math"
	"unsafe"
)

// Operations on 64-bit floats that have vector instructions as chains.

// start64 computes the whole vectors of an operation of float64 and returns how many elements are done: 0 for float32.
func start64[T Float](op ChainOp, dst, a, b []T) int {
	if single[T]() || len(dst) < 8 {
		return 0
	}
	return double2(op, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b)), len(dst))
}

// number64 is start64 for one operand and one number.
func number64[T Float](op ChainOp, dst, x []T, a T) int {
	if single[T]() || len(dst) < 8 || a != a {
		return 0
	}
	number := float64(a)
	return double2(op, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(&number), len(dst))
}

// as64 views a slice of T, which must be float64.
func as64[T Float](s []T) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// functions64 lists the kernels of float64 functions of one operand; 0 means that there is none.
var functions64 = [opExp2 + 1]unary64Op{opExp: opExp64, opLog: opLog64, opTanh: opTanh64, opSigmoid: opSigmoid64, opErf: opErf64, opRsqrt: opRsqrt64, opGelu: opGelu64,
	opExpm1: opExpm164, opLog1p: opLog1p64, opSin: opSin64, opCos: opCos64, opTan: opTan64, opAsin: opAsin64, opAcos: opAcos64, opAtan: opAtan64,
	opSinh: opSinh64, opCosh: opCosh64, opAsinh: opAsinh64, opAcosh: opAcosh64, opAtanh: opAtanh64, opErfInv: opErfInv64, opErfc: opErfc64,
	opExp2: opExp264}

// function64 computes a function of float64 and reports whether there is assembly for it in force.
func function64[T Float](op unaryOp, dst, x []T) bool {
	return !single[T]() && functions64[op] != 0 && unary64(functions64[op], as64(dst), as64(x))
}

// circularMax64 is the largest operand for which assembly computes sines, cosines and tangents in float64.
const circularMax64 = 1 << 29

// maxQuotient64 is the largest quotient for which assembly computes remainders in float64.
const maxQuotient64 = 1 << 51

// circular64 is function64 for functions whose assembly needs magnitudes up to [circularMax64]; f computes the others.
func circular64(op unaryOp, f func(float64) float64, dst, x []float64) bool {
	var kept [guardBlock]float64 // dst may be x
	for i := 0; i < len(dst); i += guardBlock {
		d, s := dst[i:min(i+guardBlock, len(dst))], x[i:min(i+guardBlock, len(dst))]
		high, n := extreme64(true, s)
		low, _ := extreme64(false, s)
		within := high <= circularMax64 && low >= -circularMax64
		for _, v := range s[n:] {
			within = within && v <= circularMax64 && v >= -circularMax64
		}
		if !within {
			copy(kept[:], s)
		}
		if !unary64(functions64[op], d, s) {
			return false
		}
		if within {
			continue
		}
		for j, v := range kept[:len(d)] {
			if v > circularMax64 || v < -circularMax64 {
				d[j] = f(v)
			}
		}
	}
	return true
}

// rem64 stores remainders of float64; those of large quotients are computed one by one.
func rem64(dst, a, b []float64) bool {
	var x, y, q [guardBlock]float64 // dst may be one of them
	for i := 0; i < len(dst); i += guardBlock {
		d := dst[i:min(i+guardBlock, len(dst))]
		copy(x[:], a[i:i+len(d)])
		copy(y[:], b[i:i+len(d)])
		if !binary64(opRem64, d, x[:len(d)], y[:len(d)]) {
			return false
		}
		Div(q[:len(d)], x[:len(d)], y[:len(d)])
		for j, v := range q[:len(d)] {
			if v > maxQuotient64 || v < -maxQuotient64 {
				d[j] = math.Mod(x[j], y[j])
			}
		}
	}
	return true
}

// CompareDoubles stores 1 where the relation holds and 0 elsewhere.
func CompareDoubles(r Relation, dst []uint8, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	op := [...]ChainOp{Equal: ChainEqual, NotEqual: ChainNotEqual, Less: ChainLess, LessEqual: ChainLessEqual}[r]
	for i := bytes64(op, dst, a, b); i < len(dst); i++ {
		less, equal := a[i] < b[i], a[i] == b[i]
		dst[i] = r.of(less, equal)
	}
}

// FiniteDoubles stores 1 where x is neither infinite nor NaN and 0 elsewhere.
func FiniteDoubles(dst []uint8, x []float64) {
	x = x[:len(dst)]
	for i := bytes64(ChainFinite, dst, x, x); i < len(dst); i++ {
		dst[i] = 0
		if x[i]-x[i] == 0 {
			dst[i] = 1
		}
	}
}

// ChooseWords stores elements of a where the byte is 1, and of b where it is 0. dst may be one of the operands.
func ChooseWords(dst []uint64, where []uint8, a, b []uint64) {
	where, a, b = where[:len(dst)], a[:len(dst)], b[:len(dst)]
	for i := choose64(dst, where, a, b); i < len(dst); i++ {
		m := -uint64(where[i])
		dst[i] = a[i]&m | b[i]&^m
	}
}
