package main

import "fmt"

// Blocks of two by two tiles are rounded while the next block is multiplied. Products of matrix registers leave the
// other units idle, and the processor does not look far enough ahead to start the next block's products during 32 rows
// of rounding. Some rows of the previous block are therefore rounded between products; its remaining rows follow the
// last step, before the sums of the current block take their place.
//
// R10 and R11 are the next row of sums and of results, R14 is the distance from that row of results to the same row in
// the next block, Z4 and Z5 are the bias. No rows are pending when R10 is at the end.

const (
	laterRows     = 8 // rows rounded per step, each of whose four products takes 16 cycles
	laterUnrolled = 8 // unrolled for the remaining rows: fewer loop branches to predict
)

// beginLater notes that no rows are pending.
func (t *text) beginLater() {
	t.Asm("XORL R10, R10")
	t.Asm("MOVQ R10, %d(DI)", fieldLaterEnd)
}

// later leaves the block in C for the next one to round, if the caller wants that.
func (t *text) later() {
	t.Asm("MOVQ %d(DI), AX", fieldLater)
	t.Asm("TESTQ AX, AX")
	t.Asm("JEQ now")
	t.Asm("MOVQ %d(DI), R10", fieldCBlockAt)
	t.Asm("ADDQ R10, AX")
	t.Asm("MOVQ AX, %d(DI)", fieldLaterEnd)
	t.Asm("MOVQ %d(DI), R11", fieldHalfBlockAt)
	t.next("R14", "R11", "laternear")
	t.Asm("MOVQ %d(DI), R13", fieldBiasAt)
	t.Asm("TESTQ R13, R13")
	t.Asm("JEQ rounded")
	t.loadBias(2)
	t.Asm("JMP rounded")
	t.Label("now")
}

// laterSteps adds the products of steps and rounds rows, until either runs out.
func (t *text) laterSteps() {
	t.Asm("CMPQ R10, %d(DI)", fieldLaterEnd)
	t.Asm("JEQ alone")
	t.Asm("CMPQ %d(DI), $0", fieldBias)
	t.Asm("JNE biasstep")
	for _, bias := range []bool{false, true} {
		label := "laterstep"
		if bias {
			label = "biasstep"
		}
		t.Label(label)
		t.Asm("TESTQ R15, R15")
		t.Asm("JEQ %snear", label)
		t.askAhead()
		t.Label(label + "near")
		t.loadStep(2, 2)
		for i := range 4 {
			t.products(bfloat16Product, i, 4+i/2, 6+i%2)
			for range laterRows / 4 {
				t.laterRow(bias, fmt.Sprintf("%d(DI)", fieldCRow), fmt.Sprintf("%d(DI)", fieldHalfRow))
			}
		}
		t.Asm("DECQ R12")
		t.Asm("JEQ steps")
		t.Asm("CMPQ R10, %d(DI)", fieldLaterEnd)
		t.Asm("JNE %s", label)
		if !bias {
			t.Asm("JMP alone")
		}
	}
	t.Label("alone")
}

// finishLater rounds the remaining rows.
func (t *text) finishLater(label string) {
	t.Asm("MOVQ %d(DI), AX", fieldLaterEnd)
	t.Asm("CMPQ R10, AX")
	t.Asm("JEQ %sdone", label)
	t.Asm("MOVQ %d(DI), CX", fieldCRow)
	t.Asm("MOVQ %d(DI), R8", fieldHalfRow)
	t.Asm("CMPQ %d(DI), $0", fieldBias)
	t.Asm("JNE %sbias", label)
	for _, bias := range []bool{false, true} {
		repeat := label
		if bias {
			repeat += "bias"
		}
		t.Label(repeat)
		for range laterUnrolled {
			t.laterRow(bias, "CX", "R8")
		}
		t.Asm("CMPQ R10, AX")
		t.Asm("JNE %s", repeat)
		if !bias {
			t.Asm("JMP %sdone", label)
		}
	}
	t.Label(label + "done")
}

// laterRow rounds a row.
func (t *text) laterRow(bias bool, cRow, halfRow string) {
	t.roundRow("R10", "R11", 2, bias)
	t.Asm("BYTE $0x43; BYTE $0x0f; BYTE $0x0d; BYTE $0x4c; BYTE $0x33; BYTE $0x3e // PREFETCHW 62(R11)(R14*1)")
	t.Asm("ADDQ %s, R10", cRow)
	t.Asm("ADDQ %s, R11", halfRow)
}
