package jit

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Conversions. Operands with fewer bytes than elements are widened when they are read, and results are narrowed when
// they are written. In between, floats and integers have the elements' size.

// widening returns the instruction that reads elements of a smaller type.
func (c *compiler) widening(from ir.DType) instruction {
	if from == ir.Float32 {
		return map0F | 0x5a
	}
	opcode := instruction(0x20)
	if signless(from) {
		opcode = 0x30
	}
	return map0F38 | with66 | (opcode + c.width(from))
}

// width returns the last digit of the opcodes that widen from a type and narrow to it.
func (c *compiler) width(d ir.DType) instruction {
	switch size := d.Size(); {
	case size == 4:
		return 5
	case c.size == 2:
		return 0
	case c.size == 8:
		return instruction(2 * size)
	default:
		return instruction(2*size - 1)
	}
}

func signless(d ir.DType) bool {
	return d == ir.Uint8 || d == ir.Uint16 || d == ir.Uint32 || d == ir.Uint64
}

func (c *compiler) constantsOfConversion(s *Step) []uint64 {
	switch {
	case s.From == ir.Bool && s.To.IsFloat():
		return []uint64{c.bits(1)}
	case s.From == ir.Bool:
		return []uint64{c.wholeOne()}
	case s.To == ir.Bool, signless(s.To):
		return []uint64{0}
	case !s.From.IsFloat() || s.To.IsFloat():
		return nil
	case c.size == 4:
		return c.truncateConstants()
	}
	return []uint64{0, c.bits(1 << 63), math.MaxInt64}
}

// convert sets r, which may be a mask, to the conversion of a.
func (c *compiler) convert(s *Step, r, a int) {
	if s.From == ir.Bool {
		c.move(r, c.constantRegister(c.constantsOfConversion(s)[0]), predicate{a - firstMask, true})
		return
	}
	if s.To != ir.Bool {
		c.convertWide(s, r, c.widened(s, a))
		return
	}
	if a = c.widened(s, a); s.From.IsFloat() {
		c.compare(r-firstMask, 4, a, c.constantRegister(0))
	} else {
		c.compareIntegers(r, 4, 0, a, c.constantRegister(0))
	}
}

// widened returns a register with the operand, widened to elements.
func (c *compiler) widened(s *Step, a int) int {
	if kindOf(s.From, c.size) != words {
		return a
	}
	t := c.temporary()
	c.memory(c.widening(s.From), t, 0, c.elements(s.In[0], s.From.Size()), c.under(true))
	return t
}

// convertWide sets r to the conversion of a to the type, still in the elements' size. Floats become truncated integers,
// saturated, and NaN becomes 0.
func (c *compiler) convertWide(s *Step, r, a int) {
	one := func(four, eight instruction) { c.registers(c.sized(four, eight), r, 0, a, predicate{}) }
	switch {
	case s.From.IsFloat() == s.To.IsFloat():
		c.move(r, a, predicate{})
	case s.To.IsFloat() && s.From.Size() == c.size && signless(s.From):
		one(map0F|withF2|0x7a, map0F|withF3|wide|0x7a)
	case s.To.IsFloat():
		one(map0F|0x5b, map0F|withF3|wide|0xe6)
	case signless(s.To): // for NaN, it returns the second operand
		c.registers(c.float(0x5f), r, a, c.constantRegister(0), predicate{})
		a = r
		one(map0F|0x78, map0F|with66|wide|0x78)
	case c.size == 4:
		c.truncate(r, a)
	default:
		c.registers(map0F|with66|wide|0x7a, r, 0, a, predicate{})
		k := c.temporaryMask()
		c.compare(k, 29, a, c.constantRegister(c.bits(1<<63)))
		c.move(r, c.constantRegister(math.MaxInt64), predicate{register: k})
		c.compare(k, unordered, a, a)
		c.move(r, c.constantRegister(0), predicate{register: k})
	}
}

// convertOdd cuts off the integer's last bits, and sets the last remaining one if any of them was set.
func (c *compiler) convertOdd(s *Step, r, a int) {
	there, back := map0F|0x5b, map0F|withF3|0x5b
	if signless(s.From) {
		there, back = map0F|withF2|0x7a, map0F|0x78
	}
	t, k := c.temporary(), c.temporaryMask()
	c.registers(there|cutOff, r, 0, a, predicate{})
	c.registers(back, t, 0, r, predicate{})
	c.compareIntegers(k+firstMask, 4, 0, t, a)
	c.registers(map0F|with66|0xeb, r, r, c.constantRegister(twice(1)), predicate{register: k})
}

// narrowOdd stores a 64-bit number as a 32-bit float, rounded as in convertOdd.
func (c *compiler) narrowOdd(s *Step, a int) {
	t, whole, k := c.temporary(), c.temporary(), c.temporaryMask()
	one := c.constantRegister(twice(1))
	switch {
	case s.From.IsFloat():
		c.registers(map0F|with66|wide|cutOff|0x5a, t, 0, a, predicate{})
		c.registers(map0F|0x5a, whole, 0, t, predicate{})
		c.compare(k, 4, whole, a)
	case signless(s.From):
		c.registers(map0F|withF2|wide|cutOff|0x7a, t, 0, a, predicate{})
		c.registers(map0F|with66|0x78, whole, 0, t, predicate{})
		c.compareIntegers(k+firstMask, 4, 0, whole, a)
	default:
		c.registers(map0F|wide|cutOff|0x5b, t, 0, a, predicate{})
		c.registers(map0F|with66|0x7a, whole, 0, t, predicate{})
		c.compareIntegers(k+firstMask, 4, 0, whole, a)
	}
	c.registers(map0F|with66|middle|0xeb, t, t, one, predicate{register: k})
	c.memory(map0F|middle|0x11, t, 0, c.elements(s.Dst, 4), c.under(false))
}

// narrow stores the conversion of an operand to a smaller type. Register a holds the operand if it has the elements'
// size.
func (c *compiler) narrow(s *Step, a int) {
	t, to := c.temporary(), c.elements
	a = c.widened(s, a)
	if s.To == ir.Float32 { // of 64 bits
		switch {
		case s.From.IsFloat():
			c.registers(map0F|with66|wide|0x5a, t, 0, a, predicate{})
		case signless(s.From):
			c.registers(map0F|withF2|wide|0x7a, t, 0, a, predicate{})
		default:
			c.registers(map0F|wide|0x5b, t, 0, a, predicate{})
		}
		c.memory(map0F|middle|0x11, t, 0, to(s.Dst, 4), c.under(false))
		return
	}
	how := instruction(0x30) // keeps the lowest bits
	if s.From.IsFloat() {
		c.convertWide(s, t, a)
		a, how = t, 0x20 // saturates
		if signless(s.To) {
			how = 0x10
		}
	}
	c.memory(map0F38|withF3|(how+c.width(s.To)), a, 0, to(s.Dst, s.To.Size()), c.under(false))
}
