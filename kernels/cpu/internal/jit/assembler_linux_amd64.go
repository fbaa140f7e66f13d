package jit

import "encoding/binary"

// instruction is a vector instruction: its opcode, and above it the map, the prefix, the width of elements and the
// length. By default, the length is 512 bits in EVEX encoding, and 256 bits in VEX encoding, which serves processors
// with AVX2 alone.
type instruction uint32

const (
	map0F instruction = (iota + 1) << 8
	map0F38
	map0F3A

	with66 instruction = 1 << 10
	withF3 instruction = 2 << 10
	withF2 instruction = 3 << 10
	wide   instruction = 1 << 12 // elements of 64 bits
	short  instruction = 1 << 13 // vectors of 128 bits
	middle instruction = 1 << 14 // vectors of 256 bits
	cutOff instruction = 1 << 15 // rounds towards zero
	ofOne  instruction = 1 << 16 // the operand in memory is one number for all elements
)

// General registers. The others hold pointers.
const (
	indexRegister = 1  // the elements that are done
	countRegister = 2  // the elements that are left
	tableRegister = 7  // the pointers
	spareRegister = 15 // for a pointer that has no register
)

// assembler collects machine code.
type assembler struct {
	avx2      bool // in VEX encoding
	code      []byte
	constants []uint64
	words     []uint32 // constants of functions
	tables    []uint32 // numbers of tables
	distances []distance
}

// distance is a place in the code for the distance to a constant or a word; it counts from behind bytes after the
// place.
type distance struct {
	at, constant int
	word, table  bool
	behind       int
}

// place is an operand in memory: at a register, plus the index times scale if scale is not 0; or a constant.
type place struct {
	base, scale, constant int
	word                  bool // the constant is one of words
	table                 bool // or of tables
	behind                int  // bytes of the instruction that follow the operand
}

// predicate is the mask that an instruction works under.
type predicate struct {
	register int
	zero     bool // the other elements become 0
}

// bytes appends to the code.
//
//go:noinline
func (a *assembler) bytes(b ...byte) { a.code = append(a.code, b...) }

func (a *assembler) prefix(i instruction, reg, v, x, b int, p predicate) {
	bit := func(set bool, n int) (y byte) {
		if set {
			y = 1 << n
		}
		return y
	}
	if a.avx2 {
		a.bytes(0xc4,
			bit(reg&8 == 0, 7)|bit(x == 0, 6)|bit(b == 0, 5)|byte(i>>8&3),
			bit(i&wide != 0, 7)|byte(^v&15)<<3|bit(i&short == 0, 2)|byte(i>>10&3),
			byte(i))
		return
	}
	length := byte(2)
	switch {
	case i&short != 0:
		length = 0
	case i&middle != 0:
		length = 1
	case i&cutOff != 0:
		length = 3
	}
	a.bytes(0x62,
		bit(reg&8 == 0, 7)|bit(x == 0, 6)|bit(b == 0, 5)|bit(reg&16 == 0, 4)|byte(i>>8&3),
		bit(i&wide != 0, 7)|byte(^v&15)<<3|4|byte(i>>10&3),
		bit(p.zero, 7)|length<<5|bit(i&(cutOff|ofOne) != 0, 4)|bit(v&16 == 0, 3)|byte(p.register),
		byte(i))
}

// registers emits an instruction on registers: reg = v op rm.
//
//go:noinline
func (a *assembler) registers(i instruction, reg, v, rm int, p predicate) {
	a.prefix(i, reg, v, rm&16, rm&8, p)
	a.bytes(0xc0 | byte(reg&7)<<3 | byte(rm&7))
}

// memory emits an instruction with an operand in memory: the last one, or the first one if it stores.
func (a *assembler) memory(i instruction, reg, v int, m place, p predicate) {
	a.prefix(i, reg, v, 0, max(m.base, 0)&8, p)
	switch {
	case m.base < 0: // relative to the instruction's end
		a.bytes(byte(reg&7)<<3 | 5)
		a.distances = append(a.distances, distance{len(a.code), m.constant, m.word, m.table, m.behind})
		a.bytes(0, 0, 0, 0)
	case m.scale == 0:
		a.bytes(byte(reg&7)<<3|4, 4<<3|byte(m.base&7))
	default:
		log := byte(0)
		for 1<<log < m.scale {
			log++
		}
		a.bytes(byte(reg&7)<<3|4, log<<6|indexRegister<<3|byte(m.base&7))
	}
}

// masks emits an instruction on 64-bit mask registers: k = v op rm.
func (a *assembler) masks(opcode byte, k, v, rm int) {
	length := byte(1) << 2
	if v == 0 { // one operand
		length = 0
	}
	a.bytes(0xc4, 0xe1, 0x80|byte(^v&15)<<3|length, opcode, 0xc0|byte(k)<<3|byte(rm))
}

// loadPointer sets a general register to a pointer of the table.
func (a *assembler) loadPointer(register, pointer int) {
	a.bytes(0x48|byte(register>>3)<<2, 0x8b, 0x80|byte(register&7)<<3|tableRegister)
	a.code = binary.LittleEndian.AppendUint32(a.code, uint32(8*pointer))
}

// jump emits a conditional jump to a place that land, or the begin of a loop, provides.
func (a *assembler) jump(condition byte) (at int) {
	a.bytes(0x0f, condition, 0, 0, 0, 0)
	return len(a.code)
}

// land sets the target of a jump.
func (a *assembler) land(jump, to int) {
	binary.LittleEndian.PutUint32(a.code[jump-4:], uint32(to-jump))
}

// constant returns the index of a constant in memory.
//
//go:noinline
func (a *assembler) constant(bits uint64) int {
	for i, c := range a.constants {
		if c == bits {
			return i
		}
	}
	a.constants = append(a.constants, bits)
	return len(a.constants) - 1
}

// appendTables appends the tables, each in a cache line, and returns where they begin.
func (a *assembler) appendTables() int {
	for len(a.tables) > 0 && len(a.code)%64 != 0 {
		a.bytes(0xcc)
	}
	first := len(a.code)
	for _, t := range a.tables {
		for _, w := range inlineTables[t] {
			a.code = binary.LittleEndian.AppendUint32(a.code, w)
		}
	}
	return first
}

// finish appends the constants.
func (a *assembler) finish() []byte {
	for len(a.code)%8 != 0 {
		a.bytes(0xcc)
	}
	first := len(a.code)
	for _, c := range a.constants {
		a.code = binary.LittleEndian.AppendUint64(a.code, c)
	}
	words := len(a.code)
	for _, w := range a.words {
		a.code = binary.LittleEndian.AppendUint32(a.code, w)
	}
	tables := a.appendTables()
	for _, d := range a.distances {
		to := first + 8*d.constant
		switch {
		case d.word:
			to = words + 4*d.constant
		case d.table:
			to = tables + 64*d.constant
		}
		a.land(d.at+4, to-d.behind)
	}
	return a.code
}
