package jit

import (
	"encoding/binary"
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Vector registers are numbered from 0, mask registers from firstMask. Mask register 0 means no mask; the last one says
// which elements exist.
const (
	firstMask = 32
	lanesMask = 7
	registers = firstMask + 8
)

// mostFixed is how many vector registers hold numbers and constants during the whole loop; they are taken from the last
// on.
const mostFixed = 14

// AVX2 has half as many registers and none for masks. There, masks are vectors whose elements are all ones or zeros.
const (
	registersAVX2 = 15 // the last one is scratchAVX2
	mostFixedAVX2 = 4
	scratchAVX2   = 15 // for values that live for a few instructions
)

// Values are those of the pointers and, from firstConstant on, constants. A pointer's number for all elements is a
// separate value from its elements.
const (
	firstNumber   = 256
	firstConstant = 512
	values        = firstConstant + 64
)

const none = -1

// compiler generates the code of one list of steps.
type compiler struct {
	assembler
	steps    []Step
	size     int // bytes of an element
	isNumber func(pointer uint8) bool
	bases    [256]int // general registers of pointers
	tail     bool     // the body for the elements that fill no vector
	roots    bool     // see approximatesRoots

	at       [values]int // the register that holds a value
	holds    [registers]int
	fixed    [registers]bool
	pinned   [registers]bool
	inMemory [values]bool // the value is stored in its place
	isMask   [values]bool
	step     int
	failures []failure
}

// pointerRegisters are the general registers for pointers. They exclude the stack pointer, and those that need another
// encoding as a base.
var pointerRegisters = [...]int{0, 3, 6, 8, 9, 10, 11, 12, 14}

// Compile returns the code for steps on elements of 1, 2, 4 or 8 bytes, or nil if there can be none. isNumber reports
// whether a pointer points to copies of one number.
func Compile(steps []Step, size int, isNumber func(pointer uint8) bool) *Code {
	if !Usable() {
		return nil
	}
	var room [256]byte
	key := appendKey(room[:0], steps, size, isNumber)
	if code := sharedCode(key); code != nil {
		return code
	}
	code := compile(steps, size, isNumber)
	if code == nil {
		return nil
	}
	return code.share(string(key))
}

func compile(steps []Step, size int, isNumber func(pointer uint8) bool) *Code {
	c := &compiler{steps: steps, size: size, isNumber: isNumber}
	c.avx2 = !isa.Active().Has(isa.Vectors512)
	roots, inTurns := c.approximatesRoots()
	c.roots = roots
	c.placePointers()
	c.forget()
	c.fix()
	lanes := byte(64 / size)
	if c.avx2 {
		lanes /= 2
	}
	c.bytes(0x31, 0xc9)              // index = 0
	c.bytes(0x48, 0x83, 0xfa, lanes) // count < lanes?
	short := c.jump(0x82)
	loop := len(c.code)
	c.vector(lanes)
	if inTurns {
		single := c.jump(0x82)
		c.roots = false
		c.vector(lanes)
		c.roots = true
		c.land(single, len(c.code)) // the flags are those of the last comparison either way
	}
	c.land(c.jump(0x83), loop)
	c.land(short, len(c.code))
	c.bytes(0x48, 0x85, 0xd2)
	done := c.jump(0x84)
	c.tail = true
	if c.avx2 {
		c.oneByOne()
	} else {
		c.bytes(0x49, 0xc7, 0xc7, 0xff, 0xff, 0xff, 0xff) // ones in the spare register
		c.bytes(0xc4, 0x42, 0xe8, 0xf5, 0xff)             // BZHI: as many ones as elements are left
		c.bytes(0xc4, 0xc1, 0xfb, 0x92, 0xff)             // KMOVQ: the mask of elements
		c.body()
	}
	c.land(done, len(c.code))
	last := c.nextLine()
	end := len(c.code)
	c.land(last, end)
	c.bytes(0xc5, 0xf8, 0x77, 0xc3) // VZEROUPPER, RET
	c.noteFailures(end)
	return executable(c.finish(), c.avx2)
}

// vector emits the body for a whole vector of elements, and the comparison that says whether there is another one.
func (c *compiler) vector(lanes byte) {
	c.body()
	c.bytes(0x48, 0x83, 0xc1, lanes) // index += lanes
	c.bytes(0x48, 0x83, 0xea, lanes) // count -= lanes
	c.bytes(0x48, 0x83, 0xfa, lanes)
}

// nextLine emits the move to the next line and returns the jump that leaves after the last one. There, pointers do not
// move, because there may be no memory behind that line.
func (c *compiler) nextLine() (last int) {
	c.bytes(0x48, 0xff, 0x4c, 0x24, 32) // lines--
	last = c.jump(0x8e)
	c.bytes(0x48, 0x8b, 0x7c, 0x24, 16, 0x48, 0x8b, 0x44, 0x24, 40) // the tables of pointers and of steps
	var moved [256]bool
	for i := range c.steps {
		s := &c.steps[i]
		reads, _ := s.operands(c.size)
		for _, p := range append([]uint8{s.Dst}, s.In[:len(reads)]...) {
			if moved[p] {
				continue
			}
			moved[p] = true
			c.bytes(0x48, 0x8b, 0x90) // RDX is the step
			c.code = binary.LittleEndian.AppendUint32(c.code, 8*uint32(p))
			c.bytes(0x48, 0x01, 0x97) // which the pointer moves by
			c.code = binary.LittleEndian.AppendUint32(c.code, 8*uint32(p))
		}
	}
	c.bytes(0xe9, 0, 0, 0, 0)
	c.land(len(c.code), 0)
	return last
}

// oneByOne emits the loop over the remaining elements, one at a time, which needs no mask of elements.
func (c *compiler) oneByOne() {
	top := len(c.code)
	c.body()
	c.bytes(0x48, 0xff, 0xc1) // index++
	c.bytes(0x48, 0xff, 0xca) // count--
	c.land(c.jump(0x85), top)
}

// placePointers loads the arguments and those pointers that have registers.
func (c *compiler) placePointers() {
	c.bytes(0x48, 0x8b, 0x7c, 0x24, 16, 0x48, 0x8b, 0x54, 0x24, 24)
	for i := range c.bases {
		c.bases[i] = none
	}
	left := pointerRegisters[:]
	if slices.ContainsFunc(c.steps, func(s Step) bool { return s.Op == Lookup }) {
		left = left[:len(left)-1] // the last one is nextRegister
	}
	place := func(p uint8) {
		if len(left) > 0 && c.bases[p] == none {
			c.bases[p] = left[0]
			c.loadPointer(left[0], int(p))
			left = left[1:]
		}
	}
	var held [256]bool // in registers, unless there are too few
	for i := range c.steps {
		s := &c.steps[i]
		reads, result := s.operands(c.size)
		for j, p := range s.In[:len(reads)] {
			if !c.numeric(reads[j], p) && !held[p] {
				place(p)
			}
		}
		stored := s.Stored || result == words
		if stored {
			place(s.Dst)
		}
		held[s.Dst] = !stored
	}
}

// numeric reports whether an operand is one number for all elements.
func (c *compiler) numeric(kind byte, p uint8) bool {
	return kind == number || kind == vector && c.isNumber(p)
}

// forget empties all registers that are not fixed.
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

// fix loads numbers and constants into registers for the whole loop.
func (c *compiler) fix() {
	next, least := firstMask-1, firstMask-mostFixed
	if c.avx2 {
		next, least = registersAVX2-1, registersAVX2-mostFixedAVX2
	}
	hold := func(v int) {
		if next < least || c.at[v] != none {
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
			if bits != twice(0xffff0000) || !c.roundedWhenStored(i) {
				hold(c.constantValue(bits))
			}
		}
		if result == mask && !c.avx2 {
			hold(c.constantValue(maskOnes))
		}
	}
}

// maskOnes has the bytes that masks are stored as.
const maskOnes = 0x0101010101010101

func (c *compiler) constantValue(bits uint64) int { return firstConstant + c.constant(bits) }

// broadcast sets all elements of a register to a number or constant.
func (c *compiler) broadcast(r, v int) {
	op := c.sized(map0F38|with66|0x18, map0F38|with66|wide|0x19)
	switch {
	case c.size > 2:
	case v >= firstConstant:
		op = map0F38 | with66 | wide | 0x19
	default:
		op = map0F38 | with66 | (0x77 + instruction(c.size))
	}
	if c.avx2 {
		op &^= wide
	}
	if v >= firstConstant {
		c.memory(op, r, 0, place{base: none, constant: v - firstConstant}, predicate{})
		return
	}
	c.memory(op, r, 0, place{base: c.base(uint8(v - firstNumber))}, predicate{})
}

// sized returns the form of the instruction for the elements' size.
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

// body emits all steps for one vector of elements.
func (c *compiler) body() {
	c.forget()
	for i := range c.steps {
		s := &c.steps[i]
		if c.step = i; c.roundedWhenStored(i) || i > 0 && c.storedWhenRounded(i-1) || s.Dst == s.In[0] && !s.Stored && c.isRounded(s) {
			continue
		}
		c.emit(s)
		clear(c.pinned[:])
	}
}

// emit emits one step: it loads the operands into registers, and puts the result into another one.
func (c *compiler) emit(s *Step) {
	reads, result := s.operands(c.size)
	var in [3]int
	for j, p := range s.In[:len(reads)] {
		if reads[j] != words {
			in[j] = c.fetch(reads[j], p)
		}
	}
	if result == words {
		c.emitWords(s, in[0])
		return
	}
	v, r := int(s.Dst), in[0]
	if c.movesAway(s, r) {
		c.at[c.holds[r]] = none
	} else {
		r = c.takeKind(result)
		c.pinned[r] = true
		if c.avx2 {
			c.computeAVX2(s, r, in)
		} else {
			c.compute(s, r, in)
		}
	}
	c.isMask[v] = result == mask
	if old := c.at[v]; old != none {
		c.holds[old] = none
	}
	c.at[v], c.holds[r], c.inMemory[v] = r, v, false
	if s.Stored {
		c.store(v)
	}
}

// movesAway reports whether the step copies the value of register r, which nothing reads after it.
func (c *compiler) movesAway(s *Step, r int) bool {
	if s.Op != vec.ChainLoad && !c.isRounded(s) || c.fixed[r] || c.holds[r] == int(s.Dst) {
		return false
	}
	c.step++
	defer func() { c.step-- }()
	return c.nextUse(c.holds[r]) == len(c.steps)
}

// emitWords emits a step whose result has fewer bytes than its elements.
func (c *compiler) emitWords(s *Step, a int) {
	switch {
	case s.Op == Lookup:
		r := c.temporary()
		c.lookup(s, r, a)
		c.storeFew(s.Dst, r, s.Lookup.Size)
	case c.avx2 && s.Op == Convert:
		c.narrowAVX2(s, a)
	case c.avx2 && s.Op == ConvertOdd:
		c.narrowOddAVX2(s, a)
	case c.avx2:
		c.storeWordsAVX2(s, a)
	case s.Op == Convert:
		c.narrow(s, a)
	case s.Op == ConvertOdd:
		c.narrowOdd(s, a)
	default:
		c.storeWords(s, a)
	}
}
