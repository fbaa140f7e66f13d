package jit

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Operations on AVX2. It lacks some instructions of AVX-512, on 64-bit and unsigned integers; these are built from
// others.

// Has reports whether there is code for an operation.
func Has(op vec.ChainOp) bool { return op <= Rsqrt || isa.Active().Has(isa.Vectors512) }

// lacks reports whether AVX2 has no instruction for an operation on 64-bit integers, unlike AVX-512.
func lacks(op vec.ChainOp) bool {
	switch op {
	case vec.ChainMulInt, vec.ChainMaxInt, vec.ChainMinInt, MaxUint, MinUint, ShiftRightInt:
		return true
	}
	return false
}

// blend selects yes where the mask is set, and no elsewhere.
//
//go:noinline
func (c *compiler) blend(r, no, yes, where int) {
	code := c.sized(map0F3A|with66|0x4a, map0F3A|with66|0x4b)
	if c.size < 4 {
		code = map0F3A | with66 | 0x4c
	}
	c.immediate(code, r, no, yes, byte(where<<4))
}

// flip sets r to the opposite of a.
//
//go:noinline
func (c *compiler) flip(r, a int) { c.op(xorBits, r, a, c.constantRegister(math.MaxUint64)) }

// more sets r to the mask of a > b, for signed integers.
//
//go:noinline
func (c *compiler) more(r, a, b int) {
	code := c.sized(map0F|with66|0x66, map0F38|with66|0x37)
	if c.size < 4 {
		code = map0F | with66 | (0x63 + instruction(c.size))
	}
	c.op(code, r, a, b)
}

// compareIntegersAVX2 sets r to the mask of a comparison of integers.
func (c *compiler) compareIntegersAVX2(r int, predicateOf byte, without bool, a, b int) {
	if without {
		x, y, sign := c.temporary(), c.temporary(), c.constantRegister(c.signBit())
		c.op(xorBits, x, a, sign)
		c.op(xorBits, y, b, sign)
		a, b = x, y
	}
	switch predicateOf {
	case 0, 4:
		code := c.sized(map0F|with66|0x76, map0F38|with66|0x29)
		if c.size < 4 {
			code = map0F | with66 | (0x73 + instruction(c.size))
		}
		c.op(code, r, a, b)
	case 1, 5:
		c.more(r, b, a)
	default:
		c.more(r, a, b)
	}
	if predicateOf == 4 || predicateOf == 2 || predicateOf == 5 {
		c.flip(r, r)
	}
}

// computeAVX2 is compute.
func (c *compiler) computeAVX2(s *Step, r int, in [3]int) {
	op, a, b := s.Op, in[0], in[1]
	switch f := &forms[op]; {
	case c.size < 4 && c.computeSmall(s, r, in):
		return
	case f.how == plain && !(c.size == 8 && lacks(op)):
		c.op(c.sized(f.code[0], f.code[1]), r, a, b)
		return
	case f.how == compares:
		c.compare(r, byte(f.code[0]), a, b)
		return
	case f.how == comparesIntegers:
		c.compareIntegersAVX2(r, byte(f.code[0]), f.code[1] == unsigned, a, b)
		return
	}
	switch op {
	case vec.ChainLoad:
		c.move(r, a, predicate{})
	case vec.ChainMax, vec.ChainMin:
		c.extremeAVX2(op == vec.ChainMin, r, a, b)
	case vec.ChainMaxNumber, vec.ChainMinNumber:
		c.extremeAVX2(op == vec.ChainMinNumber, r, b, a)
	case Convert:
		c.convertAVX2(s, r, a)
	case ConvertOdd:
		c.convertOddAVX2(s, r, a)
	case DivInt, RemInt, DivUint, RemUint:
		if c.size == 8 {
			c.divideLongsAVX2(op, r, a, b)
			return
		}
		c.divideAVX2(op, r, a, b)
	case vec.ChainChoose, ChooseBytes:
		c.blend(r, in[2], b, a)
	case vec.ChainShare:
		c.shareAVX2(r, in)
	case vec.ChainKeepPositive:
		c.compare(r, greater, b, c.constantRegister(0))
		c.op(andBits, r, r, a)
	case vec.ChainFinite:
		t := c.temporary()
		c.op(andBits, t, a, c.constantRegister(^c.signBit()))
		c.compare(r, less, t, c.constantRegister(c.bits(math.Inf(1))))
	case vec.ChainMulInt:
		c.multiplyAVX2(r, a, b)
	case vec.ChainMaxInt, vec.ChainMinInt, MaxUint, MinUint:
		k := c.temporary()
		c.compareIntegersAVX2(k, 6, op == MaxUint || op == MinUint, a, b)
		if op == vec.ChainMinInt || op == MinUint {
			a, b = b, a
		}
		c.blend(r, b, a, k)
	case ShiftRightInt: // the bits of negative numbers are flipped before and after
		sign := c.temporary()
		c.more(sign, c.constantRegister(0), a)
		c.op(xorBits, r, a, sign)
		c.op(forms[ShiftRightUint].code[1], r, r, b)
		c.op(xorBits, r, r, sign)
	default:
		c.computeMasksAVX2(s, r, a, b)
	}
}

// computeMasksAVX2 is compute for operations on masks, which are vectors.
func (c *compiler) computeMasksAVX2(s *Step, r, a, b int) {
	switch s.Op {
	case vec.ChainAndBytes:
		c.op(andBits, r, a, b)
	case vec.ChainOrBytes:
		c.op(orBits, r, a, b)
	case vec.ChainXorBytes:
		c.op(xorBits, r, a, b)
	case vec.ChainSameBytes:
		c.op(xorBits, r, a, b)
		c.flip(r, r)
	case LessBytes:
		c.op(andNot, r, a, b)
	case GreaterBytes:
		c.op(andNot, r, b, a)
	case LessEqualBytes:
		c.op(andNot, r, b, a)
		c.flip(r, r)
	case GreaterEqualBytes:
		c.op(andNot, r, a, b)
		c.flip(r, r)
	case vec.ChainNotHeld, NotInt:
		c.flip(r, a)
	case vec.ChainLoadBytes:
		c.op(andBits, r, a, c.constantRegister(c.bits(1)))
	case vec.ChainLoadByteInts:
		c.op(andBits, r, a, c.constantRegister(twice(1)))
	default:
		c.computeOneAVX2(s, r, a)
	}
}

// computeOneAVX2 is compute for other operations on one operand.
func (c *compiler) computeOneAVX2(s *Step, r, a int) {
	switch s.Op {
	case vec.ChainNegInt:
		c.op(forms[vec.ChainSubInt].code[c.size/8], r, c.constantRegister(0), a)
	case vec.ChainAbsInt:
		if c.size == 4 {
			c.op(map0F38|with66|0x1e, r, 0, a)
			return
		}
		k := c.temporary()
		c.more(k, c.constantRegister(0), a)
		c.op(xorBits, r, a, k)
		c.op(map0F|with66|0xfb, r, r, k)
	case ReluInt:
		c.more(r, a, c.constantRegister(0))
		c.op(andBits, r, r, a)
	case SignInt: // masks are −1
		k, zero := c.temporary(), c.constantRegister(0)
		c.more(k, a, zero)
		c.more(r, zero, a)
		c.op(forms[vec.ChainSubInt].code[c.size/8], r, r, k)
	case SignUint:
		c.compareIntegersAVX2(r, 4, false, a, c.constantRegister(0))
		c.op(andBits, r, r, c.constantRegister(c.wholeOne()))
	case vec.ChainSign:
		c.signAVX2(r, a)
	case Rsqrt:
		c.op(c.float(0x51), r, 0, a)
		c.op(c.float(0x5e), r, c.constantRegister(c.bits(1)), r)
	case vec.ChainFloatToInt:
		c.truncateAVX2(r, a)
	case vec.ChainLoadBF16:
		c.widen(map0F38|with66|0x33, r, s.In[0], 2)
		c.shiftElements(true, 0, r, r, 16)
	case vec.ChainLoadF16:
		c.widen(map0F38|with66|0x13, r, s.In[0], 2)
	case vec.ChainRoundBF16:
		if c.isRounded(s) {
			c.move(r, a, predicate{})
			return
		}
		c.roundBF16AVX2(r, a)
		c.op(andBits, r, r, c.constantRegister(twice(0xffff0000)))
	default: // the same instruction in the other encoding
		c.computeOne(s, r, a)
	}
}

func (c *compiler) extremeAVX2(smaller bool, r, a, b int) {
	opcode := instruction(0x5f)
	if smaller {
		opcode = 0x5d
	}
	c.op(c.float(opcode), r, a, b)
	k := c.compare(c.temporary(), unordered, a, a)
	c.blend(r, r, a, k)
}

func (c *compiler) shareAVX2(r int, in [3]int) {
	k := c.temporary()
	c.op(c.float(0x59), r, c.constantRegister(c.bits(0.5)), in[0])
	c.compare(k, 0, in[1], in[2])
	c.op(andBits, r, r, k)
	c.compare(k, greater, in[1], in[2])
	c.blend(r, r, in[0], k)
}

func (c *compiler) signAVX2(r, a int) {
	one, minus, zero, k := c.constantRegister(c.bits(1)), c.constantRegister(c.bits(-1)), c.constantRegister(0), c.temporary()
	from := a
	if c.size == 4 {
		c.op(c.float(0x59), r, a, one)
		from = r
	}
	c.compare(k, greater, a, zero)
	c.blend(r, from, one, k)
	c.compare(k, less, a, zero)
	c.blend(r, r, minus, k)
}

func (c *compiler) truncateAVX2(r, a int) {
	c.op(map0F|withF3|0x5b, r, 0, a)
	k := c.compare(c.temporary(), greater, a, c.constantRegister(c.bits(2147483520)))
	c.blend(r, r, c.constantRegister(twice(0x7fffffff)), k)
	c.compare(k, ordered, a, a)
	c.op(andBits, r, r, k)
}

// roundBF16AVX2 rounds a to bfloat16 in the upper half of each element of r.
func (c *compiler) roundBF16AVX2(r, a int) {
	quiet, nan := c.temporary(), c.temporary()
	c.op(orBits, quiet, a, c.constantRegister(twice(0x400000)))
	c.compare(nan, unordered, a, a)
	c.shiftElements(true, 0, r, a, 15)
	c.shiftElements(false, 0, r, r, 31)
	c.op(map0F|with66|0xfe, r, r, a)
	c.op(map0F|with66|0xfe, r, r, c.constantRegister(twice(0x7fff)))
	c.blend(r, r, quiet, nan)
}

// multiplyAVX2 multiplies 64-bit integers: it adds the products of halves that matter.
func (c *compiler) multiplyAVX2(r, a, b int) { c.multiplyWith(c.temporary(), r, a, b) }

// multiplyWith is multiplyAVX2 with a temporary register.
func (c *compiler) multiplyWith(t, r, a, b int) {
	c.immediate(map0F|with66|0x70, t, 0, b, 0xb1) // the other half
	c.op(map0F38|with66|0x40, t, a, t)
	c.shiftElements(false, wide, r, t, 32)
	c.op(map0F|with66|0xfe, t, t, r)
	c.shiftElements(true, wide, t, t, 32)
	c.op(map0F|with66|0xf4, r, a, b)
	c.op(map0F|with66|0xd4, r, r, t)
}

// divideAVX2 is divide, four quotients at a time.
func (c *compiler) divideAVX2(op vec.ChainOp, r, a, b int) {
	signless := op >= DivUint
	quotient, x, y := c.temporary(), c.temporary(), c.temporary()
	for half := range 2 {
		from, by := a, b
		if half == 1 {
			c.immediate(extractHalf, a, 0, x, 1)
			c.immediate(extractHalf, b, 0, y, 1)
			from, by = x, y
		}
		c.doublesOfLongs(x, from, signless)
		c.doublesOfLongs(y, by, signless)
		c.op(map0F|with66|0x5e, x, x, y)
		if !signless {
			c.op(map0F|with66|0xe6, x, 0, x)
		} else {
			c.immediate(map0F3A|with66|0x09, x, 0, x, 3|8)
			c.op(map0F|with66|0x58, x, x, c.doubleConstant(wholeDouble)) // the lowest bits of the sum are the integer
			c.immediate(extractHalf, x, 0, scratchAVX2, 1)
			c.immediate(map0F|short|0xc6, x, x, scratchAVX2, 0x88)
		}
		if half == 0 {
			c.op(map0F|0x28, quotient, 0, x)
		}
	}
	c.immediate(map0F3A|with66|0x38, r, quotient, x, 1)
	if op == RemInt || op == RemUint {
		c.op(map0F38|with66|0x40, r, r, b)
		c.op(map0F|with66|0xfa, r, a, r)
	}
	c.op(map0F|with66|0x76, x, b, c.constantRegister(0))
	c.op(andNot, r, x, r)
}

// wholeDouble is 2⁵²: after an integer is added, the lowest bits hold it.
const wholeDouble = 0x4330000000000000

// doubleConstant loads a 64-bit constant into the scratch register, whatever the elements' size, and returns the
// register.
//
//go:noinline
func (c *compiler) doubleConstant(bits uint64) int {
	c.memory(map0F38|with66|0x19, scratchAVX2, 0, place{base: none, constant: c.constant(bits)}, predicate{})
	return scratchAVX2
}

// doublesOfLongs converts four 32-bit integers to 64-bit floats.
func (c *compiler) doublesOfLongs(r, a int, signless bool) {
	if !signless {
		c.op(map0F|withF3|0xe6, r, 0, a)
		return
	}
	c.op(map0F38|with66|0x35, r, 0, a)
	whole := c.doubleConstant(wholeDouble)
	c.op(orBits, r, r, whole)
	c.op(map0F|with66|0x5c, r, r, whole)
}
