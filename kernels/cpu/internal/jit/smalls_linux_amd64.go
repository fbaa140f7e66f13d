package jit

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// Operations on integers of one and two bytes; as many are computed at a time as fit into a vector.

// wordWidth returns the encoding's width bit for AVX-512 instructions on two-byte integers.
func (c *compiler) wordWidth() instruction {
	if c.size == 2 {
		return wide
	}
	return 0
}

// smallForms lists the operations that are one instruction, for one byte and for two, in either encoding.
var smallForms = [operations][2]instruction{
	vec.ChainAddInt: {map0F | with66 | 0xfc, map0F | with66 | 0xfd},
	vec.ChainSubInt: {map0F | with66 | 0xf8, map0F | with66 | 0xf9},
	vec.ChainMulInt: {0, map0F | with66 | 0xd5},
	vec.ChainMaxInt: {map0F38 | with66 | 0x3c, map0F | with66 | 0xee},
	vec.ChainMinInt: {map0F38 | with66 | 0x38, map0F | with66 | 0xea},
	MaxUint:         {map0F | with66 | 0xde, map0F38 | with66 | 0x3e},
	MinUint:         {map0F | with66 | 0xda, map0F38 | with66 | 0x3a},
}

// small emits r = a op b for one of them.
func (c *compiler) small(op vec.ChainOp, r, a, b int) {
	c.registers(smallForms[op][c.size-1], r, a, b, predicate{})
}

// computeSmall is compute where these integers differ. It returns false for other steps.
func (c *compiler) computeSmall(s *Step, r int, in [3]int) bool {
	a, b := in[0], in[1]
	switch op := s.Op; {
	case smallForms[op][c.size-1] != 0:
		c.small(op, r, a, b)
	case op == vec.ChainMulInt:
		c.multiplyBytes(r, a, b)
	case op == vec.ChainChoose && !c.avx2:
		c.registers(map0F38|with66|c.wordWidth()|0x66, r, in[2], b, predicate{register: a - firstMask})
	case op == vec.ChainNegInt:
		c.small(vec.ChainSubInt, r, c.constantRegister(0), a)
	case op == vec.ChainAbsInt:
		c.registers(map0F38|with66|(0x1b+instruction(c.size)), r, 0, a, predicate{})
	case op == ReluInt:
		c.small(vec.ChainMaxInt, r, a, c.constantRegister(0))
	case op == SignInt:
		c.small(vec.ChainMaxInt, r, a, c.constantRegister(1<<64-1))
		c.small(vec.ChainMinInt, r, r, c.constantRegister(c.wholeOne()))
	case op == SignUint:
		c.small(MinUint, r, a, c.constantRegister(c.wholeOne()))
	default:
		return false
	}
	return true
}

// multiplyBytes computes the products of the bytes in even and in odd places separately; the odd ones are the upper
// halves of two-byte integers.
func (c *compiler) multiplyBytes(r, a, b int) {
	const multiply, left, right = map0F | with66 | 0xd5, 6, 2
	shift := func(how, r, a int) { c.immediate(map0F|with66|0x71, how, r, a, 8) }
	t := c.temporary()
	shift(right, t, a)
	shift(right, r, b)
	c.registers(multiply, t, t, r, predicate{})
	shift(left, t, t)
	c.registers(multiply, r, a, b, predicate{})
	shift(left, r, r)
	shift(right, r, r)
	c.registers(map0F|with66|0xeb, r, r, t, predicate{})
}
