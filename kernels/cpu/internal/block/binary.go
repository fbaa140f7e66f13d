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
	case ir.Bool, ir.Uint8:
		return integerBinary[uint8](op)
	case ir.Int8:
		return integerBinary[int8](op)
	case ir.Int16:
		return integerBinary[int16](op)
	case ir.Int32:
		return integerBinary[int32](op)
	case ir.Int64:
		return integerBinary[int64](op)
	case ir.Uint16:
		return integerBinary[uint16](op)
	case ir.Uint32:
		return integerBinary[uint32](op)
	case ir.Uint64:
		return integerBinary[uint64](op)
	}
	return nil
}

func addBlock[T Number](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		z[i] = v + y[i]
	}
}

func subBlock[T Number](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		z[i] = v - y[i]
	}
}

func mulBlock[T Number](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		z[i] = v * y[i]
	}
}

// maxBlock and minBlock return NaN where either operand is NaN.
func maxBlock[T Number](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		z[i] = max(v, y[i])
	}
}

func minBlock[T Number](dst, a, b, _ unsafe.Pointer, n int) {
	z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
	for i, v := range x {
		z[i] = min(v, y[i])
	}
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

// mapBinary makes a block kernel of a kernel on slices.
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

// ReluGrad is dy where y > 0, else 0, of operands dy and y.
func ReluGrad(d ir.DType) Func {
	if d == ir.Float64 {
		return mapBinary(vec.ReluGrad[float64])
	}
	return mapBinary(vec.ReluGrad[float32])
}

// Share is dy where x > y, half of it where they are equal, else 0, of operands dy, x and y.
func Share(d ir.DType) Func {
	if d == ir.Float64 {
		return mapShare[float64]
	}
	return mapShare[float32]
}

func mapShare[T Float](dst, a, b, c unsafe.Pointer, n int) {
	vec.Share(View[T](dst, n), View[T](a, n), View[T](b, n), View[T](c, n))
}

// words32 makes a block kernel of a kernel on integers of 32 bits.
func words32(f func(dst, a, b []int32)) Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) { f(View[int32](dst, n), View[int32](a, n), View[int32](b, n)) }
}

func uints32(f func(dst, a, b []uint32)) Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		f(View[uint32](dst, n), View[uint32](a, n), View[uint32](b, n))
	}
}

// bitsBlock computes all bits of elements of any type.
func bitsBlock[T Integer](op vec.BitOp) Func {
	size := int(unsafe.Sizeof(T(0)))
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		vec.Bits(op, View[uint8](dst, n*size), View[uint8](a, n*size), View[uint8](b, n*size))
	}
}

// wordKernel returns the vector kernel of an operation on integers, or nil.
func wordKernel[T Integer](op ir.Op) Func {
	switch op {
	case ir.BitAnd:
		return bitsBlock[T](vec.And)
	case ir.BitOr:
		return bitsBlock[T](vec.Or)
	case ir.BitXor:
		return bitsBlock[T](vec.Xor)
	}
	switch unsafe.Sizeof(T(0)) {
	case 8:
		return longKernel(op, ^T(0) > 0)
	case 1, 2:
		return nil
	}
	switch op {
	case ir.Add:
		return words32(vec.AddInts)
	case ir.Sub:
		return words32(vec.SubInts)
	case ir.Mul:
		return words32(vec.MulInts)
	case ir.ShiftLeft:
		return words32(vec.ShiftInts)
	case ir.ShiftRight:
		if ^T(0) > 0 { // without sign
			return words32(vec.ShiftUintsRight)
		}
		return words32(vec.ShiftIntsRight)
	}
	if ^T(0) > 0 { // without sign
		switch op {
		case ir.Maximum:
			return uints32(vec.Uint32Max)
		case ir.Minimum:
			return uints32(vec.Uint32Min)
		}
		return nil
	}
	switch op {
	case ir.Maximum:
		return words32(vec.MaxInts)
	case ir.Minimum:
		return words32(vec.MinInts)
	}
	return nil
}

// longKernel is wordKernel for integers of 64 bits.
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

// smalls makes a block kernel of an operation on integers of one or two bytes.
//
//go:noinline
func smalls[T vec.Small](op ir.Op) Func {
	of := map[ir.Op]vec.SmallOp{ir.Add: vec.SmallAdd, ir.Sub: vec.SmallSub, ir.Mul: vec.SmallMul, ir.Maximum: vec.SmallMax,
		ir.Minimum: vec.SmallMin}
	k, ok := of[op]
	if !ok {
		return nil
	}
	return func(dst, a, b, _ unsafe.Pointer, n int) { vec.Smalls(k, View[T](dst, n), View[T](a, n), View[T](b, n)) }
}

// smallKernel is the kernel of an operation on integers of one or two bytes, or nil.
func smallKernel[T Integer](op ir.Op) Func {
	switch any(T(0)).(type) {
	case int8:
		return smalls[int8](op)
	case uint8:
		return smalls[uint8](op)
	case int16:
		return smalls[int16](op)
	case uint16:
		return smalls[uint16](op)
	}
	return nil
}

func integerBinary[T Integer](op ir.Op) Func {
	if f := wordKernel[T](op); f != nil {
		return f
	}
	if f := smallKernel[T](op); f != nil {
		return f
	}
	switch op {
	case ir.Add:
		return addBlock[T]
	case ir.Sub:
		return subBlock[T]
	case ir.Mul:
		return mulBlock[T]
	case ir.Maximum:
		return maxBlock[T]
	case ir.Minimum:
		return minBlock[T]
	case ir.Div:
		return divBlock[T]
	case ir.Rem:
		return remBlock[T]
	}
	switch op {
	case ir.ShiftLeft:
		return func(dst, a, b, _ unsafe.Pointer, n int) {
			z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
			for i, v := range x {
				z[i] = v << uint64(y[i]) // negative counts are large ones
			}
		}
	case ir.ShiftRight:
		return func(dst, a, b, _ unsafe.Pointer, n int) {
			z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
			for i, v := range x {
				z[i] = v >> uint64(y[i])
			}
		}
	}
	f := integerFunction[T](op)
	if f == nil {
		return nil
	}
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		z, x, y := View[T](dst, n), View[T](a, n), View[T](b, n)
		for i, v := range x {
			z[i] = f(v, y[i])
		}
	}
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

// integerFunction returns the less frequent integer operations.
func integerFunction[T Integer](op ir.Op) func(x, y T) T {
	switch op {
	case ir.Pow:
		return integerPow[T]
	}
	return nil
}

// integerPow is x to the power y by squaring, wrapping around; a negative power of anything but 1 and -1 truncates to
// 0.
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

// selectWords picks elements of 8 bytes: operands are the predicate, on true, on false.
func selectWords(dst, a, b, c unsafe.Pointer, n int) {
	vec.ChooseWords(View[uint64](dst, n), View[uint8](a, n), View[uint64](b, n), View[uint64](c, n))
}

func chooseSmalls[T uint8 | uint16](dst, a, b, c unsafe.Pointer, n int) {
	vec.ChooseSmalls(View[T](dst, n), View[uint8](a, n), View[T](b, n), View[T](c, n))
}

// Select picks elements by bytes of 0 and 1.
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
