package jit

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// Loads and stores on AVX2. Masks are vectors of all ones and zeros; in memory they are bytes of 1 and 0. The elements
// after the last whole vector are computed one at a time, with 0 in the other lanes.

// op emits r = a op b.
//
//go:noinline
func (c *compiler) op(i instruction, r, a, b int) { c.registers(i, r, a, b, predicate{}) }

const (
	andBits = map0F | with66 | 0xdb
	andNot  = map0F | with66 | 0xdf // negates the first operand
	orBits  = map0F | with66 | 0xeb
	xorBits = map0F | with66 | 0xef

	extractHalf = map0F3A | with66 | 0x39
	packLongs   = map0F38 | with66 | short | 0x2b // signed 32-bit integers to unsigned 16-bit ones
	packWords   = map0F | with66 | short | 0x67   // those to bytes
)

// shiftElements shifts 32-bit integers, or 64-bit ones with [wide], by a number of bits.
//
//go:noinline
func (c *compiler) shiftElements(left bool, flags instruction, r, a int, by byte) {
	how, code := 2, map0F|with66|0x72
	if left {
		how = 6
	}
	if flags&wide != 0 {
		code++
	}
	c.immediate(code|flags&short, how, r, a, by)
}

// loadOne loads one element of size bytes, with 0 in the other lanes.
func (c *compiler) loadOne(r int, p uint8, size int) {
	m := c.elements(p, size)
	switch size {
	case 8:
		c.memory(map0F|withF3|short|0x7e, r, 0, m, predicate{})
	case 4:
		c.memory(map0F|with66|short|0x6e, r, 0, m, predicate{})
	default:
		code := map0F3A | with66 | short | 0x20
		if size == 2 {
			code = map0F | with66 | short | 0xc4
		}
		c.op(xorBits|short, r, r, r)
		c.memory(code, r, r, m, predicate{})
		c.bytes(0)
	}
}

// storeOne stores the lowest size bytes of the first lane.
func (c *compiler) storeOne(p uint8, r, size int) {
	m := c.elements(p, size)
	switch size {
	case 8:
		c.memory(map0F|with66|short|0xd6, r, 0, m, predicate{})
	case 4:
		c.memory(map0F|with66|short|0x7e, r, 0, m, predicate{})
	default:
		c.memory(map0F3A|with66|short|(0x14+instruction(size)-1), r, 0, m, predicate{})
		c.bytes(0)
	}
}

// widen loads elements of size bytes with an instruction that widens them.
func (c *compiler) widen(i instruction, r int, p uint8, size int) {
	if !c.tail {
		c.memory(i, r, 0, c.elements(p, size), predicate{})
		return
	}
	c.loadOne(r, p, size)
	c.op(i, r, 0, r)
}

func (c *compiler) loadMaskAVX2(r int, p uint8) {
	switch {
	case c.size == 1 && c.tail:
		c.loadOne(r, p, 1)
	case c.size == 1:
		c.memory(c.moving(), r, 0, c.elements(p, 1), predicate{})
	case c.size == 2:
		c.widen(map0F38|with66|0x30, r, p, 1)
	default:
		c.widen(c.sized(map0F38|with66|0x31, map0F38|with66|0x32), r, p, 1)
	}
	c.op(xorBits, scratchAVX2, scratchAVX2, scratchAVX2)
	c.more(r, r, scratchAVX2)
}

// storeAVX2 stores a value in its place. It must not take a register, because it is called to free one.
func (c *compiler) storeAVX2(v, r int) {
	const t = scratchAVX2
	switch {
	case !c.isMask[v] && c.tail:
		c.storeOne(uint8(v), r, c.size)
		return
	case !c.isMask[v]:
		c.memory(c.sized(map0F|0x11, map0F|with66|0x11), r, 0, c.elements(uint8(v), c.size), predicate{})
		return
	}
	const absolute = map0F38 | with66 | short | 0x1c
	if c.tail {
		c.op(absolute, t, 0, r)
		c.storeOne(uint8(v), t, 1)
		return
	}
	if c.size == 1 {
		c.op(absolute&^short, t, 0, r)
		c.memory(map0F|0x11, t, 0, c.elements(uint8(v), 1), predicate{})
		return
	}
	const longs, bytes = map0F | with66 | short | 0x6b, map0F | with66 | short | 0x63 // signed
	c.immediate(extractHalf, r, 0, t, 1)
	switch c.size {
	case 8:
		c.immediate(map0F|short|0xc6, t, r, t, 0x88) // every other 32-bit element
		c.op(longs, t, t, t)
	case 4:
		c.op(longs, t, r, t)
	}
	if c.size == 2 {
		c.op(bytes, t, r, t)
	} else {
		c.op(bytes, t, t, t)
	}
	c.op(absolute, t, 0, t)
	store := c.sized(map0F|with66|short|0xd6, map0F|with66|short|0x7e)
	if c.size == 2 {
		store = map0F | short | 0x11
	}
	c.memory(store, t, 0, c.elements(uint8(v), 1), predicate{})
}

// storeLowest stores the lowest size bytes of each element.
func (c *compiler) storeLowest(p uint8, a, size int) {
	if c.tail {
		c.storeOne(p, a, size)
		return
	}
	t, m := c.temporary(), c.elements(p, size)
	if c.size == 2 {
		c.immediate(map0F|with66|0x71, 6, t, a, 8)
		c.immediate(map0F|with66|0x71, 2, t, t, 8)
		c.immediate(extractHalf, t, 0, scratchAVX2, 1)
		c.op(packWords, t, t, scratchAVX2)
		c.memory(map0F|short|0x11, t, 0, m, predicate{})
		return
	}
	if c.size == 8 {
		c.immediate(extractHalf, a, 0, scratchAVX2, 1)
		c.immediate(map0F|short|0xc6, t, a, scratchAVX2, 0x88)
		a = t
	}
	if size == 4 {
		c.memory(map0F|short|0x11, t, 0, m, predicate{})
		return
	}
	c.shiftElements(true, 0, t, a, byte(32-8*size))
	c.shiftElements(false, 0, t, t, byte(32-8*size))
	if c.size == 8 {
		c.op(packLongs, t, t, t)
	} else {
		c.immediate(extractHalf, t, 0, scratchAVX2, 1)
		c.op(packLongs, t, t, scratchAVX2)
	}
	if size == 1 {
		c.op(packWords, t, t, t)
	}
	store := map0F | short | 0x11
	switch 4 * c.size / size { // how many times the bytes fit into a vector
	case 16:
		store = map0F | with66 | short | 0xd6
	case 32:
		store = map0F | with66 | short | 0x7e
	}
	c.memory(store, t, 0, m, predicate{})
}

// storeWordsAVX2 stores floats as 16-bit floats.
func (c *compiler) storeWordsAVX2(s *Step, a int) {
	t := c.temporary()
	switch {
	case s.Op == vec.ChainStoreBF16:
		if c.step > 0 && c.roundedWhenStored(c.step-1) {
			c.roundBF16AVX2(t, a)
			a = t
		}
		if c.shiftElements(false, 0, t, a, 16); c.tail {
			c.storeOne(s.Dst, t, 2)
			return
		}
		c.immediate(extractHalf, t, 0, scratchAVX2, 1)
		c.op(packLongs, t, t, scratchAVX2)
		c.memory(map0F|short|0x11, t, 0, c.elements(s.Dst, 2), predicate{})
	case c.tail:
		c.immediate(map0F3A|with66|0x1d, a, 0, t, 0)
		c.storeOne(s.Dst, t, 2)
	default:
		c.memory(map0F3A|with66|0x1d, a, 0, c.elements(s.Dst, 2), predicate{})
		c.bytes(0)
	}
}
