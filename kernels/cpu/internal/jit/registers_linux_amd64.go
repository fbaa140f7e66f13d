package jit

// takeKind returns a free register for a mask or a vector.
func (c *compiler) takeKind(kind byte) int {
	switch {
	case c.avx2:
		return c.take(0, registersAVX2)
	case kind == mask:
		return c.take(firstMask+1, firstMask+lanesMask)
	}
	return c.take(0, firstMask)
}

// fetch returns the register that holds an operand, after loading it if necessary.
func (c *compiler) fetch(kind byte, p uint8) int {
	v := int(p)
	if c.numeric(kind, p) {
		v += firstNumber
	}
	r := c.at[v]
	if r == none {
		r = c.takeKind(kind)
		c.pinned[r] = true
		switch {
		case kind == mask && c.avx2:
			c.loadMaskAVX2(r, p)
		case kind == mask:
			c.loadMask(r, p)
		case v >= firstNumber:
			c.broadcast(r, v)
		case c.avx2 && c.tail:
			c.loadOne(r, p, c.size)
		default:
			c.memory(c.moving(), r, 0, c.elements(p, c.size), c.under(true))
		}
		c.at[v], c.holds[r], c.inMemory[v], c.isMask[v] = r, v, true, kind == mask
	}
	c.pinned[r] = true
	return r
}

// constantRegister returns a register that holds a constant.
//
//go:noinline
func (c *compiler) constantRegister(bits uint64) int {
	v := c.constantValue(bits)
	r := c.at[v]
	if r == none {
		r = c.takeKind(vector)
		c.broadcast(r, v)
		c.at[v], c.holds[r], c.inMemory[v] = r, v, true
	}
	c.pinned[r] = true
	return r
}

// elements returns where the elements of a pointer are, if each takes size bytes.
//
//go:noinline
func (c *compiler) elements(p uint8, size int) place { return place{base: c.base(p), scale: size} }

// under returns the predicate for memory that is read or written: all elements, or those that exist.
//
//go:noinline
func (c *compiler) under(zero bool) predicate {
	if !c.tail || c.avx2 {
		return predicate{}
	}
	return predicate{lanesMask, zero}
}

// take returns a free register from first up to last. If none is free, it stores the value that is needed last to its
// place.
func (c *compiler) take(first, last int) int {
	best, farthest := none, none
	for r := first; r < last; r++ {
		if c.fixed[r] || c.pinned[r] {
			continue
		}
		if c.holds[r] == none {
			return r
		}
		if next := c.nextUse(c.holds[r]); next > farthest {
			best, farthest = r, next
		}
	}
	v := c.holds[best]
	if farthest < len(c.steps) && !c.inMemory[v] {
		c.store(v)
	}
	c.at[v], c.holds[best] = none, none
	return best
}

// nextUse returns the next step that reads a value, starting with the current one, or the number of steps if there is
// none.
func (c *compiler) nextUse(v int) int {
	for i := c.step; i < len(c.steps); i++ {
		s := &c.steps[i]
		reads, _ := s.operands(c.size)
		for j, p := range s.In[:len(reads)] {
			if w := int(p); reads[j] != words && (w == v && !c.numeric(reads[j], p) || w+firstNumber == v && c.numeric(reads[j], p)) {
				return i
			}
		}
		if int(s.Dst) == v {
			break
		}
	}
	if v >= firstConstant {
		return len(c.steps) - 1
	}
	return len(c.steps)
}

// store stores a value in its place.
func (c *compiler) store(v int) {
	c.inMemory[v] = true
	r := c.at[v]
	switch {
	case c.avx2:
		c.storeAVX2(v, r)
	case r < firstMask:
		store := c.moving() + 1
		if c.size < 4 { // another instruction does it
			store = c.moving() + 0x10
		}
		c.memory(store, r, 0, c.elements(uint8(v), c.size), c.under(false))
	default:
		c.storeMask(r-firstMask, uint8(v))
	}
}

// moving returns the instruction that loads elements, or those of a mask.
//
//go:noinline
func (c *compiler) moving() instruction {
	switch {
	case c.size == 8:
		return map0F | with66 | wide | 0x10
	case c.size == 4 || c.avx2:
		return map0F | 0x10
	case c.size == 2:
		return map0F | withF2 | wide | 0x6f
	}
	return map0F | withF2 | 0x6f
}

// maskLength returns the vector length for the bytes of a mask, of which those that exist are used.
func (c *compiler) maskLength() instruction {
	switch c.size {
	case 1:
		return 0
	case 2:
		return middle
	}
	return short
}

func (c *compiler) loadMask(r int, p uint8) {
	t, length := c.temporary(), c.maskLength()
	if m := c.elements(p, 1); c.size == 8 && !c.tail {
		c.memory(map0F|withF3|wide|short|0x7e, t, 0, m, predicate{})
	} else {
		c.memory(map0F|withF2|length|0x6f, t, 0, m, c.under(true))
	}
	c.registers(map0F38|with66|length|0x26, r-firstMask, t, t, predicate{})
}

func (c *compiler) storeMask(k int, p uint8) {
	t, length := c.temporary(), c.maskLength()
	c.registers(map0F|withF2|length|0x6f, t, 0, c.constantRegister(maskOnes), predicate{k, true})
	if m := c.elements(p, 1); c.size == 8 && !c.tail {
		c.memory(map0F|with66|wide|short|0xd6, t, 0, m, predicate{})
	} else {
		c.memory(map0F|withF2|length|0x7f, t, 0, m, c.under(false))
	}
}

// temporary returns a vector register for the rest of a step.
//
//go:noinline
func (c *compiler) temporary() int {
	r := c.takeKind(vector)
	c.pinned[r] = true
	return r
}

// temporaryMask is temporary for masks.
//
//go:noinline
func (c *compiler) temporaryMask() int {
	r := c.take(firstMask+1, firstMask+lanesMask)
	c.pinned[r] = true
	return r - firstMask
}
