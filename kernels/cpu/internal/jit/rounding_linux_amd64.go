package jit

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Rounding to 16 bits. Values are float32 in registers. Where nothing reads a rounded value, it is rounded and stored
// in one step.

// roundedWhenStored reports whether step i rounds to 16 bits and only the next step uses the result, to store it. Then
// one instruction rounds and stores.
func (c *compiler) roundedWhenStored(i int) bool {
	if i+1 >= len(c.steps) {
		return false
	}
	s, store := &c.steps[i], &c.steps[i+1]
	if s.Stored || store.In[0] != s.Dst || s.In[0] != s.Dst {
		return false
	}
	switch s.Op {
	case vec.ChainRoundF16:
		if store.Op != vec.ChainStoreF16 {
			return false
		}
	case vec.ChainRoundBF16:
		if store.Op != vec.ChainStoreBF16 || c.isRounded(s) || !c.avx2 && !c.roundsByInstruction(s) {
			return false
		}
	default:
		return false
	}
	step := c.step
	c.step = i + 2
	last := c.nextUse(int(s.Dst)) == len(c.steps)
	c.step = step
	return last
}

// storedWhenRounded reports whether step i rounds to bfloat16 by instruction, the next step stores the result, and
// others read it. Then it is stored before it is widened again.
func (c *compiler) storedWhenRounded(i int) bool {
	if c.avx2 || i+1 >= len(c.steps) {
		return false
	}
	s, store := &c.steps[i], &c.steps[i+1]
	return s.Op == vec.ChainRoundBF16 && store.Op == vec.ChainStoreBF16 && store.In[0] == s.Dst && c.roundsByInstruction(s) && !c.roundedWhenStored(i)
}

// computeHalf is compute for steps that read and round 16-bit floats.
func (c *compiler) computeHalf(s *Step, r, a int) {
	shift := func(how, r, a int, by byte) { // the operation is encoded in place of a register
		c.immediate(map0F|with66|0x72, how, r, a, by)
	}
	if c.isRounded(s) {
		c.move(r, a, predicate{})
		return
	}
	switch s.Op {
	case vec.ChainLoadBF16:
		c.memory(map0F38|with66|0x33, r, 0, c.elements(s.In[0], 2), c.under(true))
		shift(6, r, r, 16)
	case vec.ChainLoadF16:
		c.memory(map0F38|with66|0x13, r, 0, c.elements(s.In[0], 2), c.under(true))
	case vec.ChainRoundF16:
		t := c.temporary()
		c.immediate(map0F3A|with66|0x1d, a, 0, t, 0)
		c.registers(map0F38|with66|0x13, r, 0, t, predicate{})
	case vec.ChainRoundBF16:
		if c.roundsByInstruction(s) {
			t := c.rounded(s, a)
			if c.storedWhenRounded(c.step) {
				c.memory(map0F|withF2|wide|middle|0x7f, t, 0, c.elements(c.steps[c.step+1].Dst, 2), c.under(false))
			}
			c.registers(map0F38|with66|0x33, r, 0, t, predicate{})
			shift(6, r, r, 16)
			return
		}
		c.roundByIntegers(r, a, c.temporary(), c.temporary(), c.temporaryMask())
		c.registers(map0F|with66|0xdb, r, r, c.constantRegister(twice(0xffff0000)), predicate{})
	}
}

// roundByIntegers rounds a to bfloat16 in the upper half of each element of r.
func (c *compiler) roundByIntegers(r, a, odd, quiet, nan int) {
	c.registers(map0F|with66|0xeb, quiet, a, c.constantRegister(twice(0x400000)), predicate{})
	c.compare(nan, unordered, a, a)
	c.immediate(map0F|with66|0x72, 6, odd, a, 15) // the last remaining bit, as 0 or 1: ties go to even
	c.immediate(map0F|with66|0x72, 2, odd, odd, 31)
	c.registers(map0F|with66|0xfe, r, a, c.constantRegister(twice(0x7fff)), predicate{})
	c.registers(map0F|with66|0xfe, r, r, odd, predicate{})
	c.move(r, quiet, predicate{register: nan})
}

// rounded returns a register with the bfloat16 numbers that the operand of a rounding becomes. The instruction turns
// denormals into 0, as arithmetic does, too. Values that no arithmetic computed may have some; their vectors are then
// rounded as integers.
func (c *compiler) rounded(s *Step, a int) int {
	t := c.temporary()
	if c.isNormal(s) {
		c.registers(map0F38|withF3|0x72, t, 0, a, predicate{})
		return t
	}
	odd, quiet, k := c.temporary(), c.temporary(), c.temporaryMask()
	for _, bits := range c.constantsOf(s) { // loads those that have no register, before the code divides
		c.constantRegister(bits)
	}
	const test, testNot = map0F38 | with66 | 0x27, map0F38 | withF3 | 0x27
	c.registers(test, k, a, c.constantRegister(twice(0x7fffff)), predicate{})
	c.registers(testNot, k, a, c.constantRegister(twice(0x7f800000)), predicate{register: k})
	c.bytes(0xc5, 0xf8, 0x98, 0xc0|byte(k)<<3|byte(k)) // KORTESTW
	some := c.jump(0x85)
	c.registers(map0F38|withF3|0x72, t, 0, a, predicate{})
	c.bytes(0xe9, 0, 0, 0, 0)
	none := len(c.code)
	c.land(some, len(c.code))
	c.roundByIntegers(t, a, odd, quiet, k)
	c.immediate(map0F|with66|0x72, 2, t, t, 16)
	c.registers(map0F38|withF3|0x33, t, 0, t, predicate{})
	c.land(none, len(c.code))
	return t
}

// roundsByInstruction reports whether an instruction does the step, a rounding to bfloat16.
func (c *compiler) roundsByInstruction(s *Step) bool {
	return isa.Active().Has(isa.AVX512BF16Round) && !c.isRounded(s)
}

// isNormal reports whether no operand of the step is denormal, because arithmetic computed them.
func (c *compiler) isNormal(s *Step) bool {
	var computed [256]bool // by pointer
	for i := range c.steps {
		from := &c.steps[i]
		if from == s {
			break
		}
		computed[from.Dst] = from.isArithmetic() || from.Op == vec.ChainLoad && computed[from.In[0]]
	}
	return computed[s.In[0]]
}

// isRounded reports whether the step, a rounding to 16 bits, finds its operand rounded: it was read from memory in 16
// bits, or rounded before, or selected from such values.
func (c *compiler) isRounded(s *Step) bool {
	if s.Op != vec.ChainRoundBF16 && s.Op != vec.ChainRoundF16 {
		return false
	}
	load := vec.ChainLoadBF16
	if s.Op == vec.ChainRoundF16 {
		load = vec.ChainLoadF16
	}
	var rounded [256]bool // by pointer
	for i := range c.steps {
		from := &c.steps[i]
		if from == s {
			break
		}
		switch in := from.In; from.Op {
		case load, s.Op:
			rounded[from.Dst] = true
		case vec.ChainLoad:
			rounded[from.Dst] = rounded[in[0]]
		case vec.ChainChoose:
			rounded[from.Dst] = rounded[in[1]] && rounded[in[2]]
		default:
			rounded[from.Dst] = false
		}
	}
	return rounded[s.In[0]]
}

// isArithmetic reports whether all results of the step are those of arithmetic, in which denormals are zero.
func (s *Step) isArithmetic() bool {
	switch s.Op {
	case vec.ChainAdd, vec.ChainSub, vec.ChainSubFrom, vec.ChainMul, vec.ChainDiv, vec.ChainDivInto, vec.ChainAddNumber, vec.ChainSubNumber,
		vec.ChainMulNumber, vec.ChainSqrt:
		return true
	}
	return s.Op >= firstFunction && s.Op < Pow || s.Op == GeluGrad || s.Op == CoarseGeluGrad
}

// storeWords stores floats as 16-bit floats.
func (c *compiler) storeWords(s *Step, a int) {
	if s.Op == vec.ChainStoreF16 {
		c.memory(map0F3A|with66|0x1d, a, 0, c.elements(s.Dst, 2), c.under(false))
		c.bytes(0)
		return
	}
	t := c.temporary()
	if c.step > 0 && c.roundedWhenStored(c.step-1) {
		t = c.rounded(&c.steps[c.step-1], a)
		c.memory(map0F|withF2|wide|middle|0x7f, t, 0, c.elements(s.Dst, 2), c.under(false))
		return
	}
	c.immediate(map0F|with66|0x72, 2, t, a, 16)
	c.memory(map0F38|withF3|0x33, t, 0, c.elements(s.Dst, 2), c.under(false))
}
