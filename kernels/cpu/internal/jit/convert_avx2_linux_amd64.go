package jit

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// convertAVX2 is convert.
func (c *compiler) convertAVX2(s *Step, r, a int) {
	if s.From == ir.Bool {
		c.op(andBits, r, a, c.constantRegister(c.constantsOfConversion(s)[0]))
		return
	}
	a = c.widenedAVX2(s, a)
	switch {
	case s.To != ir.Bool:
		c.convertWideAVX2(s, r, a)
	case s.From.IsFloat():
		c.compare(r, 4, a, c.constantRegister(0))
	default:
		c.compareIntegersAVX2(r, 4, false, a, c.constantRegister(0))
	}
}

// widenedAVX2 is widened.
func (c *compiler) widenedAVX2(s *Step, a int) int {
	if kindOf(s.From, c.size) != words {
		return a
	}
	t := c.temporary()
	c.widen(c.widening(s.From), t, s.In[0], s.From.Size())
	return t
}

// convertWideAVX2 is convertWide. Of integers smaller than elements, only the lowest bits count.
func (c *compiler) convertWideAVX2(s *Step, r, a int) {
	switch {
	case s.From.IsFloat() == s.To.IsFloat():
		c.move(r, a, predicate{})
	case s.To.IsFloat() && c.size == 8:
		c.doublesOf(s.From, r, a)
	case s.To.IsFloat() && s.From == ir.Uint32: // in halves, both exact
		t := c.temporary()
		c.shiftElements(false, 0, r, a, 16)
		c.op(map0F|0x5b, r, 0, r)
		c.op(c.float(0x59), r, r, c.constantRegister(c.bits(65536)))
		c.op(andBits, t, a, c.constantRegister(twice(0xffff)))
		c.op(map0F|0x5b, t, 0, t)
		c.op(c.float(0x58), r, r, t)
	case s.To.IsFloat():
		c.op(map0F|0x5b, r, 0, a)
	case s.To.Size() == 8:
		c.integersOfDoubles(s.To, r, a)
	case s.To == ir.Uint32 && c.size == 4:
		c.uintsOfFloats(r, a)
	case s.To == ir.Int32 && c.size == 4:
		c.truncateAVX2(r, a)
	default:
		c.clamped(s.To, r, a)
	}
}

// doublesOf converts 64-bit integers to 64-bit floats. The upper and lower halves become the lowest bits of floats,
// whose sum is rounded once.
func (c *compiler) doublesOf(from ir.DType, r, a int) {
	c.doublesWith(c.temporary(), from, r, a)
}

// doublesWith is doublesOf with a temporary register.
func (c *compiler) doublesWith(t int, from ir.DType, r, a int) {
	const add, sub = map0F | with66 | 0x58, map0F | with66 | 0x5c
	if from.Size() < 8 {
		near := c.constantRegister(0x4338000000000000) // 1.5·2⁵²
		c.op(map0F|with66|0xd4, r, a, near)
		c.op(sub, r, r, near)
		return
	}
	upper, both := uint64(0x4530000080000000), uint64(0x4530000080100000) // 2⁸⁴ + 2⁶³, and 2⁵² more
	if signless(from) {
		upper, both = 0x4530000000000000, 0x4530000000100000
	}
	c.immediate(map0F3A|with66|0x02, t, c.doubleConstant(wholeDouble), a, 0x55)
	c.shiftElements(false, wide, r, a, 32)
	c.op(xorBits, r, r, c.doubleConstant(upper))
	c.op(sub, r, r, c.doubleConstant(both))
	c.op(add, r, r, t)
}

// sticky sets r to the integers a with the bits that a float of their size has no room for replaced by one sticky bit.
// The float is then exact, and rounding it gives what rounding the integer would.
func (c *compiler) sticky(from ir.DType, r, a int) {
	lost, most, bits := uint64(1<<11-1), uint64(1<<53), byte(53)
	if c.size == 4 {
		lost, most, bits = twice(1<<8-1), twice(1<<24), 24
	}
	add, equal, short := c.sized(map0F|with66|0xfe, map0F|with66|0xd4), c.sized(map0F|with66|0x76, map0F38|with66|0x29), c.sized(0, wide)
	few, from0 := c.temporary(), a
	mask := c.doubleConstant(lost)
	c.op(andBits, r, a, mask)
	c.op(add, r, r, mask)
	c.op(orBits, r, r, a)
	c.op(andNot, r, mask, r)
	if !signless(from) {
		c.op(add, few, a, c.doubleConstant(most))
		from0, bits = few, bits+1
	}
	c.shiftElements(false, short, few, from0, bits)
	c.op(xorBits, scratchAVX2, scratchAVX2, scratchAVX2)
	c.op(equal, few, few, scratchAVX2)
	c.blend(r, r, a, few)
}

// convertOddAVX2 is convertOdd. The sticky bit may not be the last bit of the 32-bit float, but the bits that matter
// for rounding to 16 bits are the same.
func (c *compiler) convertOddAVX2(s *Step, r, a int) {
	t := c.temporary()
	c.sticky(s.From, t, a)
	c.convertWideAVX2(s, r, t)
}

// narrowOddAVX2 is narrowOdd: numbers that were rounded up go back by one, and inexact ones get an odd last bit.
func (c *compiler) narrowOddAVX2(s *Step, a int) {
	f, x, y, k := c.temporary(), c.temporary(), c.temporary(), c.temporary()
	if !s.From.IsFloat() {
		c.sticky(s.From, x, a)
		c.doublesOf(s.From, y, x)
		a = y
	}
	pack := func() {
		c.immediate(extractHalf, k, 0, scratchAVX2, 1)
		c.immediate(map0F|short|0xc6, k, k, scratchAVX2, 0x88)
	}
	c.op(map0F|with66|0x5a, f, 0, a)
	c.op(map0F|0x5a, x, 0, f)
	c.compare(k, 4, x, a)
	pack()
	c.shiftElements(false, 0, k, k, 31)
	magnitude := c.constantRegister(math.MaxInt64)
	c.op(andBits, x, x, magnitude)
	c.op(andBits, y, a, magnitude)
	c.compare(y, greater, x, y)
	c.op(map0F|0x28, x, 0, k)
	c.op(map0F|0x28, k, 0, y)
	pack()
	c.op(map0F|with66|0xfe, f, f, k)
	c.op(orBits, f, f, x)
	c.storeFloats(s.Dst, f)
}

// storeFloats stores 32-bit floats in place of 64-bit elements.
func (c *compiler) storeFloats(p uint8, f int) {
	if c.tail {
		c.storeOne(p, f, 4)
	} else {
		c.memory(map0F|short|0x11, f, 0, c.elements(p, 4), predicate{})
	}
}

// integersOfDoubles converts floats to 64-bit integers, one half after the other.
func (c *compiler) integersOfDoubles(to ir.DType, r, a int) {
	const add, mul = map0F | with66 | 0x58, map0F | with66 | 0x59
	round := func(r int, how byte) { c.immediate(map0F3A|with66|0x09, r, 0, r, how|8) }
	x, k, whole := c.temporary(), c.temporary(), c.constantRegister(wholeDouble)
	above, number := 0x1p64, uint64(wholeDouble)
	if signless(to) {
		c.op(c.float(0x5f), x, a, c.constantRegister(0))
	} else {
		above, number = 0x1p63, 0x4338000000000000
		c.compare(k, ordered, a, a)
		c.op(andBits, x, a, k)
		c.op(c.float(0x5f), x, x, c.constantRegister(c.bits(-0x1p63)))
	}
	round(x, 3)
	c.op(mul, r, x, c.constantRegister(c.bits(0x1p-32)))
	round(r, 1)
	c.op(map0F38|with66|wide|0xbc, x, r, c.constantRegister(c.bits(0x1p32)))
	c.op(add, x, x, whole)
	c.op(xorBits, x, x, whole)
	c.op(add, r, r, c.doubleConstant(number))
	c.shiftElements(true, wide, r, r, 32)
	c.op(orBits, r, r, x)
	c.compare(k, 29, a, c.doubleConstant(c.bits(above)))
	if signless(to) {
		c.op(orBits, r, r, k)
	} else {
		c.blend(r, r, c.constantRegister(math.MaxInt64), k)
	}
}

// uintsOfFloats converts 32-bit floats to unsigned integers.
func (c *compiler) uintsOfFloats(r, a int) {
	x, big, half := c.temporary(), c.temporary(), c.temporary()
	c.op(c.float(0x5f), x, a, c.constantRegister(0))
	c.compare(big, 29, x, c.constantRegister(c.bits(0x1p31)))
	c.op(andBits, half, big, c.constantRegister(c.bits(0x1p31)))
	c.op(c.float(0x5c), half, x, half)
	c.op(map0F|withF3|0x5b, r, 0, half)
	c.shiftElements(true, 0, big, big, 31)
	c.op(xorBits, r, r, big)
	c.compare(big, 29, x, c.constantRegister(c.bits(0x1p32)))
	c.op(orBits, r, r, big)
}

// clamped converts floats to integers of which only the bits of the type count.
func (c *compiler) clamped(to ir.DType, r, a int) {
	k := c.temporary()
	least, most := 0.0, math.Ldexp(1, 8*to.Size())-1
	if !signless(to) {
		most = math.Ldexp(1, 8*to.Size()-1) - 1
		least = -most - 1
	}
	c.compare(k, ordered, a, a)
	c.op(andBits, r, a, k)
	c.op(c.float(0x5f), r, r, c.constantRegister(c.bits(least)))
	c.op(c.float(0x5d), r, r, c.constantRegister(c.bits(most)))
	if c.size == 4 {
		c.op(map0F|withF3|0x5b, r, 0, r)
		return
	}
	c.immediate(map0F3A|with66|0x09, r, 0, r, 3|8)
	c.op(map0F|with66|0x58, r, r, c.constantRegister(0x4338000000000000))
}

// narrowAVX2 is narrow.
func (c *compiler) narrowAVX2(s *Step, a int) {
	t := c.temporary()
	a = c.widenedAVX2(s, a)
	switch {
	case s.To == ir.Float32: // of 64 bits
		if !s.From.IsFloat() {
			c.sticky(s.From, t, a)
			c.doublesOf(s.From, t, t)
			a = t
		}
		c.op(map0F|with66|0x5a, t, 0, a)
		c.storeFloats(s.Dst, t)
		return
	case s.From.IsFloat():
		c.convertWideAVX2(s, t, a)
		a = t
	}
	c.storeLowest(s.Dst, a, s.To.Size())
}
