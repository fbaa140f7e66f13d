package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// suffix is the type suffix of instructions for an integer element type.
func suffix(d ir.DType) string {
	switch {
	case d.Size() == 8 && d.IsSigned():
		return "s64"
	case d.Size() == 8:
		return "u64"
	case d.IsSigned():
		return "s32"
	}
	return "u32"
}

// floatSuffix is the type suffix of instructions for floats.
func floatSuffix(c ptx.Class) string {
	if c == ptx.F64 {
		return "f64"
	}
	return "f32"
}

// wrap wraps the integer in a 32-bit register to the range of a shorter type.
func (g *gen) wrap(d ir.DType, x ptx.Operand) ptx.Operand {
	switch d {
	case ir.Int8:
		return g.k.Op(ptx.B32, "cvt.s32.s8", x)
	case ir.Int16:
		return g.k.Op(ptx.B32, "cvt.s32.s16", x)
	case ir.Uint8:
		return g.k.Op(ptx.B32, "and.b32", x, ptx.Int32(0xff))
	case ir.Uint16:
		return g.k.Op(ptx.B32, "and.b32", x, ptx.Int32(0xffff))
	}
	return x
}

// unary computes an op of one operand.
func (g *gen) unary(op ir.Op, d ir.DType, x ptx.Operand) ptx.Operand {
	switch {
	case d == ir.Bool: // Not
		return g.not(x)
	case d.IsFloat():
		return g.floatUnary(op, d, x)
	}
	k, c := g.k, classOf(d)
	bits := map[ptx.Class]string{ptx.B32: "b32", ptx.B64: "b64"}[c]
	zero := g.constant(d, 0)
	switch op {
	case ir.Neg:
		return g.wrap(d, k.Op(c, "sub.s"+bits[1:], zero, x))
	case ir.Not:
		return g.wrap(d, k.Op(c, "not."+bits, x))
	case ir.Relu:
		return g.extreme("gt", d, x, zero)
	case ir.Abs:
		if !d.IsSigned() {
			return x
		}
		return g.wrap(d, k.Op(c, "abs."+suffix(d), x))
	case ir.Sign:
		one := g.constant(d, 1)
		if !d.IsSigned() {
			return g.extreme("lt", d, x, one)
		}
		return g.extreme("gt", d, g.extreme("lt", d, x, one), g.constant(d, -1))
	}
	g.failf(g.node, "there is no kernel for %v of %v", op, d)
	return x
}

// binary computes an op of two operands of the same type.
func (g *gen) binary(op ir.Op, d ir.DType, x, y ptx.Operand) ptx.Operand {
	switch {
	case d == ir.Bool:
		return g.k.Op(ptx.Pred, map[ir.Op]string{ir.BitAnd: "and.pred", ir.BitOr: "or.pred", ir.BitXor: "xor.pred"}[op], x, y)
	case d.IsFloat():
		return g.floatBinary(op, d, x, y)
	}
	k, c, s := g.k, classOf(d), suffix(d)
	bits := "b" + s[1:]
	width := d.Size() * 8
	switch op {
	case ir.Add:
		return g.wrap(d, k.Op(c, "add."+s, x, y))
	case ir.Sub:
		return g.wrap(d, k.Op(c, "sub."+s, x, y))
	case ir.Mul:
		return g.wrap(d, k.Op(c, "mul.lo."+s, x, y))
	case ir.Div, ir.Rem:
		return g.wrap(d, g.quotient(op, d, x, y))
	case ir.Pow:
		return g.integerPower(d, x, y)
	case ir.Maximum:
		return g.extreme("gt", d, x, y)
	case ir.Minimum:
		return g.extreme("lt", d, x, y)
	case ir.BitAnd, ir.BitOr, ir.BitXor:
		return k.Op(c, map[ir.Op]string{ir.BitAnd: "and.", ir.BitOr: "or.", ir.BitXor: "xor."}[op]+bits, x, y)
	case ir.ShiftLeft, ir.ShiftRight:
		// The amount is compared as an unsigned 32-bit number: a negative one is very large.
		far := g.compare("ge", "u"+s[1:], y, g.integer(c, int64(width)))
		amount := y
		if c == ptx.B64 {
			amount = k.Op(ptx.B32, "cvt.u32.u64", g.mov(ptx.B64, y))
		}
		amount = g.pick(far, ptx.Int32(int64(width-1)), amount)
		if op == ir.ShiftLeft {
			return g.wrap(d, g.pick(far, g.constant(d, 0), k.Op(c, "shl."+bits, x, amount)))
		}
		shifted := k.Op(c, "shr."+s, x, amount)
		if d.IsSigned() {
			return shifted
		}
		return g.pick(far, g.constant(d, 0), shifted)
	}
	g.failf(g.node, "there is no kernel for %v of %v", op, d)
	return x
}

// extreme is the greater ("gt") or the smaller ("lt") of two integers, computed by a comparison and a selection. For
// devices of compute capability 9.0 and 10.0, the driver's compiler merges two max.s32 into one instruction with three
// operands, and then forgets that one of them is negated (CUDA 12.9 and 13.0: the maximum of 1, -8 and -3 was 8; fixed
// in 13.5). It merges comparisons with selections only if nothing is negated.
func (g *gen) extreme(relation string, d ir.DType, x, y ptx.Operand) ptx.Operand {
	x = g.register(d, x)
	return g.pick(g.compare(relation, suffix(d), x, y), x, y)
}

func (g *gen) integer(c ptx.Class, n int64) ptx.Operand {
	if c == ptx.B64 {
		return ptx.Int64(n)
	}
	return ptx.Int32(n)
}

// quotient divides integers. Dividing by zero gives 0, and the least integer divided by -1 is itself.
func (g *gen) quotient(op ir.Op, d ir.DType, x, y ptx.Operand) ptx.Operand {
	k, c, s := g.k, classOf(d), suffix(d)
	zero, one := g.integer(c, 0), g.integer(c, 1)
	bad := g.compare("eq", s, y, zero)
	whenBad := zero
	if d.IsSigned() {
		minus := g.compare("eq", s, y, g.integer(c, -1))
		if op == ir.Div {
			whenBad = g.pick(minus, k.Op(c, "sub."+s, zero, x), zero)
		}
		bad = g.either(bad, minus)
	}
	safe := g.pick(bad, one, y)
	name := "div."
	if op == ir.Rem {
		name = "rem."
	}
	return g.pick(bad, whenBad, k.Op(c, name+s, x, safe))
}

// integerPower multiplies the squares selected by the exponent's bits.
func (g *gen) integerPower(d ir.DType, x, y ptx.Operand) ptx.Operand {
	k, c, s := g.k, classOf(d), suffix(d)
	bits := "b" + s[1:]
	zero, one := g.integer(c, 0), g.integer(c, 1)
	result, base, left := g.mov(c, one), g.mov(c, x), g.mov(c, y)
	again, end := k.Label(), k.Label()
	k.Place(again)
	k.BranchIf(g.compare("le", s, left, zero), end) // unsigned: until no bits are left; negative exponents are handled below
	odd := g.compare("ne", s, k.Op(c, "and."+bits, left, one), zero)
	k.Line("@%v mul.lo.%s %v, %v, %v", odd, s, result, result, base)
	k.To(base, "mul.lo."+s, base, base)
	k.To(left, "shr."+s, left, ptx.Int32(1))
	k.Branch(again)
	k.Place(end)
	if !d.IsSigned() {
		return g.wrap(d, result)
	}
	minus := g.integer(c, -1)
	odd = g.compare("ne", s, k.Op(c, "and."+bits, y, one), zero)
	fraction := g.pick(g.compare("eq", s, x, minus), g.pick(odd, minus, one), zero)
	fraction = g.pick(g.compare("eq", s, x, one), one, fraction)
	return g.pick(g.compare("lt", s, y, zero), fraction, g.wrap(d, result))
}

// relation compares two elements of a type.
func (g *gen) relation(direction ir.Direction, d ir.DType, x, y ptx.Operand) ptx.Operand {
	switch {
	case d == ir.Bool:
		x = g.pick(x, ptx.Int32(1), ptx.Int32(0))
		y = g.pick(y, ptx.Int32(1), ptx.Int32(0))
		return g.compare(string(direction), "s32", x, y)
	case d.IsFloat():
		name := string(direction)
		if direction == ir.Ne {
			name = "neu"
		}
		return g.compare(name, floatSuffix(classOf(d)), x, y)
	}
	return g.compare(string(direction), suffix(d), x, y)
}

// convert converts a number in a register to another element type.
func (g *gen) convert(from, to ir.DType, x ptx.Operand) ptx.Operand {
	switch {
	case from == to:
		return x
	case to == ir.Bool && from.IsFloat():
		return g.compare("neu", floatSuffix(classOf(from)), x, g.constant(from, 0))
	case to == ir.Bool:
		return g.compare("ne", suffix(from), x, g.integer(classOf(from), 0))
	case from.IsFloat() && to.IsFloat():
		return g.floatToFloat(from, to, x)
	case from.IsFloat():
		return g.floatToInteger(from, to, x)
	case to.IsFloat():
		return g.integerToFloat(from, to, x)
	}
	if from == ir.Bool {
		x = g.pick(x, ptx.Int32(1), ptx.Int32(0))
		from = ir.Uint8
	}
	a, b := classOf(from), classOf(to)
	switch {
	case a == ptx.B32 && b == ptx.B64 && from.IsSigned():
		return g.k.Op(b, "cvt.s64.s32", g.mov(a, x))
	case a == ptx.B32 && b == ptx.B64:
		return g.k.Op(b, "cvt.u64.u32", g.mov(a, x))
	case a == ptx.B64 && b == ptx.B32:
		x = g.k.Op(b, "cvt.u32.u64", g.mov(a, x))
	}
	return g.wrap(to, x)
}

// floatToFloat rounds once.
func (g *gen) floatToFloat(from, to ir.DType, x ptx.Operand) ptx.Operand {
	k := g.k
	switch {
	case to == ir.Float64:
		return k.Op(ptx.F64, "cvt.f64.f32", g.mov(ptx.F32, x))
	case from == ir.Float64 && to == ir.Float32:
		return k.Op(ptx.F32, "cvt.rn.f32.f64", g.mov(ptx.F64, x))
	case from == ir.Float64:
		x = g.toOdd(x)
	case to == ir.Float32:
		return x
	}
	return g.widen(to, g.narrow(to, x))
}

// toOdd rounds a float64 to a float32 such that rounding that to 16 bits gives the same result as rounding once:
// towards zero, setting the last bit if the result is inexact.
func (g *gen) toOdd(x ptx.Operand) ptx.Operand {
	k := g.k
	y := k.Op(ptx.F32, "cvt.rz.f32.f64", g.mov(ptx.F64, x))
	lost := g.compare("neu", "f64", k.Op(ptx.F64, "cvt.f64.f32", y), x)
	bits := k.Op(ptx.B32, "mov.b32", y)
	odd := k.Op(ptx.F32, "mov.b32", k.Op(ptx.B32, "or.b32", bits, ptx.Int32(1)))
	return g.pick(lost, odd, y)
}

// floatToInteger truncates and saturates; NaN gives 0.
func (g *gen) floatToInteger(from, to ir.DType, x ptx.Operand) ptx.Operand {
	c := classOf(from)
	x = g.mov(c, x)
	y := g.k.Op(classOf(to), "cvt.rzi."+suffix(to)+"."+floatSuffix(c), x)
	switch to {
	case ir.Int8, ir.Int16, ir.Uint8, ir.Uint16:
		high := int64(1)<<(to.Size()*8) - 1
		if to.IsSigned() {
			high >>= 1
			y = g.k.Op(ptx.B32, "max.s32", y, ptx.Int32(-high-1))
		}
		y = g.k.Op(ptx.B32, "min."+suffix(to), y, ptx.Int32(high))
	}
	return g.pick(g.compare("neu", floatSuffix(c), x, x), g.integer(classOf(to), 0), y)
}

func (g *gen) integerToFloat(from, to ir.DType, x ptx.Operand) ptx.Operand {
	if from == ir.Bool {
		return g.pick(x, g.register(to, g.constant(to, 1)), g.register(to, g.constant(to, 0)))
	}
	k, s := g.k, suffix(from)
	x = g.mov(classOf(from), x)
	switch {
	case to == ir.Float64:
		return k.Op(ptx.F64, "cvt.rn.f64."+s, x)
	case to == ir.Float32:
		return k.Op(ptx.F32, "cvt.rn.f32."+s, x)
	case from.Size() < 8:
		return g.floatToFloat(ir.Float64, to, k.Op(ptx.F64, "cvt.rn.f64."+s, x))
	}
	// The upper half of a 64-bit integer is enough if its last bit also says whether any lower bit is set.
	y := x
	negative := ptx.Operand{}
	if from.IsSigned() {
		negative = g.compare("lt", "s64", x, ptx.Int64(0))
		y = k.Op(ptx.B64, "abs.s64", x)
	}
	rest := k.Op(ptx.B64, "and.b64", y, ptx.Int64(0x7ff))
	high := k.Op(ptx.B64, "and.b64", y, ptx.Int64(^0x7ff))
	sticky := g.pick(g.compare("ne", "u64", rest, ptx.Int64(0)), ptx.Int64(0x800), ptx.Int64(0))
	large := g.compare("ge", "u64", y, ptx.Int64(1<<53))
	y = g.pick(large, k.Op(ptx.B64, "or.b64", high, sticky), y)
	f := k.Op(ptx.F64, "cvt.rn.f64.u64", y)
	if from.IsSigned() {
		f = g.pick(negative, k.Op(ptx.F64, "neg.f64", f), f)
	}
	return g.floatToFloat(ir.Float64, to, f)
}
