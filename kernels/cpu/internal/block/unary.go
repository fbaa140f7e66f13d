package block

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Func computes one operation on a block of n elements. dst may be one of the operands. Missing operands are nil.
type Func func(dst, a, b, c unsafe.Pointer, n int)

// The element types of computation. Half precision is computed as float32.
type (
	signedInt   interface{ int8 | int16 | int32 | int64 }
	unsignedInt interface {
		uint8 | uint16 | uint32 | uint64
	}
	Integer interface{ signedInt | unsignedInt }
	Float   interface{ float32 | float64 }
	Number  interface{ Integer | Float }
)

// View returns the n elements at p as a slice.
func View[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// ComputeType returns the element type that d is computed in.
func ComputeType(d ir.DType) ir.DType {
	if d.IsHalf() {
		return ir.Float32
	}
	return d
}

// Unary returns the kernel of a one-operand op on type d (a compute type).
func Unary(op ir.Op, d ir.DType) Func {
	if f := byNumber(op, d); f != nil {
		return f
	}
	switch d {
	case ir.Float32:
		return floatUnary[float32](op)
	case ir.Float64:
		return floatUnary[float64](op)
	case ir.Bool:
		if op == ir.Not {
			return notBool
		}
		return copyBytes(1)
	}
	if d.IsInteger() {
		return integerUnary(op, d)
	}
	return nil
}

func notBool(dst, a, _, _ unsafe.Pointer, n int) {
	vec.Flip(View[uint8](dst, n), View[uint8](a, n), 0x0101010101010101)
}

func notBlock[T unsignedInt](dst, a, _, _ unsafe.Pointer, n int) {
	size := int(unsafe.Sizeof(T(0)))
	vec.Flip(View[uint8](dst, n*size), View[uint8](a, n*size), math.MaxUint64)
}

func copyBlock[T unsignedInt](dst, a, _, _ unsafe.Pointer, n int) {
	if dst != a {
		copy(View[T](dst, n), View[T](a, n))
	}
}

// bySize selects from the kernels for elements of 1, 2, 4 and 8 bytes.
func bySize(size int, kernels [4]Func) Func { return kernels[bits.TrailingZeros(uint(size))] }

// copyBytes returns the kernel that copies elements of size bytes.
func copyBytes(size int) Func {
	return bySize(size, [4]Func{copyBlock[uint8], copyBlock[uint16], copyBlock[uint32], copyBlock[uint64]})
}

// integerUnary is for integers. [byNumber] has those operations of up to four bytes that are binary ones with a number.
func integerUnary(op ir.Op, d ir.DType) Func {
	switch op {
	case ir.Not:
		return bySize(d.Size(), [4]Func{notBlock[uint8], notBlock[uint16], notBlock[uint32], notBlock[uint64]})
	case ir.Identity:
		return copyBytes(d.Size())
	}
	switch {
	case d.IsSigned() || op == ir.Neg:
		if f := vectorUnary(op, d.Size()); f != nil {
			return f
		}
	case op == ir.Abs || op == ir.Relu:
		return copyBytes(d.Size())
	}
	switch {
	case d.Size() != 8:
		return nil
	case op == ir.Sign:
		return signUlongs
	case op == ir.Relu:
		return reluLongs
	}
	return nil
}

func reluLongs(dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[int64](dst, n), View[int64](a, n)
	for i, v := range x {
		y[i] = max(v, 0)
	}
}

func signUlongs(dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[uint64](dst, n), View[uint64](a, n)
	for i, v := range x {
		y[i] = min(v, 1)
	}
}

// vectorUnary returns the kernel of an operation on signed integers of size bytes that has vector instructions, or nil.
func vectorUnary(op ir.Op, size int) Func {
	k, ok := map[ir.Op]vec.SmallUnary{ir.Neg: vec.SmallNeg, ir.Abs: vec.SmallAbs, ir.Sign: vec.SmallSign}[op]
	switch {
	case !ok:
		return nil
	case size == 1:
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.SmallsOf(k, View[int8](dst, n), View[int8](a, n)) }
	case size == 2:
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.SmallsOf(k, View[int16](dst, n), View[int16](a, n)) }
	case size == 4:
		f := [...]func(dst, x []int32){vec.NegInts, vec.AbsInts, vec.SignInts}[k]
		return func(dst, a, _, _ unsafe.Pointer, n int) { f(View[int32](dst, n), View[int32](a, n)) }
	}
	return longsOf([...]func(dst, x []int64){vec.NegLongs, vec.AbsLongs, vec.SignLongs}[k])
}

//go:noinline
func longsOf(f func(dst, x []int64)) Func {
	return func(dst, a, _, _ unsafe.Pointer, n int) { f(View[int64](dst, n), View[int64](a, n)) }
}

// mapUnary makes a block kernel from a kernel on slices.
//
//go:noinline
func mapUnary[T Float](f func(dst, x []T)) Func {
	return func(dst, a, _, _ unsafe.Pointer, n int) { f(View[T](dst, n), View[T](a, n)) }
}

func floatUnary[T Float](op ir.Op) Func {
	switch op {
	case ir.Neg:
		return mapUnary(vec.Neg[T])
	case ir.Abs:
		return mapUnary(vec.Abs[T])
	case ir.Relu:
		return mapUnary(vec.Relu[T])
	case ir.Sqrt:
		return mapUnary(vec.Sqrt[T])
	case ir.Rsqrt:
		return mapUnary(vec.Rsqrt[T])
	case ir.Exp:
		return mapUnary(vec.Exp[T])
	case ir.Log:
		return mapUnary(vec.Log[T])
	case ir.Tanh:
		return mapUnary(vec.Tanh[T])
	case ir.Sigmoid:
		return mapUnary(vec.Sigmoid[T])
	case ir.Erf:
		return mapUnary(vec.Erf[T])
	case ir.Gelu:
		return mapUnary(vec.Gelu[T])
	case ir.Identity:
		return copyBytes(int(unsafe.Sizeof(T(0))))
	case ir.IsFinite:
		return finiteBlock[T]
	case ir.Lgamma:
		return mapUnary(vec.Lgamma[T])
	}
	if f := floatFunctions[T]()[op]; f != nil {
		return mapUnary(f)
	}
	return nil
}

// floatFunctions returns the other unary operations.
func floatFunctions[T Float]() map[ir.Op]func(dst, x []T) {
	return map[ir.Op]func(dst, x []T){
		ir.Sign: vec.Sign[T], ir.Floor: vec.Floor[T], ir.Ceil: vec.Ceil[T], ir.Round: vec.Round[T], ir.Expm1: vec.Expm1[T], ir.Log1p: vec.Log1p[T],
		ir.Sin: vec.Sin[T], ir.Cos: vec.Cos[T], ir.Tan: vec.Tan[T], ir.Asin: vec.Asin[T], ir.Acos: vec.Acos[T], ir.Atan: vec.Atan[T],
		ir.Sinh: vec.Sinh[T], ir.Cosh: vec.Cosh[T], ir.Asinh: vec.Asinh[T], ir.Acosh: vec.Acosh[T], ir.Atanh: vec.Atanh[T],
		ir.ErfInv: vec.ErfInv[T], ir.Erfc: vec.Erfc[T], ir.Exp2: vec.Exp2[T],
	}
}

func finiteBlock[T Float](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[uint8](dst, n), View[T](a, n)
	if f, ok := any(x).([]float32); ok {
		vec.Finite(y, f)
		return
	}
	vec.FiniteDoubles(y, View[float64](a, n))
}
