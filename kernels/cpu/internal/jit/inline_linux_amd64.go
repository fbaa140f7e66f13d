package jit

import "slices"

// inline is a function that is written into the loop: the AVX-512 instructions of package vec, for one vector. Its
// values are slots; the fields say how many slots hold vectors and masks at a time.
type inline struct {
	vectors, masks uint8
	operands       uint8
	result         uint8 // the slot
	steps          []inlineStep
}

// inlineStep is the instruction dst = a op b.
type inlineStep struct {
	code     instruction
	dst      uint8
	a, b     uint8
	mask     uint8 // 1 + the slot of the mask, or 0 for all elements
	zero     bool  // the other elements become 0
	kind     uint8
	number   uint8
	constant uint32
}

// Numbers of slots with another meaning.
const (
	noSlot       = 255
	constantSlot = 254
	operandSlot  = 250 // the first of the function's operands
)

// The kinds of instructions.
const (
	numbered  = 1 << iota // a number follows the instruction
	makesMask             // dst is a mask
	shifts                // dst takes the place of a, and a number that of dst
	whole                 // reads one number for all elements, which its encoding does not say
	looksUp               // the constant is the index of a table
)

// function emits the instructions of a function on registers.
func (c *compiler) function(f *inline, r int, in [3]int) {
	var vectors, masks [16]int
	for i := range f.vectors {
		if vectors[i] = r; i != f.result {
			vectors[i] = c.temporary()
		}
	}
	for i := range f.masks {
		masks[i] = c.temporaryMask()
	}
	register := func(slot uint8) int {
		switch {
		case slot == noSlot:
			return 0
		case slot >= operandSlot:
			return in[slot-operandSlot]
		}
		return vectors[slot]
	}
	for i := range f.steps {
		s := &f.steps[i]
		dst, p := int(s.dst), predicate{zero: s.zero}
		if s.mask != 0 {
			p.register = masks[s.mask-1]
		}
		switch {
		case s.kind&makesMask != 0:
			dst = masks[s.dst]
		case s.kind&shifts == 0:
			dst = vectors[s.dst]
		}
		if s.b == constantSlot {
			c.withWord(s, dst, register(s.a), p)
		} else {
			c.registers(s.code, dst, register(s.a), register(s.b), p)
		}
		if s.kind&(numbered|shifts) != 0 {
			c.bytes(s.number)
		}
	}
}

// table returns the place of a table.
func (c *compiler) table(number uint32) place {
	i := slices.Index(c.tables, number)
	if i < 0 {
		i = len(c.tables)
		c.tables = append(c.tables, number)
	}
	return place{base: none, constant: i, table: true}
}

// withWord emits an instruction on a constant.
func (c *compiler) withWord(s *inlineStep, dst, a int, p predicate) {
	if s.kind&looksUp != 0 {
		c.memory(s.code, dst, a, c.table(s.constant), p)
		return
	}
	i := slices.Index(c.words, s.constant)
	if i < 0 {
		i = len(c.words)
		c.words = append(c.words, s.constant)
	}
	m, code := place{base: none, constant: i, word: true}, s.code
	if s.kind&numbered != 0 {
		m.behind = 1
	}
	if s.kind&whole == 0 {
		code |= ofOne
	}
	c.memory(code, dst, a, m, p)
}
