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
func callTranspose8(dst, src unsafe.Pointer, stride, blocks uintptr) {
	transpose8(dst, src, stride, blocks)
}

//go:noescape
func transpose8(dst, src unsafe.Pointer, stride, blocks uintptr)
`

// emitTranspose emits transpose8, which reads 8 rows of 8·blocks float32, stride bytes apart, and stores their transpose as
// 8·blocks rows of 8 numbers, one panel row (128 bytes) apart.
func emitTranspose() {
	TEXT("transpose8", NOSPLIT, "func(dst, src uintptr, stride, blocks uintptr)")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	stride, blocks := Load(Param("stride"), GP64()), Load(Param("blocks"), GP64())
	stride3, high := GP64(), GP64()
	LEAQ(Mem{Base: stride}.Idx(stride, 2), stride3)
	LEAQ(Mem{Base: src}.Idx(stride, 4), high)
	Label("block")
	var in, pairs, quads [8]reg.VecVirtual
	for i := range in {
		in[i] = YMM()
		m := Mem{Base: src}
		if i >= 4 {
			m.Base = high
		}
		switch i % 4 {
		case 1:
			m = m.Idx(stride, 1)
		case 2:
			m = m.Idx(stride, 2)
		case 3:
			m = m.Idx(stride3, 1)
		}
		VMOVUPS(m, in[i])
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
	for i := range 4 {
		low, top := YMM(), YMM()
		VPERM2F128(U8(0x20), quads[4+i], quads[i], low)
		VPERM2F128(U8(0x31), quads[4+i], quads[i], top)
		VMOVUPS(low, Mem{Base: dst, Disp: 128 * i})
		VMOVUPS(top, Mem{Base: dst, Disp: 128 * (4 + i)})
	}
	ADDQ(U8(32), src)
	ADDQ(U8(32), high)
	ADDQ(U32(8*128), dst)
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
