package jit

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// float returns the form of a float instruction for the elements' size.
//
//go:noinline
func (c *compiler) float(opcode instruction) instruction {
	return c.sized(map0F|opcode, map0F|with66|wide|opcode)
}

// form is how an operation is computed: by one vector instruction, for elements of 4 and of 8 bytes; by a comparison of
// floats or integers with a predicate; by an instruction on masks; or in a way of its own.
type form struct {
	how  uint8
	code [2]instruction
}

const (
	otherwise = iota
	plain
	compares
	comparesIntegers
	onMasks
)

var forms = [operations]form{
	vec.ChainAdd: {plain, [2]instruction{map0F | 0x58, map0F | with66 | wide | 0x58}},
	vec.ChainSub: {plain, [2]instruction{map0F | 0x5c, map0F | with66 | wide | 0x5c}},
	vec.ChainMul: {plain, [2]instruction{map0F | 0x59, map0F | with66 | wide | 0x59}},
	vec.ChainDiv: {plain, [2]instruction{map0F | 0x5e, map0F | with66 | wide | 0x5e}},

	vec.ChainAddNumber: {plain, [2]instruction{map0F | 0x58, map0F | with66 | wide | 0x58}},
	vec.ChainSubNumber: {plain, [2]instruction{map0F | 0x5c, map0F | with66 | wide | 0x5c}},
	vec.ChainMulNumber: {plain, [2]instruction{map0F | 0x59, map0F | with66 | wide | 0x59}},

	vec.ChainAddInt: {plain, [2]instruction{map0F | with66 | 0xfe, map0F | with66 | wide | 0xd4}},
	vec.ChainSubInt: {plain, [2]instruction{map0F | with66 | 0xfa, map0F | with66 | wide | 0xfb}},
	vec.ChainMulInt: {plain, [2]instruction{map0F38 | with66 | 0x40, map0F38 | with66 | wide | 0x40}},
	vec.ChainMaxInt: {plain, [2]instruction{map0F38 | with66 | 0x3d, map0F38 | with66 | wide | 0x3d}},
	vec.ChainMinInt: {plain, [2]instruction{map0F38 | with66 | 0x39, map0F38 | with66 | wide | 0x39}},
	MaxUint:         {plain, [2]instruction{map0F38 | with66 | 0x3f, map0F38 | with66 | wide | 0x3f}},
	MinUint:         {plain, [2]instruction{map0F38 | with66 | 0x3b, map0F38 | with66 | wide | 0x3b}},
	vec.ChainAnd:    {plain, [2]instruction{map0F | with66 | 0xdb, map0F | with66 | wide | 0xdb}},
	vec.ChainOr:     {plain, [2]instruction{map0F | with66 | 0xeb, map0F | with66 | wide | 0xeb}},
	vec.ChainXor:    {plain, [2]instruction{map0F | with66 | 0xef, map0F | with66 | wide | 0xef}},

	ShiftLeft:      {plain, [2]instruction{map0F38 | with66 | 0x47, map0F38 | with66 | wide | 0x47}},
	ShiftRightInt:  {plain, [2]instruction{map0F38 | with66 | 0x46, map0F38 | with66 | wide | 0x46}},
	ShiftRightUint: {plain, [2]instruction{map0F38 | with66 | 0x45, map0F38 | with66 | wide | 0x45}},

	vec.ChainEqual: {compares, [2]instruction{0}}, vec.ChainNotEqual: {compares, [2]instruction{4}}, vec.ChainLess: {compares, [2]instruction{less}},
	vec.ChainLessEqual: {compares, [2]instruction{18}}, vec.ChainGreater: {compares, [2]instruction{greater}},
	vec.ChainGreaterEqual: {compares, [2]instruction{29}},
	vec.ChainEqualInt:     {comparesIntegers, [2]instruction{0}}, vec.ChainNotEqualInt: {comparesIntegers, [2]instruction{4}},
	vec.ChainLessInt: {comparesIntegers, [2]instruction{1}}, vec.ChainLessEqualInt: {comparesIntegers, [2]instruction{2}},
	vec.ChainGreaterInt: {comparesIntegers, [2]instruction{6}}, vec.ChainGreaterEqualInt: {comparesIntegers, [2]instruction{5}},

	LessUint: {comparesIntegers, [2]instruction{1, unsigned}}, LessEqualUint: {comparesIntegers, [2]instruction{2, unsigned}},
	GreaterUint: {comparesIntegers, [2]instruction{6, unsigned}}, GreaterEqualUint: {comparesIntegers, [2]instruction{5, unsigned}},

	LessBytes: {onMasks, [2]instruction{0x42}},

	vec.ChainAndBytes: {onMasks, [2]instruction{0x41}}, vec.ChainOrBytes: {onMasks, [2]instruction{0x45}},
	vec.ChainXorBytes: {onMasks, [2]instruction{0x47}}, vec.ChainSameBytes: {onMasks, [2]instruction{0x46}},
}

// unsigned makes an integer comparison unsigned.
const unsigned = 1

// Predicates of comparisons.
const (
	unordered = 3
	ordered   = 7
	less      = 17
	greater   = 30
)

// bits returns the bits of a constant, repeated for elements of 4 bytes.
func (c *compiler) bits(v float64) uint64 {
	if c.size == 8 {
		return math.Float64bits(v)
	}
	return twice(math.Float32bits(float32(v)))
}

func twice(bits uint32) uint64 { return uint64(bits)<<32 | uint64(bits) }

func (c *compiler) signBit() uint64 {
	switch c.size {
	case 1:
		return 0x8080808080808080
	case 2:
		return 0x8000800080008000
	case 8:
		return 1 << 63
	}
	return twice(1 << 31)
}

// constantsOf lists the constants of an operation.
func (c *compiler) constantsOf(s *Step) []uint64 {
	switch s.Op {
	case vec.ChainNeg:
		return []uint64{c.signBit()}
	case vec.ChainAbs:
		return []uint64{^c.signBit()}
	case vec.ChainRelu, vec.ChainNegInt, vec.ChainKeepPositive, DivInt, RemInt, DivUint, RemUint, ReluInt:
		return []uint64{0}
	case SignInt, SignUint, NotInt:
		return []uint64{math.MaxUint64, c.wholeOne()}
	case vec.ChainSign:
		return []uint64{0, c.bits(1), c.bits(-1)}
	case vec.ChainShare:
		return []uint64{c.bits(0.5)}
	case vec.ChainFinite:
		return []uint64{^c.signBit(), c.bits(math.Inf(1))}
	case vec.ChainLoadBytes:
		return []uint64{c.bits(1)}
	case vec.ChainLoadByteInts:
		return []uint64{twice(1)}
	case vec.ChainRoundBF16:
		switch {
		case c.isRounded(s), c.roundsByInstruction(s) && c.isNormal(s):
			return nil
		case c.roundsByInstruction(s):
			return []uint64{twice(0x400000), twice(0x7fff), twice(0x7fffff), twice(0x7f800000)}
		}
		return []uint64{twice(0x400000), twice(0x7fff), twice(0xffff0000)}
	case Convert:
		return c.constantsOfConversion(s)
	case ConvertOdd:
		return []uint64{twice(1)}
	case Lookup:
		return []uint64{twice(s.Lookup.Last), 0}
	case vec.ChainSqrt, Rsqrt:
		return c.constantsOfRoot(s)
	case vec.ChainFloatToInt:
		return c.truncateConstants()
	}
	return nil
}

func (c *compiler) truncateConstants() []uint64 {
	return []uint64{c.bits(2147483520), twice(0x7fffffff), 0}
}

// move sets a register where the mask is set, or as a whole without a mask.
//
//go:noinline
func (c *compiler) move(to, from int, p predicate) {
	code := c.float(0x28)
	if c.size < 4 && p.register != 0 {
		code = c.moving()
	}
	c.registers(code, to, 0, from, p)
}

// compare returns the mask of a comparison of floats.
//
//go:noinline
func (c *compiler) compare(k int, predicateOf byte, a, b int) int {
	c.registers(c.float(0xc2), k, a, b, predicate{})
	c.bytes(predicateOf)
	return k
}

// compareIntegers sets a mask to the result of a comparison of integers.
func (c *compiler) compareIntegers(r int, predicateOf byte, without instruction, a, b int) {
	code := c.sized(map0F3A|with66|0x1f, map0F3A|with66|wide|0x1f)
	if c.size < 4 {
		code = map0F3A | with66 | c.wordWidth() | 0x3f
	}
	c.immediate(code-without, r-firstMask, a, b, predicateOf)
}

// immediate emits an instruction followed by a number.
//
//go:noinline
func (c *compiler) immediate(i instruction, reg, v, rm int, number byte) {
	c.registers(i, reg, v, rm, predicate{})
	c.bytes(number)
}

// compute emits a step whose result goes to register r and whose operands are in registers.
func (c *compiler) compute(s *Step, r int, in [3]int) {
	op, a, b := s.Op, in[0], in[1]
	if op >= firstFunction {
		c.functionOf(op, r, in)
		return
	}
	switch f := &forms[op]; {
	case c.size < 4 && c.computeSmall(s, r, in):
		return
	case f.how == plain:
		c.registers(c.sized(f.code[0], f.code[1]), r, a, b, predicate{})
		return
	case f.how == compares:
		c.compare(r-firstMask, byte(f.code[0]), a, b)
		return
	case f.how == comparesIntegers:
		c.compareIntegers(r, byte(f.code[0]), f.code[1], a, b)
		return
	case f.how == onMasks:
		c.masks(byte(f.code[0]), r-firstMask, a-firstMask, b-firstMask)
		return
	}
	switch op {
	case vec.ChainLoad:
		c.move(r, a, predicate{})
	case vec.ChainMax, vec.ChainMin:
		c.extreme(op == vec.ChainMin, r, a, b)
	case vec.ChainMaxNumber, vec.ChainMinNumber:
		c.extreme(op == vec.ChainMinNumber, r, b, a) // of equal operands, it returns the other one
	case Convert:
		c.convert(s, r, a)
	case ConvertOdd:
		c.convertOdd(s, r, a)
	case GreaterBytes:
		c.masks(0x42, r-firstMask, b-firstMask, a-firstMask)
	case LessEqualBytes, GreaterEqualBytes: // the negation of the opposite comparison
		if op == LessEqualBytes {
			a, b = b, a
		}
		c.masks(0x42, r-firstMask, a-firstMask, b-firstMask)
		c.masks(0x44, r-firstMask, 0, r-firstMask)
	case DivInt, RemInt, DivUint, RemUint:
		if c.size == 8 {
			c.divideLongs(op, r, a, b)
			return
		}
		c.divide(op, r, a, b)
	case ChooseBytes:
		k := c.temporaryMask()
		c.masks(0x41, k, a-firstMask, b-firstMask)
		c.masks(0x42, r-firstMask, a-firstMask, in[2]-firstMask)
		c.masks(0x45, r-firstMask, r-firstMask, k)
	case vec.ChainNotHeld:
		c.masks(0x44, r-firstMask, 0, a-firstMask)
	case vec.ChainChoose: // takes the second operand where the mask is set, else the third
		c.registers(c.sized(map0F38|with66|0x65, map0F38|with66|wide|0x65), r, in[2], b, predicate{register: a - firstMask})
	case vec.ChainShare:
		c.share(r, in)
	case vec.ChainKeepPositive:
		k := c.compare(c.temporaryMask(), greater, b, c.constantRegister(0))
		c.move(r, a, predicate{k, true})
	case vec.ChainFinite:
		t := c.temporary()
		c.registers(map0F|with66|0xdb, t, a, c.constantRegister(^c.signBit()), predicate{})
		c.compare(r-firstMask, less, t, c.constantRegister(c.bits(math.Inf(1))))
	default:
		c.computeOne(s, r, a)
	}
}

// computeOne is compute for other operations on one operand.
func (c *compiler) computeOne(s *Step, r, a int) {
	round := func(how byte) {
		c.immediate(c.sized(map0F3A|with66|0x08, map0F3A|with66|wide|0x09), r, 0, a, how|8)
	}
	switch s.Op {
	case vec.ChainNeg:
		c.registers(map0F|with66|0xef, r, a, c.constantRegister(c.signBit()), predicate{})
	case vec.ChainAbs:
		c.registers(map0F|with66|0xdb, r, a, c.constantRegister(^c.signBit()), predicate{})
	case vec.ChainRelu:
		c.registers(c.float(0x5f), r, c.constantRegister(0), a, predicate{})
	case vec.ChainSqrt:
		if c.roots {
			c.root(r, a)
			return
		}
		c.registers(c.float(0x51), r, 0, a, predicate{})
	case vec.ChainRound:
		round(0)
	case vec.ChainFloor:
		round(1)
	case vec.ChainCeil:
		round(2)
	case vec.ChainSign:
		c.sign(r, a)
	case vec.ChainNegInt:
		c.registers(c.sized(map0F|with66|0xfa, map0F|with66|wide|0xfb), r, c.constantRegister(0), a, predicate{})
	case vec.ChainAbsInt:
		c.registers(c.sized(map0F38|with66|0x1e, map0F38|with66|wide|0x1f), r, 0, a, predicate{})
	case ReluInt:
		c.atLeast(r, a, 0)
	case SignInt:
		c.atLeast(r, a, math.MaxUint64)
		c.registers(c.sized(map0F38|with66|0x39, map0F38|with66|wide|0x39), r, r, c.constantRegister(c.wholeOne()), predicate{})
	case SignUint:
		c.registers(c.sized(map0F38|with66|0x3b, map0F38|with66|wide|0x3b), r, a, c.constantRegister(c.wholeOne()), predicate{})
	case NotInt:
		c.registers(map0F|with66|0xef, r, a, c.constantRegister(math.MaxUint64), predicate{})
	case vec.ChainIntToFloat:
		c.registers(map0F|0x5b, r, 0, a, predicate{})
	case vec.ChainFloatToInt:
		c.truncate(r, a)
	case vec.ChainLoadBytes:
		c.move(r, c.constantRegister(c.bits(1)), predicate{a - firstMask, true})
	case vec.ChainLoadByteInts:
		c.move(r, c.constantRegister(twice(1)), predicate{a - firstMask, true})
	case Lookup:
		c.lookup(s, r, a)
	default:
		c.computeHalf(s, r, a)
	}
}

// atLeast sets r to the larger of a signed integer and a constant.
func (c *compiler) atLeast(r, a int, bits uint64) {
	c.registers(c.sized(map0F38|with66|0x3d, map0F38|with66|wide|0x3d), r, a, c.constantRegister(bits), predicate{})
}

// wholeOne returns the bits of the integer 1 in the elements' size.
func (c *compiler) wholeOne() uint64 {
	switch c.size {
	case 1:
		return 0x0101010101010101
	case 2:
		return 0x0001000100010001
	case 8:
		return 1
	}
	return twice(1)
}

// extreme sets r to the larger or smaller of a and b: to b if they are equal, to NaN if one is NaN.
func (c *compiler) extreme(smaller bool, r, a, b int) {
	opcode := instruction(0x5f)
	if smaller {
		opcode = 0x5d
	}
	c.registers(c.float(opcode), r, a, b, predicate{})
	k := c.compare(c.temporaryMask(), unordered, a, a)
	c.move(r, a, predicate{register: k})
}

func (c *compiler) share(r int, in [3]int) {
	k, t := c.temporaryMask(), c.temporary()
	c.registers(c.float(0x59), t, c.constantRegister(c.bits(0.5)), in[0], predicate{})
	c.compare(k, 0, in[1], in[2])
	c.move(r, t, predicate{k, true})
	c.compare(k, greater, in[1], in[2])
	c.move(r, in[0], predicate{register: k})
}

// sign sets r to 1 or -1 for numbers with a sign, else to a, which is a zero or NaN.
func (c *compiler) sign(r, a int) {
	one, minus, zero := c.constantRegister(c.bits(1)), c.constantRegister(c.bits(-1)), c.constantRegister(0)
	if c.size == 4 {
		c.registers(c.float(0x59), r, a, one, predicate{}) // turns denormals into zeros where these are flushed
	} else {
		c.move(r, a, predicate{})
	}
	k := c.temporaryMask()
	c.compare(k, greater, a, zero)
	c.move(r, one, predicate{register: k})
	c.compare(k, less, a, zero)
	c.move(r, minus, predicate{register: k})
}

// truncate converts floats to integers: it saturates, and NaN becomes 0.
func (c *compiler) truncate(r, a int) {
	c.registers(map0F|withF3|0x5b, r, 0, a, predicate{})
	k := c.temporaryMask()
	c.compare(k, greater, a, c.constantRegister(c.bits(2147483520)))
	c.move(r, c.constantRegister(twice(0x7fffffff)), predicate{register: k})
	c.compare(k, unordered, a, a)
	c.move(r, c.constantRegister(0), predicate{register: k})
}
