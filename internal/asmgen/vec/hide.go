package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// hideRows stores minus infinity where a mask of bytes is 0, in rows of n numbers, at least a group: the last group of a row may repeat
// numbers of the one before it. Stride counts bytes; maskStep those to the next row's mask.
func (m machine) hideRows() {
	m.begin("", "hideRows", "x, mask unsafe.Pointer, rows, n, stride, maskStep uintptr", "")
	x, mask, rows, n, stride, maskStep := param("x"), param("mask"), param("rows"), param("n"), param("stride"), param("maskStep")
	infinity := m.load(constant("minusInfinity", 0xff800000))
	at, last := GP64(), GP64()
	LEAQ(Mem{Base: n, Disp: -group}, last)
	zero := YMM()
	if !m.wide {
		VPXOR(zero, zero, zero)
	}
	Label("row")
	XORQ(at, at)
	Label("group")
	if m.wide {
		bytes, k := XMM(), K()
		VMOVDQU(Mem{Base: mask}.Idx(at, 1), bytes)
		VPTESTNMB(bytes, bytes, k)
		VMOVUPS(infinity, k, Mem{Base: x}.Idx(at, 4))
	} else {
		for i := range m.groupVectors() {
			v, hidden := YMM(), YMM()
			VPMOVZXBD(Mem{Base: mask, Disp: 8 * i}.Idx(at, 1), hidden)
			VPCMPEQD(zero, hidden, hidden)
			VMOVUPS(Mem{Base: x, Disp: 32 * i}.Idx(at, 4), v)
			VBLENDVPS(hidden, infinity, v, v)
			VMOVUPS(v, Mem{Base: x, Disp: 32 * i}.Idx(at, 4))
		}
	}
	CMPQ(at, last)
	JEQ(LabelRef("rowEnd"))
	ADDQ(U8(group), at)
	CMPQ(at, last)
	CMOVQGT(last, at)
	JMP(LabelRef("group"))
	Label("rowEnd")
	ADDQ(stride, x)
	ADDQ(maskStep, mask)
	DECQ(rows)
	JNE(LabelRef("row"))
	end()
}
