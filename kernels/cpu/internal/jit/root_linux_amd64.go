package jit

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// The range of floats whose roots are computed by multiplications: the residues are no subnormals, which would be
// taken for zero.
const (
	leastRooted = 0x0d800000 // 2^-100
	mostRooted  = 0x7e800000 // 2^126
)

// approximatesRoots reports whether square roots of floats are computed by multiplications. The divider computes a
// root and a quotient of a vector in about 18 cycles; where a list of steps has several of them, the multipliers, which
// wait for it otherwise, take the roots over. With one quotient that is too much for them, and they do so for every
// second vector.
func (c *compiler) approximatesRoots() (roots, inTurns bool) {
	if c.avx2 || c.size != 4 {
		return false, false
	}
	square, quotients := 0, 0
	for i := range c.steps {
		switch c.steps[i].Op {
		case vec.ChainSqrt:
			square++
		case Rsqrt:
			square++
			quotients++
		case vec.ChainDiv, vec.ChainDivInto:
			quotients++
		}
	}
	return square > 0 && quotients > 0, square == quotients
}

// constantsOfRoot lists the constants of a square root, or of an inverse one.
func (c *compiler) constantsOfRoot(s *Step) []uint64 {
	if !c.roots {
		return nil
	}
	list := []uint64{twice(0x3f000000), twice(leastRooted), twice(mostRooted - leastRooted)}
	if s.Op == Rsqrt {
		list = append(list, c.bits(1))
	}
	return list
}

// root sets r to the square roots of a. From an approximation of the inverse root to 14 bits, one step of Newton's
// method makes the root and half of its inverse, to an error of about one unit; the residue of the root, which has no
// rounding error, then corrects it to the nearest float: that of the instruction, whatever the error of the
// approximation. Vectors with other elements than those of the range take the instruction.
func (c *compiler) root(r, a int) {
	half := c.constantRegister(twice(0x3f000000))
	t, h, k := c.temporary(), c.temporary(), c.temporaryMask()
	c.registers(map0F|with66|0xfa, t, a, c.constantRegister(twice(leastRooted)), predicate{})
	c.compareIntegers(k+firstMask, 6, unsigned, t, c.constantRegister(twice(mostRooted-leastRooted)))
	c.bytes(0xc5, 0xf8, 0x98, 0xc0|byte(k)<<3|byte(k)) // KORTESTW
	outside := c.jump(0x85)
	c.registers(map0F38|with66|0x4e, h, 0, a, predicate{}) // about 1/√a
	c.registers(map0F|0x59, r, a, h, predicate{})          // about √a
	c.registers(map0F|0x59, h, h, half, predicate{})       //
	c.registers(map0F|0x28, t, 0, half, predicate{})       //
	c.registers(map0F38|with66|0xbc, t, r, h, predicate{}) // ½ - r·h
	c.registers(map0F38|with66|0xa8, r, t, r, predicate{}) // r += r·t
	c.registers(map0F38|with66|0xa8, h, t, h, predicate{}) // h += h·t
	c.registers(map0F|0x28, t, 0, a, predicate{})          //
	c.registers(map0F38|with66|0xbc, t, r, r, predicate{}) // a - r²
	c.registers(map0F38|with66|0xb8, r, t, h, predicate{}) // r += t·h
	c.bytes(0xe9, 0, 0, 0, 0)
	inside := len(c.code)
	c.land(outside, len(c.code))
	c.registers(map0F|0x51, r, 0, a, predicate{})
	c.land(inside, len(c.code))
}

// inverseRoot sets r to the inverse square roots of a.
func (c *compiler) inverseRoot(r, a int) {
	t := c.temporary()
	c.root(t, a)
	c.registers(map0F|0x5e, r, c.constantRegister(c.bits(1)), t, predicate{})
}

// functionOf emits a function on registers.
func (c *compiler) functionOf(op vec.ChainOp, r int, in [3]int) {
	if op == Rsqrt && c.roots {
		c.inverseRoot(r, in[0])
		return
	}
	c.function(&inlines[op-firstFunction], r, in)
}
