package main

import "fmt"

// operation is an instruction of AMX.
type operation uint8

const (
	loadConfig operation = iota + 1
	storeConfig
	release
	zeroTile
	loadTile
	loadTileHint // TILELOADDT1
	storeTile
	bfloat16Products
	int8Products // signed and unsigned bytes, as the name says
)

// instruction is a decoded instruction.
type instruction struct {
	name   string
	op     operation
	length int

	tile, a, b       int  // numbers of tiles
	signedA, signedB bool // of int8Products

	// The memory operand is base + index<<scale + displacement; -1 means no register, and ripBase the address of the
	// next instruction.
	base, index  int
	scale        uint
	displacement int64
}

const (
	none    = -1
	ripBase = -2
)

// undefined is an instruction that looks like AMX but is not.
type undefined string

func (u undefined) Error() string { return "#UD: " + string(u) }

// decode reads the instruction that code starts with; ok reports whether it is an AMX instruction.
func decode(code []byte) (i instruction, ok bool, err error) {
	// C4 RXB.mmmmm W.vvvv.L.pp opcode modrm
	if len(code) < 5 || code[0] != 0xc4 || code[1]&0x1f != 2 {
		return i, false, nil
	}
	prefix, opcode, modrm := code[2]&3, code[3], code[4]
	i = instruction{base: none, index: none, length: 5, tile: int(modrm >> 3 & 7), a: int(modrm & 7), b: int(^code[2] >> 3 & 15)}
	memory := modrm>>6 != 3
	if !i.identify(prefix, opcode, memory) {
		return i, false, nil
	}
	switch {
	case code[2]&0x80 != 0:
		return i, true, undefined(i.name + " with VEX.W = 1")
	case code[2]&0x04 != 0:
		return i, true, undefined(i.name + " of 256 bits")
	case code[1]&0x80 == 0:
		return i, true, undefined(i.name + " of a tile above 7")
	case i.op < bfloat16Products && i.b != 0:
		return i, true, undefined(i.name + " with an operand in VEX.vvvv")
	case i.op < zeroTile && i.tile != 0:
		return i, true, undefined(fmt.Sprintf("%s with /%d", i.name, i.tile))
	case (i.op == release || i.op == zeroTile) && i.a != 0:
		return i, true, undefined(fmt.Sprintf("%s with r/m %d", i.name, i.a))
	case i.op >= bfloat16Products && (i.b > 7 || code[1]&0x20 == 0):
		return i, true, undefined(i.name + " of a tile above 7")
	case i.op >= bfloat16Products && (i.tile == i.a || i.tile == i.b || i.a == i.b):
		return i, true, undefined(fmt.Sprintf("%s of tiles %d, %d, %d, which have to differ", i.name, i.tile, i.a, i.b))
	}
	if memory {
		if !i.address(code) {
			return i, false, nil
		}
		if i.op >= loadTile && modrm&7 != 4 {
			return i, true, undefined(i.name + " without an index byte")
		}
	}
	return i, true, nil
}

// identify sets name and op.
func (i *instruction) identify(prefix, opcode byte, memory bool) bool {
	type key struct {
		opcode, prefix byte
		memory         bool
	}
	const none, x66, xf3, xf2 = 0, 1, 2, 3
	switch (key{opcode, prefix, memory}) {
	case key{0x49, none, true}:
		i.name, i.op = "LDTILECFG", loadConfig
	case key{0x49, x66, true}:
		i.name, i.op = "STTILECFG", storeConfig
	case key{0x49, none, false}:
		i.name, i.op = "TILERELEASE", release
	case key{0x49, xf2, false}:
		i.name, i.op = "TILEZERO", zeroTile
	case key{0x4b, xf2, true}:
		i.name, i.op = "TILELOADD", loadTile
	case key{0x4b, x66, true}:
		i.name, i.op = "TILELOADDT1", loadTileHint
	case key{0x4b, xf3, true}:
		i.name, i.op = "TILESTORED", storeTile
	case key{0x5c, xf3, false}:
		i.name, i.op = "TDPBF16PS", bfloat16Products
	case key{0x5e, xf2, false}:
		i.name, i.op, i.signedA, i.signedB = "TDPBSSD", int8Products, true, true
	case key{0x5e, xf3, false}:
		i.name, i.op, i.signedA = "TDPBSUD", int8Products, true
	case key{0x5e, x66, false}:
		i.name, i.op, i.signedB = "TDPBUSD", int8Products, true
	case key{0x5e, none, false}:
		i.name, i.op = "TDPBUUD", int8Products
	default:
		return false
	}
	return true
}

// address reads the bytes of a memory operand; false if they are not all there.
func (i *instruction) address(code []byte) bool {
	mod, rm := code[4]>>6, int(code[4]&7)
	extendX, extendB := int(^code[1]>>6&1)<<3, int(^code[1]>>5&1)<<3
	i.base = rm | extendB
	at := 5
	if rm == 4 {
		if len(code) < 6 {
			return false
		}
		sib := code[5]
		at++
		if index := int(sib>>3&7) | extendX; index != 4 {
			i.index, i.scale = index, uint(sib>>6)
		}
		if i.base = int(sib&7) | extendB; sib&7 == 5 && mod == 0 {
			i.base, mod = none, 2
		}
	} else if rm == 5 && mod == 0 {
		i.base, mod = ripBase, 2
	}
	size := [...]int{0, 1, 4}[mod]
	if len(code) < at+size {
		return false
	}
	switch size {
	case 1:
		i.displacement = int64(int8(code[at]))
	case 4:
		i.displacement = int64(int32(uint32(code[at]) | uint32(code[at+1])<<8 | uint32(code[at+2])<<16 | uint32(code[at+3])<<24))
	}
	i.length = at + size
	return true
}
