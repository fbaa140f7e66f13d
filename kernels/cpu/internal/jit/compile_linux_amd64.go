package jit

// Registers of vectors are numbered from 0, those of masks from firstMask; the mask register 0 means no mask, and the
// last one says which elements there are.
const (
	firstMask = 32
	lanesMask = 7
	registers = firstMask + 8
)

// mostFixed is how many vector registers hold numbers and constants during the whole loop, from the last one down.
const mostFixed = 14

// Values are the pointers' and, from firstConstant on, the constants. A pointer's number for all elements is another
// value than its elements.
const (
	firstNumber   = 256
	firstConstant = 512
	values        = firstConstant + 64
)

const none = -1

// compiler makes the code of one list of steps.
type compiler struct {
	assembler
	steps    []Step
	size     int // bytes of an element
	isNumber func(pointer uint8) bool
	bases    [256]int // general registers of pointers
	tail     bool     // the body for elements that are less than a vector

	at       [values]int // the register that holds a value
	holds    [registers]int
	fixed    [registers]bool
	pinned   [registers]bool
	inMemory [values]bool // the value is in its place
	step     int
}

// pointerRegisters are the general registers of pointers: not the stack, nor those whose use as a base takes another
// encoding.
var pointerRegisters = [...]int{0, 3, 6, 8, 9, 10, 11, 12, 14}

// Compile returns the code for steps on elements of 4 or 8 bytes, or nil where there can be none. isNumber tells the
// pointers to copies of one number.
func Compile(steps []Step, size int, isNumber func(pointer uint8) bool) *Code {
	if !Usable() {
		return nil
	}
	c := &compiler{steps: steps, size: size, isNumber: isNumber}
	c.placePointers()
	c.forget()
	c.fix()
	lanes := byte(64 / size)
	c.bytes(0x31, 0xc9)              // index = 0
	c.bytes(0x48, 0x83, 0xfa, lanes) // count < lanes?
	short := c.jump(0x82)
	loop := len(c.code)
	c.body()
	c.bytes(0x48, 0x83, 0xc1, lanes) // index += lanes
	c.bytes(0x48, 0x83, 0xea, lanes) // count -= lanes
	c.bytes(0x48, 0x83, 0xfa, lanes)
	c.land(c.jump(0x83), loop)
	c.land(short, len(c.code))
	c.bytes(0x48, 0x85, 0xd2)
	done := c.jump(0x84)
	c.bytes(0x41, 0xbf, 0xff, 0xff, 0xff, 0xff) // ones in the spare register
	c.bytes(0xc4, 0x42, 0x68, 0xf5, 0xff)       // BZHI: as many as are left
	c.bytes(0xc4, 0xc1, 0x78, 0x92, 0xff)       // KMOVW, the mask of elements
	c.tail = true
	c.body()
	c.land(done, len(c.code))
	c.bytes(0xc5, 0xf8, 0x77, 0xc3) // VZEROUPPER, RET
	return executable(c.finish())
}

// placePointers loads the arguments, and the pointers that have registers.
func (c *compiler) placePointers() {
	c.bytes(0x48, 0x8b, 0x7c, 0x24, 16, 0x48, 0x8b, 0x54, 0x24, 24)
	for i := range c.bases {
		c.bases[i] = none
	}
	left := pointerRegisters[:]
	place := func(p uint8) {
		if len(left) > 0 && c.bases[p] == none {
			c.bases[p] = left[0]
			c.loadPointer(left[0], int(p))
			left = left[1:]
		}
	}
	for i := range c.steps {
		s := &c.steps[i]
		reads, result := s.operands(c.size)
		for j, p := range s.In[:len(reads)] {
			if !c.numeric(reads[j], p) {
				place(p)
			}
		}
		if s.Stored || result == words {
			place(s.Dst)
		}
	}
}

// numeric reports whether an operand is one number for all elements.
func (c *compiler) numeric(kind byte, p uint8) bool {
	return kind == number || kind == vector && c.isNumber(p)
}

// forget empties the registers that are not fixed.
func (c *compiler) forget() {
	for i := range c.at {
		c.at[i], c.inMemory[i] = none, false
	}
	for r, v := range c.holds {
		if c.fixed[r] {
			c.at[v] = r
		} else {
			c.holds[r] = none
		}
	}
}

// fix puts numbers and constants into registers for the whole loop.
func (c *compiler) fix() {
	next := firstMask - 1
	hold := func(v int) {
		if next < firstMask-mostFixed || c.at[v] != none {
			return
		}
		c.broadcast(next, v)
		c.at[v], c.holds[next], c.fixed[next] = next, v, true
		next--
	}
	for i := range c.steps {
		s := &c.steps[i]
		reads, result := s.operands(c.size)
		for j, p := range s.In[:len(reads)] {
			if c.numeric(reads[j], p) {
				hold(firstNumber + int(p))
			}
		}
		for _, bits := range c.constantsOf(s) {
			hold(c.constantValue(bits))
		}
		if result == mask {
			hold(c.constantValue(maskOnes))
		}
	}
}

// maskOnes are the bytes that masks are stored as.
const maskOnes = 0x0101010101010101

func (c *compiler) constantValue(bits uint64) int { return firstConstant + c.constant(bits) }

// broadcast sets a register to a number or constant for all elements.
func (c *compiler) broadcast(r, v int) {
	op := c.sized(map0F38|with66|0x18, map0F38|with66|wide|0x19)
	if v >= firstConstant {
		c.memory(op, r, 0, place{base: none, constant: v - firstConstant}, predicate{})
		return
	}
	c.memory(op, r, 0, place{base: c.base(uint8(v - firstNumber))}, predicate{})
}

// sized returns the instruction for the elements' size.
//
//go:noinline
func (c *compiler) sized(four, eight instruction) instruction {
	if c.size == 8 {
		return eight
	}
	return four
}

// base returns the general register that holds a pointer.
//
//go:noinline
func (c *compiler) base(p uint8) int {
	if r := c.bases[p]; r != none {
		return r
	}
	c.loadPointer(spareRegister, int(p))
	return spareRegister
}

// body emits all steps, on one vector of elements.
func (c *compiler) body() {
	c.forget()
	for i := range c.steps {
		c.step = i
		c.emit(&c.steps[i])
		clear(c.pinned[:])
	}
}

// emit emits one step: its operands come into registers, the result goes into another one.
func (c *compiler) emit(s *Step) {
	reads, result := s.operands(c.size)
	var in [3]int
	for j, p := range s.In[:len(reads)] {
		if reads[j] != words {
			in[j] = c.fetch(reads[j], p)
		}
	}
	if result == words && s.Op == Convert {
		c.narrow(s, in[0])
		return
	}
	if result == words && s.Op == ConvertOdd {
		c.narrowOdd(s, in[0])
		return
	}
	if result == words {
		c.storeWords(s, in[0])
		return
	}
	var r int
	if result == mask {
		r = c.take(firstMask+1, firstMask+lanesMask)
	} else {
		r = c.take(0, firstMask)
	}
	c.pinned[r] = true
	c.compute(s, r, in)
	v := int(s.Dst)
	if old := c.at[v]; old != none {
		c.holds[old] = none
	}
	c.at[v], c.holds[r], c.inMemory[v] = r, v, false
	if s.Stored {
		c.store(v)
	}
}

// fetch returns the register that holds an operand.
func (c *compiler) fetch(kind byte, p uint8) int {
	v := int(p)
	if c.numeric(kind, p) {
		v += firstNumber
	}
	r := c.at[v]
	if r == none {
		if kind == mask {
			r = c.take(firstMask+1, firstMask+lanesMask)
			c.pinned[r] = true
			c.loadMask(r, p)
		} else {
			r = c.take(0, firstMask)
			if v >= firstNumber {
				c.broadcast(r, v)
			} else {
				c.memory(c.sized(map0F|0x10, map0F|with66|wide|0x10), r, 0, c.elements(p, c.size), c.under(true))
			}
		}
		c.at[v], c.holds[r], c.inMemory[v] = r, v, true
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
		r = c.take(0, firstMask)
		c.broadcast(r, v)
		c.at[v], c.holds[r], c.inMemory[v] = r, v, true
	}
	c.pinned[r] = true
	return r
}

// elements is where the elements of a pointer lie that take so many bytes each.
//
//go:noinline
func (c *compiler) elements(p uint8, size int) place { return place{base: c.base(p), scale: size} }

// under is the mask for what is read or written: all of it, or what there is.
//
//go:noinline
func (c *compiler) under(zero bool) predicate {
	if !c.tail {
		return predicate{}
	}
	return predicate{lanesMask, zero}
}

// take returns a register of those from first up to last that is free, or becomes so: the one whose value is needed
// last is written to its place.
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

// nextUse returns the next step that reads a value, from the one that is being emitted on, or the number of steps.
func (c *compiler) nextUse(v int) int {
	for i := c.step; i < len(c.steps); i++ {
		s := &c.steps[i]
		reads, _ := s.operands(c.size)
		for j, p := range s.In[:len(reads)] {
			if w := int(p); reads[j] != words && (w == v && !c.numeric(reads[j], p) || w+firstNumber == v && c.numeric(reads[j], p)) {
				return i
			}
		}
		if i > c.step && int(s.Dst) == v {
			break
		}
	}
	if v >= firstConstant {
		return len(c.steps) - 1
	}
	return len(c.steps)
}

// store writes a value to its place.
func (c *compiler) store(v int) {
	c.inMemory[v] = true
	if r := c.at[v]; r < firstMask {
		c.memory(c.sized(map0F|0x11, map0F|with66|wide|0x11), r, 0, c.elements(uint8(v), c.size), c.under(false))
	} else {
		c.storeMask(r-firstMask, uint8(v))
	}
}

func (c *compiler) loadMask(r int, p uint8) {
	t := c.temporary()
	if m := c.elements(p, 1); c.size == 8 && !c.tail {
		c.memory(map0F|withF3|wide|short|0x7e, t, 0, m, predicate{})
	} else {
		c.memory(map0F|withF2|short|0x6f, t, 0, m, c.under(true))
	}
	c.registers(map0F38|with66|short|0x26, r-firstMask, t, t, predicate{})
}

func (c *compiler) storeMask(k int, p uint8) {
	t := c.temporary()
	c.registers(map0F|withF2|short|0x6f, t, 0, c.constantRegister(maskOnes), predicate{k, true})
	if m := c.elements(p, 1); c.size == 8 && !c.tail {
		c.memory(map0F|with66|wide|short|0xd6, t, 0, m, predicate{})
	} else {
		c.memory(map0F|withF2|short|0x7f, t, 0, m, c.under(false))
	}
}

// temporary returns a vector register for the rest of a step.
//
//go:noinline
func (c *compiler) temporary() int {
	r := c.take(0, firstMask)
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
