package jit

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Lookups. Gather instructions read the elements of a vector from anywhere. But AMD's take half as long again as
// reading one element after the other, and Intel's are slow because they do not speculate.

// General registers for positions; programs with lookups use them for no pointer.
const (
	elementRegister = 13
	nextRegister    = 14
)

// failure is a jump that is taken if a position of a vector is not allowed.
type failure struct {
	jump, register int
	table          *Table
	one            bool // the vector has one element
}

// lookup emits a step that reads the elements at the positions in register at. Elements of less than 32 bits are
// packed.
func (c *compiler) lookup(s *Step, r, at int) {
	one, last := c.tail && c.avx2, c.constantRegister(twice(s.Lookup.Last))
	if s.Lookup.Clips {
		t := c.temporary()
		c.registers(forms[vec.ChainMaxInt].code[0], t, at, c.constantRegister(0), predicate{})
		c.registers(forms[vec.ChainMinInt].code[0], t, t, last, predicate{})
		c.read(s.In[1], s.Lookup.Size, r, t, one)
		return
	}
	if c.tail && !c.avx2 { // missing elements have position 0
		t := c.temporary()
		c.move(t, at, predicate{lanesMask, true})
		at = t
	}
	if c.avx2 {
		t := c.temporary()
		c.op(map0F|with66|0xfa, t, last, at)
		c.op(orBits, t, t, at)
		c.op(map0F|0x50, elementRegister, 0, t) // VMOVMSKPS
		if one {
			c.bytes(0x41, 0xf7, 0xc5, 1, 0, 0, 0)
		} else {
			c.bytes(0x45, 0x85, 0xed)
		}
	} else {
		k := c.temporaryMask()
		c.compareIntegers(k+firstMask, 6, unsigned, at, last)
		c.bytes(0xc5, 0xf8, 0x98, 0xc0|byte(k)<<3|byte(k)) // KORTESTW
	}
	c.failures = append(c.failures, failure{c.jump(0x85), at, s.Lookup, one})
	c.read(s.In[1], s.Lookup.Size, r, at, one)
}

// read sets r to the elements, of size bytes, of a table, at positions that are allowed. Positions go through general
// registers two at a time, because reading them back from memory right after writing takes longer.
func (c *compiler) read(table uint8, size, r, at int, one bool) {
	if one {
		base := c.base(table)
		c.registers(movesFirst, at, 0, elementRegister, predicate{})
		c.bytes(0x45, 0x89, 0xed) // MOVL to itself clears the upper half
		c.element(base, elementRegister, r, size, 0)
		return
	}
	lanes := 16
	if c.avx2 {
		lanes = 8
	}
	parts := []int{r}
	for len(parts)*16 < lanes*size {
		parts = append(parts, c.temporary())
	}
	few := c.temporary()
	base := c.base(table) // while all registers are free: making room for one may displace another pointer
	for i := 0; i < lanes; i += 2 {
		from := at
		if i >= 4 {
			from = few
		}
		switch {
		case i%4 != 0:
			c.immediate(map0F3A|with66|wide|short|0x16, from, 0, elementRegister, 1) // VPEXTRQ
		case i > 0:
			c.immediate(map0F3A|with66|0x39, at, 0, few, byte(i/4)) // VEXTRACTI32X4
			fallthrough
		default:
			c.registers(movesFirst, from, 0, elementRegister, predicate{})
		}
		c.bytes(0x45, 0x89, 0xee)       // MOVL to the next register
		c.bytes(0x49, 0xc1, 0xed, 0x20) // SHRQ by 32
		part := parts[i*size/16]
		c.element(base, nextRegister, part, size, i%(16/size))
		c.element(base, elementRegister, part, size, i%(16/size)+1)
	}
	const joinTwo, joinFour = map0F3A | with66 | middle | 0x38, map0F3A | with66 | wide | 0x3a
	for i := 0; i+1 < len(parts); i += 2 {
		c.immediate(joinTwo, parts[i], parts[i], parts[i+1], 1)
	}
	if len(parts) == 4 {
		c.immediate(joinFour, r, r, parts[2], 1)
	}
}

// movesFirst moves the first 64 bits of a vector to a general register, VMOVQ.
const movesFirst = map0F | with66 | wide | short | 0x7e

// element reads the element whose position is in a general register into lane i of an eighth of a vector or more. The
// first element has zeros behind it.
func (c *compiler) element(table, position, r, size, i int) {
	before, code, log := r, map0F3A|with66|short|0x22, 2
	switch {
	case size == 4 && i == 0:
		before, code = 0, map0F|with66|short|0x6e
	case size == 2:
		code, log = map0F|with66|short|0xc4, 1
	case size == 1:
		code, log = map0F3A|with66|short|0x20, 0
	}
	if size < 4 && i == 0 {
		c.registers(xorBits|short, r, r, r, predicate{})
	}
	c.prefix(code, r, before, position&8, table&8, predicate{})
	c.bytes(byte(r&7)<<3|4, byte(log<<6|position&7<<3|table&7))
	if size < 4 || i > 0 {
		c.bytes(byte(i))
	}
}

// storeFew stores packed elements of one or two bytes.
func (c *compiler) storeFew(p uint8, r, size int) {
	m := c.elements(p, size)
	switch {
	case c.avx2 && c.tail:
		c.storeOne(p, r, size)
	case c.avx2 && size == 1:
		c.memory(map0F|with66|short|0xd6, r, 0, m, predicate{})
	case c.avx2:
		c.memory(map0F|short|0x11, r, 0, m, predicate{})
	case size == 1:
		c.memory(map0F|withF2|short|0x7f, r, 0, m, c.under(false))
	default:
		c.memory(map0F|withF2|wide|middle|0x7f, r, 0, m, c.under(false))
	}
}

// noteFailures emits the targets of the jumps of failures. They continue at the code's end.
func (c *compiler) noteFailures(end int) {
	const register = 0
	for _, f := range c.failures {
		c.land(f.jump, len(c.code))
		c.loadPointer(register, int(f.table.Failure))
		store := map0F | instruction(0x11)
		if f.one {
			store |= withF3
		}
		c.memory(store, f.register, 0, place{base: register}, predicate{})
		var noted Failure
		c.bytes(0x48, 0x89, 0x40|indexRegister<<3|register, byte(unsafe.Offsetof(noted.Done)))
		c.bytes(0x48, 0xc7, 0x40|register, byte(unsafe.Offsetof(noted.Number)), byte(f.table.Number), byte(f.table.Number>>8), 0, 0)
		c.bytes(0xe9, 0, 0, 0, 0)
		c.land(len(c.code), end)
	}
}
