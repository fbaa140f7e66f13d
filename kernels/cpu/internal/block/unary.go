package block

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Func computes one operation on a block of n elements. dst may be one of the operands. Operands that the operation
// does not have are nil.
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

// ComputeType is the element type that d is computed in.
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
		return copyBlock[uint8]
	case ir.Int8:
		return signedUnary[int8](op)
	case ir.Int16:
		return signedUnary[int16](op)
	case ir.Int32:
		return signedUnary[int32](op)
	case ir.Int64:
		return signedUnary[int64](op)
	case ir.Uint8:
		return unsignedUnary[uint8](op)
	case ir.Uint16:
		return unsignedUnary[uint16](op)
	case ir.Uint32:
		return unsignedUnary[uint32](op)
	case ir.Uint64:
		return unsignedUnary[uint64](op)
	}
	return nil
}

func copyBlock[T any](dst, a, _, _ unsafe.Pointer, n int) {
	if dst != a {
		copy(View[T](dst, n), View[T](a, n))
	}
}

func notBool(dst, a, _, _ unsafe.Pointer, n int) {
	vec.Flip(View[uint8](dst, n), View[uint8](a, n), 0x0101010101010101)
}

func negBlock[T Number](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[T](dst, n), View[T](a, n)
	for i, v := range x {
		y[i] = -v
	}
}

func notBlock[T Integer](dst, a, _, _ unsafe.Pointer, n int) {
	size := int(unsafe.Sizeof(T(0)))
	vec.Flip(View[uint8](dst, n*size), View[uint8](a, n*size), math.MaxUint64)
}

// reluBlock is max(x, 0) with NaN kept; relu(-0) is +0.
func reluBlock[T Number](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[T](dst, n), View[T](a, n)
	for i, v := range x {
		if v <= 0 {
			v = 0
		}
		y[i] = v
	}
}

func signedUnary[T signedInt](op ir.Op) Func {
	if f := vectorUnary(op, int(unsafe.Sizeof(T(0)))); f != nil {
		return f
	}
	switch op {
	case ir.Abs:
		return func(dst, a, _, _ unsafe.Pointer, n int) {
			y, x := View[T](dst, n), View[T](a, n)
			for i, v := range x {
				if v < 0 {
					v = -v
				}
				y[i] = v
			}
		}
	case ir.Sign:
		return signBlock[T]
	}
	return integerUnary[T](op)
}

// vectorUnary is the kernel of an operation on integers with a sign, of so many bytes, that has vector instructions, or
// nil.
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

func unsignedUnary[T unsignedInt](op ir.Op) Func {
	switch op {
	case ir.Abs, ir.Relu:
		return copyBlock[T]
	case ir.Sign:
		return signBlock[T]
	}
	return integerUnary[T](op)
}

func integerUnary[T Integer](op ir.Op) Func {
	switch op {
	case ir.Neg:
		return negBlock[T]
	case ir.Not:
		return notBlock[T]
	case ir.Relu:
		return reluBlock[T]
	case ir.Identity:
		return copyBlock[T]
	}
	return nil
}

func signBlock[T Number](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[T](dst, n), View[T](a, n)
	minusOne := T(0)
	minusOne--
	for i, v := range x {
		switch {
		case v > 0:
			v = 1
		case v < 0:
			v = minusOne
		}
		y[i] = v
	}
}

// mapUnary makes a block kernel of a kernel on slices.
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
		return copyBlock[T]
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

// floatFunctions are the rest of the unary operations.
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
