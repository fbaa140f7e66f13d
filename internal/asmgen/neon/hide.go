package main

import "fmt"

// hideRows stores minus infinity where a mask of bytes is 0: see hideRows in ../vec. The bytes of 16 comparisons are doubled twice, to masks of 32
// bits.
func hideRows() {
	fmt.Fprint(&text, "\n// func hideRowsNEON(x, mask unsafe.Pointer, rows, n, stride, maskStep uintptr)\nTEXT ·hideRowsNEON(SB), NOSPLIT, $0-48\n")
	for i, name := range []string{"x", "mask", "rows", "n", "stride", "maskStep"} {
		asm("MOVD %s+%d(FP), R%d", name, 8*i, i)
	}
	zero(0)
	asm("MOVW $0xff800000, R6")
	asm("VDUP R6, V1.S4")
	asm("SUB $16, R3") // the last group
	label("row")
	asm("MOVD $0, R7")
	label("group")
	asm("ADD R1, R7, R8")
	asm("ADD R7<<2, R0, R9")
	asm("VLD1 (R8), [V2.B16]")
	asm("VLD1 (R9), [V16.S4, V17.S4, V18.S4, V19.S4]")
	asm("VCMEQ V0.B16, V2.B16, V2.B16")
	asm("VZIP1 V2.B16, V2.B16, V3.B16")
	asm("VZIP2 V2.B16, V2.B16, V4.B16")
	for i, half := range []v{3, 4} {
		asm("VZIP1 %v.H8, %[1]v.H8, %v.H8", half, v(5+2*i))
		asm("VZIP2 %v.H8, %[1]v.H8, %v.H8", half, v(6+2*i))
	}
	for i := range 4 {
		asm("VBIT %v.B16, V1.B16, %v.B16", v(5+i), v(16+i))
	}
	asm("VST1 [V16.S4, V17.S4, V18.S4, V19.S4], (R9)")
	asm("CMP R3, R7")
	asm("BEQ end")
	asm("ADD $16, R7")
	asm("CMP R3, R7")
	asm("CSEL GT, R3, R7, R7")
	asm("B group")
	label("end")
	asm("ADD R4, R0")
	asm("ADD R5, R1")
	asm("SUBS $1, R2")
	asm("BNE row")
	asm("RET")
}
