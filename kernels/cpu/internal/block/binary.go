package block

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Binary returns the kernel of a two-operand op on type d (a compute type).
func Binary(op ir.Op, d ir.DType) Func {
	f := binary(op, d)
	if g := pairKernel(op, d, f); g != nil {
		return g
	}
	return f
}

func binary(op ir.Op, d ir.DType) Func {
	switch d {
	case ir.Float32:
		return floatBinary[float32](op)
	case ir.Float64:
		return floatBinary[float64](op)
	}
	if d == ir.Bool || d.IsInteger() {
		return integerBinary(op, d)
	}
	return nil
}

func floatBinary[T Float](op ir.Op) Func {
	switch op {
	case ir.Add:
		return mapBinary(vec.Add[T])
	case ir.Sub:
		return mapBinary(vec.Sub[T])
	case ir.Mul:
		return mapBinary(vec.Mul[T])
	case ir.Maximum:
		return mapBinary(vec.Max[T])
	case ir.Minimum:
		return mapBinary(vec.Min[T])
	case ir.Div:
		return mapBinary(vec.Div[T])
	case ir.Pow:
		return mapBinary(vec.Pow[T])
	case ir.Rem:
		return mapBinary(vec.Rem[T])
	case ir.Atan2:
		return mapBinary(vec.Atan2[T])
	case ir.GeluGrad:
		return mapBinary(func(dst, x, dy []T) { vec.GeluGrad(dst, dy, x) })
	}
	return nil
}

// mapBinary makes a block kernel from a kernel on slices.
//
//go:noinline
func mapBinary[T Float](f func(dst, x, y []T)) Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) { f(View[T](dst, n), View[T](a, n), View[T](b, n)) }
}

// Scalar returns the kernel of a sum, difference, product or extreme whose operand b is one number.
func Scalar(op ir.Op, d ir.DType) Func {
	if d == ir.Float64 {
		return scalarBlock[float64](op)
	}
	return scalarBlock[float32](op)
}

func scalarBlock[T Float](op ir.Op) Func {
	switch op {
	case ir.Mul:
		return func(dst, a, b, _ unsafe.Pointer, n int) { vec.Scale(View[T](dst, n), View[T](a, n), *(*T)(b)) }
	case ir.Add:
		return func(dst, a, b, _ unsafe.Pointer, n int) { vec.AddScalar(View[T](dst, n), View[T](a, n), *(*T)(b)) }
	case ir.Maximum:
		return func(dst, a, b, _ unsafe.Pointer, n int) { vec.MaxScalar(View[T](dst, n), View[T](a, n), *(*T)(b)) }
	case ir.Minimum:
		return func(dst, a, b, _ unsafe.Pointer, n int) { vec.MinScalar(View[T](dst, n), View[T](a, n), *(*T)(b)) }
	}
	return func(dst, a, b, _ unsafe.Pointer, n int) { vec.AddScalar(View[T](dst, n), View[T](a, n), -*(*T)(b)) }
}

// ReluGrad returns the kernel of dy where y > 0, else 0, for operands dy and y.
func ReluGrad(d ir.DType) Func {
	if d == ir.Float64 {
		return mapBinary(vec.ReluGrad[float64])
	}
	return mapBinary(vec.ReluGrad[float32])
}

// Share returns the kernel of dy where x > y, half of it where they are equal, else 0, for operands dy, x and y.
func Share(d ir.DType) Func {
	if d == ir.Float64 {
		return mapShare[float64]
	}
	return mapShare[float32]
}

func mapShare[T Float](dst, a, b, c unsafe.Pointer, n int) {
	vec.Share(View[T](dst, n), View[T](a, n), View[T](b, n), View[T](c, n))
}

// words32 makes a block kernel from a kernel on 32-bit integers.
//
//go:noinline
func words32(f func(dst, a, b []int32)) Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) { f(View[int32](dst, n), View[int32](a, n), View[int32](b, n)) }
}

//go:noinline
func uints32(f func(dst, a, b []uint32)) Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		f(View[uint32](dst, n), View[uint32](a, n), View[uint32](b, n))
	}
}

// bitsBlock returns the kernel of a bitwise operation on elements of size bytes.
func bitsBlock(op vec.BitOp, size int) Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		vec.Bits(op, View[uint8](dst, n*size), View[uint8](a, n*size), View[uint8](b, n*size))
	}
}

// wordKernel returns the vector kernel of an operation on integers of size bytes, or nil.
func wordKernel(op ir.Op, size int, signless bool) Func {
	switch op {
	case ir.BitAnd:
		return bitsBlock(vec.And, size)
	case ir.BitOr:
		return bitsBlock(vec.Or, size)
	case ir.BitXor:
		return bitsBlock(vec.Xor, size)
	}
	switch size {
	case 8:
		return longKernel(op, signless)
	case 1, 2:
		return nil
	}
	switch {
	case op == ir.Add:
		return words32(vec.AddInts)
	case op == ir.Sub:
		return words32(vec.SubInts)
	case op == ir.Mul:
		return words32(vec.MulInts)
	case op == ir.ShiftLeft:
		return words32(vec.ShiftInts)
	case op == ir.ShiftRight && signless:
		return words32(vec.ShiftUintsRight)
	case op == ir.ShiftRight:
		return words32(vec.ShiftIntsRight)
	case op == ir.Maximum && signless:
		return uints32(vec.Uint32Max)
	case op == ir.Minimum && signless:
		return uints32(vec.Uint32Min)
	case op == ir.Maximum:
		return words32(vec.MaxInts)
	case op == ir.Minimum:
		return words32(vec.MinInts)
	}
	return nil
}

// longKernel is wordKernel for 64-bit integers.
func longKernel(op ir.Op, signless bool) Func {
	switch {
	case op == ir.Add:
		return longs(vec.AddLongs)
	case op == ir.Sub:
		return longs(vec.SubLongs)
	case op == ir.Maximum && signless:
		return longs(vec.MaxUlongs)
	case op == ir.Minimum && signless:
		return longs(vec.MinUlongs)
	case op == ir.Maximum:
		return longs(vec.MaxLongs)
	case op == ir.Minimum:
		return longs(vec.MinLongs)
	}
	return nil
}

//go:noinline
func longs[T int64 | uint64](f func(dst, a, b []T)) Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) { f(View[T](dst, n), View[T](a, n), View[T](b, n)) }
}

// smalls makes a block kernel from an operation on integers of one or two bytes.
//
//go:noinline
func smalls[T vec.Small](op ir.Op) Func {
	k, ok := smallOps[op]
	if !ok {
		return nil
	}
	return func(dst, a, b, _ unsafe.Pointer, n int) { vec.Smalls(k, View[T](dst, n), View[T](a, n), View[T](b, n)) }
}

var smallOps = map[ir.Op]vec.SmallOp{ir.Add: vec.SmallAdd, ir.Sub: vec.SmallSub, ir.Mul: vec.SmallMul, ir.Maximum: vec.SmallMax,
	ir.Minimum: vec.SmallMin}

// smallKernel returns the kernel of an operation on integers of one or two bytes, or nil.
func smallKernel(op ir.Op, d ir.DType) Func {
	switch d {
	case ir.Int8:
		return smalls[int8](op)
	case ir.Bool, ir.Uint8:
		return smalls[uint8](op)
	case ir.Int16:
		return smalls[int16](op)
	case ir.Uint16:
		return smalls[uint16](op)
	}
	return nil
}

// integerBinary uses vectors where there are any. Otherwise it uses code for each size of elements if signs do not
// matter, and code for each type only if they do, to keep binaries small.
func integerBinary(op ir.Op, d ir.DType) Func {
	size := d.Size()
	if f := wordKernel(op, size, !d.IsSigned()); f != nil {
		return f
	}
	if f := smallKernel(op, d); f != nil {
		return f
	}
	switch {
	case op == ir.Mul && size == 8:
		return mulLongs
	case op == ir.ShiftLeft && size == 1:
		return shiftLeftBlock[uint8]
	case op == ir.ShiftLeft && size == 2:
		return shiftLeftBlock[uint16]
	case op == ir.ShiftLeft && size == 8:
		return shiftLeftBlock[uint64]
	}
	switch d {
	case ir.Bool, ir.Uint8:
		return integerOf[uint8](op)
	case ir.Int8:
		return integerOf[int8](op)
	case ir.Int16:
		return integerOf[int16](op)
	case ir.Int32:
		return integerOf[int32](op)
	case ir.Int64:
		return integerOf[int64](op)
	case ir.Uint16:
		return integerOf[uint16](op)
	case ir.Uint32:
		return integerOf[uint32](op)
	case ir.Uint64:
		return integerOf[uint64](op)
	}
	return nil
}

func mulLongs(dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[uint64](dst, n), View[uint64](a, n), View[uint64](b, n)
	for i, v := range x {
		z[i] = v * y[i]
	}
}

// shiftLeftBlock also serves signed integers: seen as unsigned, negative counts are large ones.
func shiftLeftBlock[T unsignedInt](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		z[i] = v << uint64(y[i])
	}
}

func shiftRightBlock[T Integer](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		z[i] = v >> uint64(y[i]) // negative counts are large ones
	}
}

// integerOf returns operations that depend on the sign and have no vectors for all types.
func integerOf[T Integer](op ir.Op) Func {
	switch op {
	case ir.Div:
		return divBlock[T]
	case ir.Rem:
		return remBlock[T]
	case ir.ShiftRight:
		return shiftRightBlock[T]
	case ir.Pow:
		return powBlock[T]
	}
	return nil
}

// divBlock and remBlock yield 0 where the divisor is 0.
func divBlock[T Integer](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		if d := y[i]; d != 0 {
			z[i] = v / d
		} else {
			z[i] = 0
		}
	}
}

func remBlock[T Integer](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		if d := y[i]; d != 0 {
			z[i] = v % d
		} else {
			z[i] = 0
		}
	}
}

func powBlock[T Integer](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		z[i] = integerPow(v, y[i])
	}
}

// integerPow computes x to the power y by squaring, and wraps around. Negative powers truncate to 0, except those of 1
// and -1.
func integerPow[T Integer](x, y T) T {
	if y < 0 {
		minusOne := T(0)
		minusOne--
		switch {
		case x == 1:
			return 1
		case x == minusOne:
			if y%2 == 0 {
				return 1
			}
			return minusOne
		}
		return 0
	}
	r := T(1)
	for e := uint64(y); e > 0; e >>= 1 {
		if e&1 == 1 {
			r *= x
		}
		x *= x
	}
	return r
}

// selectWords selects elements of 8 bytes; its operands are the predicate, on true, on false.
func selectWords(dst, a, b, c unsafe.Pointer, n int) {
	vec.ChooseWords(View[uint64](dst, n), View[uint8](a, n), View[uint64](b, n), View[uint64](c, n))
}

func chooseSmalls[T uint8 | uint16](dst, a, b, c unsafe.Pointer, n int) {
	vec.ChooseSmalls(View[T](dst, n), View[uint8](a, n), View[T](b, n), View[T](c, n))
}

// Select returns the kernel that selects elements by bytes of 0 and 1.
func Select(size int) Func {
	switch size {
	case 1:
		return chooseSmalls[uint8]
	case 2:
		return chooseSmalls[uint16]
	case 4:
		return func(dst, a, b, c unsafe.Pointer, n int) {
			vec.Choose(View[uint32](dst, n), View[uint8](a, n), View[uint32](b, n), View[uint32](c, n))
		}
	}
	return selectWords
}
