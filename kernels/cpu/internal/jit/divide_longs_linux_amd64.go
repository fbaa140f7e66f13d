package jit

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Quotients and remainders of 64-bit integers. A quotient is estimated from below with floats, and then again for what
// is left. The result is exact or one too small.

// divideLongs is divide for 64-bit integers. Floats are rounded towards zero, except the divisor.
func (c *compiler) divideLongs(op vec.ChainOp, r, a, b int) {
	const float, mul, div, integer = map0F | withF3 | wide | cutOff | 0x7a, map0F | with66 | wide | cutOff | 0x59,
		map0F | with66 | wide | cutOff | 0x5e, map0F | with66 | wide | 0x78
	const add, sub, multiply = map0F | with66 | wide | 0xd4, map0F | with66 | wide | 0xfb, map0F38 | with66 | wide | 0x40
	x, y, signed := a, b, op == DivInt || op == RemInt
	plain := func(i instruction, r, a, b int) { c.registers(i, r, a, b, predicate{}) }
	if signed {
		x, y = c.temporary(), c.temporary()
		plain(map0F38|with66|wide|0x1f, x, 0, a)
		plain(map0F38|with66|wide|0x1f, y, 0, b)
	}
	inverse, quotient, left, t, k := c.temporary(), c.temporary(), c.temporary(), c.temporary(), c.temporaryMask()
	minus := c.constantRegister(math.MaxUint64)
	plain(float, inverse, 0, y)
	plain(sub, inverse, inverse, minus) // the next float
	plain(div, inverse, c.constantRegister(c.bits(1)), inverse)
	estimate := func(q, x int) {
		plain(float, q, 0, x)
		plain(mul, q, q, inverse)
		plain(integer, q, 0, q)
		plain(multiply, t, q, y)
		plain(sub, left, x, t)
	}
	estimate(quotient, x)
	estimate(r, left)
	plain(add, quotient, quotient, r)
	c.compareIntegers(k+firstMask, 5, unsigned, left, y)
	c.registers(sub, quotient, quotient, minus, predicate{register: k})
	c.registers(sub, left, left, y, predicate{register: k})
	zero, sign := c.constantRegister(0), a
	switch op {
	case DivInt:
		plain(map0F|with66|wide|0xef, t, a, b)
		sign = t
	case RemInt, RemUint:
		quotient = left
	}
	if signed {
		c.compareIntegers(k+firstMask, 1, 0, sign, zero)
		c.registers(sub, quotient, zero, quotient, predicate{register: k})
	}
	c.compareIntegers(k+firstMask, 4, 0, b, zero)
	c.registers(map0F|with66|wide|0x6f, r, 0, quotient, predicate{k, true})
}

// divideLongsAVX2 is divideLongs. The inverse is lowered by more than all roundings can raise an estimate. The first
// estimate only has the upper half of a quotient, so one instruction multiplies it by the divisor.
func (c *compiler) divideLongsAVX2(op vec.ChainOp, r, a, b int) {
	const add, sub, mul, magnitude = map0F | with66 | 0xd4, map0F | with66 | 0xfb, map0F | with66 | 0x59, map0F3A | with66 | 0x09
	x, y, inverse, quotient, s, t := a, b, c.temporary(), c.temporary(), c.temporary(), c.temporary()
	signed, left := op == DivInt || op == RemInt, r
	negative := func(r, a int) {
		c.op(xorBits, r, r, r)
		c.op(map0F38|with66|0x37, r, r, a)
	}
	flip := func(r, a, where int) {
		c.op(xorBits, r, a, where)
		c.op(sub, r, r, where)
	}
	if signed {
		x, y = c.temporary(), c.temporary()
		negative(s, a)
		flip(x, a, s)
		negative(s, b)
		flip(y, b, s)
	}
	few := c.divideFewBits(op, quotient, left, x, y, s, t)
	c.doublesWith(t, ir.Uint64, inverse, y)
	c.op(map0F|with66|0x5e, inverse, c.doubleConstant(math.Float64bits(1)), inverse)
	c.op(sub, inverse, inverse, c.doubleConstant(8))
	c.doublesWith(t, ir.Uint64, s, x)
	c.op(mul, s, s, inverse)
	c.op(mul, s, s, c.doubleConstant(math.Float64bits(0x1p-32)))
	c.immediate(magnitude, s, 0, s, 3|8)
	c.op(map0F|with66|0x58, s, s, c.doubleConstant(wholeDouble))
	c.shiftElements(true, wide, quotient, s, 32)
	c.op(map0F|with66|0xf4, s, s, y)
	c.shiftElements(true, wide, s, s, 32)
	c.op(sub, left, x, s)

	c.doublesWith(t, ir.Uint64, s, left)
	c.op(mul, s, s, inverse)
	c.immediate(magnitude, s, 0, s, 3|8)
	c.op(map0F|with66|0x58, s, s, c.doubleConstant(wholeDouble))
	c.op(xorBits, s, s, scratchAVX2)
	c.op(add, quotient, quotient, s)
	c.multiplyWith(t, inverse, s, y)
	c.op(sub, left, left, inverse)

	sign := c.doubleConstant(1 << 63)
	c.op(xorBits, s, left, sign)
	c.op(xorBits, t, y, sign)
	c.op(map0F38|with66|0x37, s, t, s) // where the rest is less than the divisor
	c.op(add, quotient, quotient, s)
	c.op(sub, quotient, quotient, c.doubleConstant(math.MaxUint64))
	c.op(andNot, s, s, y)
	c.op(sub, left, left, s)
	c.land(few, len(c.code))
	if op == RemInt || op == RemUint {
		quotient = left
	}
	switch op {
	case DivInt:
		c.op(xorBits, t, a, b)
		negative(s, t)
		flip(quotient, quotient, s)
	case RemInt:
		negative(s, a)
		flip(quotient, quotient, s)
	}
	c.op(xorBits, t, t, t)
	c.op(map0F38|with66|0x29, t, t, b)
	c.op(andNot, r, t, quotient)
}

// divideFewBits emits the division of integers that all have at most 52 bits, as floats: no quotient is rounded up to a
// whole number. It returns the jump to the end, with the result; code for other integers follows.
func (c *compiler) divideFewBits(op vec.ChainOp, quotient, left, x, y, s, t int) (done int) {
	const subFloats = map0F | with66 | 0x5c
	c.op(orBits, t, x, y)
	c.op(map0F38|with66|0x17, t, 0, c.doubleConstant(0xfff<<52)) // VPTEST
	many := c.jump(0x85)
	whole := c.doubleConstant(wholeDouble)
	for _, v := range [][2]int{{s, x}, {t, y}} {
		c.op(orBits, v[0], v[1], whole)
		c.op(subFloats, v[0], v[0], whole)
	}
	c.op(map0F|with66|0x5e, quotient, s, t)
	c.immediate(map0F3A|with66|0x09, quotient, 0, quotient, 3|8)
	if op == RemInt || op == RemUint {
		c.op(map0F38|with66|wide|0xbc, s, quotient, t) // s −= quotient·t
		c.op(map0F|with66|0x58, s, s, whole)
		c.op(xorBits, left, s, whole)
	} else {
		c.op(map0F|with66|0x58, quotient, quotient, whole)
		c.op(xorBits, quotient, quotient, whole)
	}
	c.bytes(0xe9, 0, 0, 0, 0)
	done = len(c.code)
	c.land(many, len(c.code))
	return done
}
