package main

// Completed sums are rounded to bfloat16 while they are in the first-level cache. Z0 and Z1 hold a row of them, Z3 the
// lower bound, Z4 and Z5 the bias. K1 masks the columns, K2 and K3 those of either tile. Z6 and Z7 are indices of the
// words that become the upper halves of numbers, and K4 selects these. For each row, the same row of the next block is
// prefetched: the processor does not predict pieces of 64 bytes that are rows apart, and stores to memory that is not
// cached took up to three times as long.

// beginRounding sets the registers that are constant during a call.
func (t *text) beginRounding(columns int) {
	for _, at := range [][2]int{{fieldHalf, fieldHalfAt}, {fieldBias, fieldBiasAt}} {
		t.Asm("MOVQ %d(DI), AX", at[0])
		t.Asm("MOVQ AX, %d(DI)", at[1])
	}
	t.Asm("MOVQ %d(DI), AX", fieldMask)
	t.Asm("KMOVD AX, K1")
	t.Asm("KMOVW AX, K2")
	if columns == 2 {
		t.Asm("SHRQ $16, AX")
		t.Asm("KMOVW AX, K3")
	}
	t.Asm("VBROADCASTSS %d(DI), Z3", fieldFloor)
	if columns == 2 {
		t.Asm("CMPQ %d(DI), $0", fieldBias)
		t.Asm("JEQ line")
		t.Asm("MOVL $0xaaaaaaaa, AX")
		t.Asm("KMOVD AX, K4")
		t.Asm("VPMOVZXBD ·sixteen(SB), Z6")
		t.Asm("VPSLLD $16, Z6, Z6")
		t.Asm("MOVL $0x100000, AX")
		t.Asm("VPBROADCASTD AX, Z7")
		t.Asm("VPADDD Z6, Z7, Z7")
	}
}

// round rounds the block of C.
func (t *text) round(rows, columns int) {
	t.Asm("MOVQ %d(DI), R12", fieldRounded)
	t.Asm("TESTQ R12, R12")
	t.Asm("JEQ rounded")
	t.Asm("MOVQ %d(DI), AX", fieldCBlockAt)
	t.Asm("MOVQ %d(DI), BX", fieldHalfBlockAt)
	t.Asm("MOVQ %d(DI), CX", fieldCRow)
	t.Asm("MOVQ %d(DI), R8", fieldHalfRow)
	t.Asm("MOVQ %d(DI), R13", fieldBiasAt)
	t.next("R15", "BX", "near")
	t.Asm("TESTQ R13, R13")
	t.Asm("JNE bias")
	t.roundRows("row", rows, columns, false)
	t.Asm("JMP rounded")
	t.Label("bias")
	t.loadBias(columns)
	t.roundRows("biasrow", rows, columns, true)
	t.Label("rounded")
}

// next sets a register to the distance from the block's row in another register to the same row of the next block.
func (t *text) next(distance, block, label string) {
	t.Asm("MOVQ %d(DI), %s // from a row to the same row of the next block", fieldHalfBlock, distance)
	t.Asm("CMPQ %d(DI), $1", fieldBlocksLeft)
	t.Asm("JNE %s", label)
	t.Asm("MOVQ %d(DI), %s // the next line's first block", fieldHalfAt, distance)
	t.Asm("ADDQ %d(DI), %s", fieldHalfLine, distance)
	t.Asm("SUBQ %s, %s", block, distance)
	t.Label(label)
}

// loadBias loads the bias at R13.
func (t *text) loadBias(columns int) {
	t.Asm("VMOVUPS.Z (R13), K2, Z4")
	if columns == 2 {
		t.Asm("VMOVUPS.Z 64(R13), K3, Z5")
	}
}

// roundRows rounds the rows of the first tile and then those of the second, if there is one.
func (t *text) roundRows(label string, rows, columns int, bias bool) {
	if rows == 2 {
		t.Asm("XORL R9, R9")
	}
	t.Label(label)
	t.roundRow("AX", "BX", columns, bias)
	t.Asm("BYTE $0x42; BYTE $0x0f; BYTE $0x0d; BYTE $0x4c; BYTE $0x3b; BYTE $%#02x // PREFETCHW %d(BX)(R15*1)", 32*columns-2, 32*columns-2)
	t.Asm("ADDQ CX, AX")
	t.Asm("ADDQ R8, BX")
	t.Asm("DECQ R12")
	t.Asm("JNZ %s", label)
	if rows == 2 {
		t.Asm("TESTQ R9, R9")
		t.Asm("JNE rounded")
		t.Asm("INCQ R9")
		t.Asm("MOVQ %d(DI), R12", fieldRoundedSecond)
		t.Asm("MOVQ %d(DI), AX", fieldCBlockAt)
		t.Asm("ADDQ %d(DI), AX", fieldCSecond)
		t.Asm("MOVQ %d(DI), BX", fieldHalfBlockAt)
		t.Asm("ADDQ %d(DI), BX", fieldHalfSecond)
		t.Asm("JMP %s", label)
	}
}

// roundRow rounds the row of sums at one register and stores it at another. Two rounded vectors are one vector; its
// words are moved to where they are the upper halves of numbers.
func (t *text) roundRow(from, to string, columns int, bias bool) {
	for c := range columns {
		t.Asm("VMOVUPS.Z %d(%s), K%d, Z%d", 64*c, from, 2+c, c)
	}
	switch {
	case bias && columns == 2:
		t.toHalves()
		t.Asm("VPERMW.Z Z2, Z6, K4, Z0")
		t.Asm("VPERMW.Z Z2, Z7, K4, Z1")
	case bias:
		t.toHalf(0, 0)
		t.Asm("VPMOVZXWD Y0, Z0")
		t.Asm("VPSLLD $16, Z0, Z0")
	}
	for c := range columns {
		if bias {
			t.Asm("VADDPS Z%d, Z%d, Z%d", 4+c, c, c)
		}
		t.Asm("VMAXPS Z%d, Z3, Z%d", c, c)
	}
	if columns == 2 {
		t.toHalves()
		t.Asm("VMOVDQU16 Z2, K1, (%s)", to)
	} else {
		t.toHalf(0, 2)
		t.Asm("VMOVDQU16 Y2, K1, (%s)", to)
	}
}

// toHalves rounds the first two registers to the third.
func (t *text) toHalves() {
	t.Asm("BYTE $0x62; BYTE $0xf2; BYTE $0x77; BYTE $0x48; BYTE $0x72; BYTE $0xd0 // VCVTNE2PS2BF16 zmm2, zmm1, zmm0")
}

// toHalf writes VCVTNEPS2BF16 of one of the first eight registers.
func (t *text) toHalf(from, to int) {
	t.Asm("BYTE $0x62; BYTE $0xf2; BYTE $0x7e; BYTE $0x48; BYTE $0x72; BYTE $%#02x // VCVTNEPS2BF16 ymm%d, zmm%d", 0xc0|to<<3|from, to, from)
}
