package jit

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// divide computes quotients, or remainders, of 32-bit integers with 64-bit floats, eight at a time: the quotient of two
// such integers is never rounded up to a whole number. Division by 0 gives 0.
func (c *compiler) divide(op vec.ChainOp, r, a, b int) {
	wider, back := map0F|withF3|0xe6, map0F|with66|wide|0xe6
	if op >= DivUint {
		wider, back = map0F|withF3|0x7a, map0F|wide|0x78
	}
	quotient, x, y := c.temporary(), c.temporary(), c.temporary()
	for half := range 2 {
		from, by := a, b
		if half == 1 {
			c.immediate(map0F3A|with66|wide|0x3b, a, 0, x, 1) // the upper half of a vector
			c.immediate(map0F3A|with66|wide|0x3b, b, 0, y, 1)
			from, by = x, y
		}
		c.registers(wider, x, 0, from, predicate{})
		c.registers(wider, y, 0, by, predicate{})
		c.registers(map0F|with66|wide|0x5e, x, x, y, predicate{})
		if half == 0 {
			c.registers(back, quotient, 0, x, predicate{})
		}
	}
	c.registers(back, x, 0, x, predicate{})
	c.immediate(map0F3A|with66|wide|0x3a, r, quotient, x, 1)
	if op == RemInt || op == RemUint {
		c.registers(map0F38|with66|0x40, r, r, b, predicate{})
		c.registers(map0F|with66|0xfa, r, a, r, predicate{})
	}
	k := c.temporaryMask()
	c.compareIntegers(k+firstMask, 4, 0, b, c.constantRegister(0))
	c.registers(map0F|with66|0x6f, r, 0, r, predicate{k, true})
}
