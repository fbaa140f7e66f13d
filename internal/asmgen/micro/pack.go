package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transposeStub declares the functions of this file in Go.
const transposeStub = `
//go:noinline
func callCopyRows(dst, src unsafe.Pointer, stride, rows uintptr) {
	copyRows(dst, src, stride, rows)
}

//go:noescape
func copyRows(dst, src unsafe.Pointer, stride, rows uintptr)

//go:noinline
func callTranspose8(dst, src unsafe.Pointer, to, from, blocks uintptr) {
	transpose8(dst, src, to, from, blocks)
}

//go:noescape
func transpose8(dst, src unsafe.Pointer, to, from, blocks uintptr)
`

// emitTranspose emits transpose8, which reads 8 rows of 8·blocks float32, from bytes apart, and stores their transpose as 8·blocks
// rows of 8 numbers, to bytes apart.
func emitTranspose() {
	TEXT("transpose8", NOSPLIT, "func(dst, src uintptr, to, from, blocks uintptr)")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	to, from := Load(Param("to"), GP64()), Load(Param("from"), GP64())
	blocks := Load(Param("blocks"), GP64())
	to3, from3, high := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: to}.Idx(to, 2), to3)
	LEAQ(Mem{Base: from}.Idx(from, 2), from3)
	LEAQ(Mem{Base: src}.Idx(from, 4), high)
	row := func(base, stride, stride3 reg.Register, i int) Mem {
		switch i {
		case 1:
			return Mem{Base: base}.Idx(stride, 1)
		case 2:
			return Mem{Base: base}.Idx(stride, 2)
		case 3:
			return Mem{Base: base}.Idx(stride3, 1)
		}
		return Mem{Base: base}
	}
	Label("block")
	var in, pairs, quads [8]reg.VecVirtual
	for i := range in {
		in[i] = YMM()
		base := src
		if i >= 4 {
			base = high
		}
		VMOVUPS(row(base, from, from3, i%4), in[i])
	}
	for i := 0; i < 8; i += 2 { // a0 b0 a1 b1 | a4 b4 a5 b5 and a2 b2 a3 b3 | a6 b6 a7 b7
		pairs[i], pairs[i+1] = YMM(), YMM()
		VUNPCKLPS(in[i+1], in[i], pairs[i])
		VUNPCKHPS(in[i+1], in[i], pairs[i+1])
	}
	for half := 0; half < 8; half += 4 { // columns 0, 1, 2, 3 | 4, 5, 6, 7 of four rows
		p, q := pairs[half:half+4], quads[half:half+4]
		for i := range q {
			q[i] = YMM()
		}
		VSHUFPS(U8(0x44), p[2], p[0], q[0])
		VSHUFPS(U8(0xee), p[2], p[0], q[1])
		VSHUFPS(U8(0x44), p[3], p[1], q[2])
		VSHUFPS(U8(0xee), p[3], p[1], q[3])
	}
	below := GP64()
	LEAQ(Mem{Base: dst}.Idx(to, 4), below)
	for i := range 4 {
		low, top := YMM(), YMM()
		VPERM2F128(U8(0x20), quads[4+i], quads[i], low)
		VPERM2F128(U8(0x31), quads[4+i], quads[i], top)
		VMOVUPS(low, row(dst, to, to3, i))
		VMOVUPS(top, row(below, to, to3, i))
	}
	ADDQ(U8(32), src)
	ADDQ(U8(32), high)
	LEAQ(Mem{Base: dst}.Idx(to, 8), dst)
	DECQ(blocks)
	JNE(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// emitCopyRows emits copyRows, which copies rows of 128 bytes, stride bytes apart, into consecutive panel rows.
func emitCopyRows() {
	TEXT("copyRows", NOSPLIT, "func(dst, src uintptr, stride, rows uintptr)")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	stride, rows := Load(Param("stride"), GP64()), Load(Param("rows"), GP64())
	Label("row")
	var v [4]reg.VecVirtual
	for i := range v {
		v[i] = YMM()
		VMOVUPS(Mem{Base: src, Disp: 32 * i}, v[i])
	}
	for i := range v {
		VMOVUPS(v[i], Mem{Base: dst, Disp: 32 * i})
	}
	ADDQ(stride, src)
	ADDQ(U32(128), dst)
	DECQ(rows)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}
