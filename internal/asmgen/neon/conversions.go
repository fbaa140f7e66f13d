package main

import "fmt"

// conversions are written by hand: the processor has instructions for them.
var conversions = map[string]func(){
	"widenF16":   func() { widen("widenF16", "fcvtl", 0x0e217800) },
	"widenBF16":  func() { widen("widenBF16", "shll", 0x2e613800) },
	"narrowF16":  func() { narrow("narrowF16", nil) },
	"narrowBF16": func() { narrow("narrowBF16", roundBF16) },
	"hideRows":   hideRows,
}

func conversion(name string, body func()) {
	fmt.Fprintf(&text, "\n// func %[1]sNEON(dst, x, n)\nTEXT ·%[1]sNEON(SB), NOSPLIT, $0-24\n", name)
	asm("MOVD dst+0(FP), R0")
	asm("MOVD x+8(FP), R1")
	asm("MOVD n+16(FP), R2")
	label("loop")
	asm("SUBS $8, R2")
	asm("BLO end")
	body()
	asm("B loop")
	label("end")
	asm("RET")
}

// widen makes floats of eight numbers of 16 bits with an instruction that has a form for the upper four.
func widen(name, op string, code uint32) {
	conversion(name, func() {
		asm("VLD1.P 16(R1), [V0.H8]")
		asm("WORD $0x%08x // %s v2.4s, v0.4h", code|2, op)
		asm("WORD $0x%08x // %s2 v3.4s, v0.8h", code|1<<30|3, op)
		asm("VST1.P [V2.S4, V3.S4], 32(R0)")
	})
}

// narrow rounds eight floats to 16 bits: with fcvtn, or with round, which leaves the result in the lower halves, and xtn.
func narrow(name string, round func(x v)) {
	code, op := uint32(0x0e216800), "fcvtn"
	if round != nil {
		code, op = 0x0e612800, "xtn"
	}
	conversion(name, func() {
		asm("VLD1.P 32(R1), [V0.S4, V1.S4]")
		for x := range v(2) {
			if round != nil {
				round(x)
			}
		}
		asm("WORD $0x%08x // %s v2.4h, v0.4s", code|2, op)
		asm("WORD $0x%08x // %s2 v2.8h, v1.4s", code|1<<30|1<<5|2, op)
		asm("VST1.P [V2.H8], 16(R0)")
	})
}

// roundBF16 rounds to the nearest, ties to even: x + 0x7fff + bit 16, shifted down. A NaN keeps its upper half, made quiet.
func roundBF16(x v) {
	k := float32s
	asm("MOVD $0x7fff, R3")
	asm("VDUP R3, V20.S4")
	asm("MOVD $0x400000, R3")
	asm("VDUP R3, V21.S4")
	k.three("orr", 0x4ea01c00, 22, x, 21) // quiet
	k.three("fcmeq", 0x4e20e400, 23, x, x)
	asm("WORD $0x%08x // shl v24.4s, v%d.4s, #15", 0x4f005400|(32+15)<<16|uint32(x)<<5|24, x)
	asm("WORD $0x%08x // ushr v24.4s, v24.4s, #31", 0x6f000400|(64-31)<<16|24<<5|24)
	k.three("add", 0x4ea08400, 24, 24, 20)
	k.three("add", 0x4ea08400, 24, 24, x)
	k.three("bsl", 0x6e601c00, 23, 24, 22)
	asm("WORD $0x%08x // ushr v%d.4s, v23.4s, #16", 0x6f000400|(64-16)<<16|23<<5|uint32(x), x)
}
