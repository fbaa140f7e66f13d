package main

import "github.com/gokeras/gokeras/internal/asmgen/arm64"

// Operands without the layout that the matrix registers need are transposed in blocks of 16 by 16 pairs, or copied, in
// vectors with masks: rows of any length and distance, padded with zeros. Z0 to Z15 hold a block; K1 masks the existing
// numbers.

// ofTurns returns the functions that rearrange operands.
func ofTurns() *text {
	t := &text{arm64.NewText("internal/asmgen/amx")}
	t.turnPairs()
	t.turnRows()
	t.copyRows()
	return t
}

// zeros clears the block.
func (t *text) zeros() {
	for i := range 16 {
		t.Asm("VPXORD Z%d, Z%d, Z%d", i, i, i)
	}
}

// mask sets as many bits of a mask as a register says, at most 32.
func (t *text) mask(k, count string) {
	t.Asm("MOVL $32, CX")
	t.Asm("CMPQ %s, CX", count)
	t.Asm("CMOVQLT %s, CX", count)
	t.Asm("MOVQ $-1, AX")
	t.Asm("BZHIQ CX, AX, AX")
	t.Asm("KMOVD AX, %s", k)
}

// transpose exchanges the rows and columns of the block.
func (t *text) transpose() {
	for i := 0; i < 16; i += 2 {
		t.Asm("VPUNPCKLDQ Z%d, Z%d, Z%d", i+1, i, 16+i)
		t.Asm("VPUNPCKHDQ Z%d, Z%d, Z%d", i+1, i, 17+i)
	}
	for g := 0; g < 16; g += 4 {
		for i := range 2 {
			t.Asm("VPUNPCKLQDQ Z%d, Z%d, Z%d", 16+g+2+i, 16+g+i, g+2*i)
			t.Asm("VPUNPCKHQDQ Z%d, Z%d, Z%d", 16+g+2+i, 16+g+i, g+2*i+1)
		}
	}
	for i := range 4 {
		for g := 0; g < 16; g += 8 {
			t.Asm("VSHUFI32X4 $0x88, Z%d, Z%d, Z%d", g+4+i, g+i, 16+g+i)
			t.Asm("VSHUFI32X4 $0xdd, Z%d, Z%d, Z%d", g+4+i, g+i, 20+g+i)
		}
	}
	for i := range 8 {
		t.Asm("VSHUFI32X4 $0x88, Z%d, Z%d, Z%d", 24+i, 16+i, i)
		t.Asm("VSHUFI32X4 $0xdd, Z%d, Z%d, Z%d", 24+i, 16+i, 8+i)
	}
}

// storeRows stores as many rows of the block as a register says, stride bytes apart.
func (t *text) storeRows(base, count string, stride int) {
	for i := range 16 {
		t.Asm("VMOVDQU32 Z%d, %d(%s)", i, i*stride, base)
		if i < 15 {
			t.Asm("CMPQ %s, $%d", count, i+1)
			t.Asm("JLE stored")
		}
	}
	t.Label("stored")
}

// turnPairs transposes pairs of rows: 32 rows of columns become a row of 16 pairs for each column.
func (t *text) turnPairs() {
	t.Raw("\n// func turnPairs(dst, src unsafe.Pointer, columns, rows, from int)\nTEXT ·turnPairs(SB), NOSPLIT, $0-40\n")
	t.Asm("MOVQ dst+0(FP), DI")
	t.Asm("MOVQ src+8(FP), SI")
	t.Asm("MOVQ columns+16(FP), R8")
	t.Asm("MOVQ rows+24(FP), R9")
	t.Asm("MOVQ from+32(FP), R10")
	t.Asm("MOVQ R10, R13")
	t.Asm("SHLQ $5, R13 // from a part to the next")
	t.Label("part")
	t.Asm("MOVQ SI, R11")
	t.Asm("MOVQ R8, R12")
	t.Label("block")
	t.mask("K1", "R12")
	t.Asm("MOVQ R11, BX")
	t.zeros()
	for i := range 16 {
		t.Asm("VPMOVZXWD.Z (BX), K1, Z%d", i)
		t.Asm("PREFETCHT1 (BX)(R13*1)")
		t.Asm("ADDQ R10, BX")
		t.Asm("CMPQ R9, $%d", 2*i+1)
		t.Asm("JLE loaded")
		t.Asm("VPMOVZXWD.Z (BX), K1, Z16")
		t.Asm("PREFETCHT1 (BX)(R13*1)")
		t.Asm("ADDQ R10, BX")
		t.Asm("VPSLLD $16, Z16, Z16")
		t.Asm("VPORD Z16, Z%d, Z%d", i, i)
		if i < 15 {
			t.Asm("CMPQ R9, $%d", 2*i+2)
			t.Asm("JLE loaded")
		}
	}
	t.Label("loaded")
	t.transpose()
	t.storeRows("DI", "R12", 64)
	t.Asm("MOVL $16, CX")
	t.Asm("CMPQ R12, CX")
	t.Asm("CMOVQLT R12, CX")
	t.Asm("SHLQ $6, CX")
	t.Asm("ADDQ CX, DI")
	t.Asm("ADDQ $32, R11")
	t.Asm("SUBQ $16, R12")
	t.Asm("JGT block")
	t.Asm("ADDQ R13, SI")
	t.Asm("SUBQ $32, R9")
	t.Asm("JGT part")
	t.Asm("VZEROUPPER")
	t.Asm("RET")
}

// turnRows transposes up to 32 rows of numbers: each pair of a row becomes a column of a panel.
func (t *text) turnRows() {
	t.Raw("\n// func turnRows(dst, src unsafe.Pointer, rows, numbers, from int)\nTEXT ·turnRows(SB), NOSPLIT, $0-40\n")
	t.Asm("MOVQ dst+0(FP), DI")
	t.Asm("MOVQ src+8(FP), SI")
	t.Asm("MOVQ rows+16(FP), R8")
	t.Asm("MOVQ numbers+24(FP), R9")
	t.Asm("MOVQ from+32(FP), R10")
	t.Label("part")
	t.mask("K1", "R9")
	t.Asm("MOVQ R9, R12")
	t.Asm("INCQ R12")
	t.Asm("SHRQ $1, R12 // pairs")
	t.Asm("MOVQ SI, BX")
	t.Asm("MOVQ R8, R13")
	t.Asm("MOVQ DI, DX")
	t.Label("block")
	t.zeros()
	for i := range 16 {
		t.Asm("VMOVDQU16.Z (BX), K1, Z%d", i)
		t.Asm("ADDQ R10, BX")
		if i < 15 {
			t.Asm("CMPQ R13, $%d", i+1)
			t.Asm("JLE loaded")
		}
	}
	t.Label("loaded")
	t.transpose()
	t.storeRows("DX", "R12", 128)
	t.Asm("ADDQ $64, DX")
	t.Asm("SUBQ $16, R13")
	t.Asm("JGT block")
	t.Asm("ADDQ $64, SI")
	t.Asm("ADDQ $2048, DI")
	t.Asm("SUBQ $32, R9")
	t.Asm("JGT part")
	t.Asm("VZEROUPPER")
	t.Asm("RET")
}

// copyRows copies rows and pads them with zeros, up to a number of words that end in the row's last vector.
func (t *text) copyRows() {
	t.Raw("\n// func copyRows(dst, src unsafe.Pointer, rows, numbers, words, to, from int)\nTEXT ·copyRows(SB), NOSPLIT, $0-56\n")
	t.Asm("MOVQ dst+0(FP), DI")
	t.Asm("MOVQ src+8(FP), SI")
	t.Asm("MOVQ rows+16(FP), R8")
	t.Asm("MOVQ numbers+24(FP), R9")
	t.Asm("MOVQ words+32(FP), R10")
	t.Asm("MOVQ to+40(FP), R11")
	t.Asm("MOVQ from+48(FP), R12")
	t.Asm("LEAQ -1(R10), R13")
	t.Asm("SHRQ $4, R13 // whole vectors before the last one")
	t.Asm("MOVQ R13, AX")
	t.Asm("SHLQ $4, AX")
	t.Asm("SUBQ AX, R10")
	t.Asm("SHLQ $1, AX")
	t.Asm("SUBQ AX, R9")
	t.mask("K1", "R9")
	t.mask("K2", "R10")
	t.Label("row")
	t.Asm("MOVQ SI, BX")
	t.Asm("MOVQ DI, DX")
	t.Asm("MOVQ R13, AX")
	t.Asm("TESTQ AX, AX")
	t.Asm("JEQ last")
	t.Label("vector")
	t.Asm("VMOVDQU64 (BX), Z0")
	t.Asm("VMOVDQU64 Z0, (DX)")
	t.Asm("ADDQ $64, BX")
	t.Asm("ADDQ $64, DX")
	t.Asm("DECQ AX")
	t.Asm("JNZ vector")
	t.Label("last")
	t.Asm("VMOVDQU16.Z (BX), K1, Z0")
	t.Asm("VMOVDQU32 Z0, K2, (DX)")
	t.Asm("ADDQ R12, SI")
	t.Asm("ADDQ R11, DI")
	t.Asm("DECQ R8")
	t.Asm("JNZ row")
	t.Asm("VZEROUPPER")
	t.Asm("RET")
}
