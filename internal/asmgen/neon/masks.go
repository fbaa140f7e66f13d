package main

import "fmt"

// What makes bytes of masks, or masks of bytes, is written by hand: narrowing and widening take other instructions here. All functions do eight
// elements a turn.
func init() {
	k := float32s
	not := func(d v) { asm("WORD $0x%08x // not v%d.16b, v%d.16b", 0x6e205800|uint32(d)<<5|uint32(d), d, d) }
	both := func(f func(d, a, b v)) func() { // masks in V0 and V1, of V2, V3 and V4, V5
		return func() {
			f(0, 2, 4)
			f(1, 3, 5)
		}
	}
	for name, f := range map[string]func(d, a, b v){
		"floatEqual":     func(d, a, b v) { k.three("fcmeq", 0x4e20e400, d, a, b) },
		"floatNotEqual":  func(d, a, b v) { k.three("fcmeq", 0x4e20e400, d, a, b); not(d) },
		"floatLess":      func(d, a, b v) { k.three("fcmgt", 0x6ea0e400, d, b, a) },
		"floatLessEqual": func(d, a, b v) { k.three("fcmge", 0x6e20e400, d, b, a) },
		"intEqual":       func(d, a, b v) { k.three("cmeq", 0x6ea08c00, d, a, b) },
		"intNotEqual":    func(d, a, b v) { k.three("cmeq", 0x6ea08c00, d, a, b); not(d) },
		"intLess":        func(d, a, b v) { k.three("cmgt", 0x4ea03400, d, b, a) },
		"intLessEqual":   func(d, a, b v) { k.three("cmge", 0x4ea03c00, d, b, a) },
	} {
		conversions[name] = func() { toBytes(name, true, both(f)) }
	}
	conversions["floatNotZero"] = func() {
		toBytes("floatNotZero", false, both(func(d, a, _ v) { k.three("fcmeq", 0x4e20e400, d, a, 6); not(d) }))
	}
	conversions["floatFinite"] = func() {
		toBytes("floatFinite", false, both(func(d, a, _ v) {
			k.two("fabs", 0x4ea0f800, d, a)
			k.three("fcmgt", 0x6ea0e400, d, 8, d)
		}))
	}
	conversions["choose"] = choose
	conversions["fromBytes"] = fromBytes
}

// begin8 begins a function of pointers and n, and its loop.
func begin8(name string, parameters ...string) {
	fmt.Fprintf(&text, "\n// func %[1]sNEON(%[3]v)\nTEXT ·%[1]sNEON(SB), NOSPLIT, $0-%[2]d\n", name, 8*len(parameters), parameters)
	for i, p := range parameters {
		asm("MOVD %s+%d(FP), R%d", p, 8*i, i)
	}
	zero(6)
	asm("VMOVI $1, V7.B8")
	asm("MOVW $0x7f800000, R10")
	asm("VDUP R10, V8.S4")
	label("loop")
	asm("SUBS $8, R%d", len(parameters)-1)
	asm("BLO end")
}

func end8() {
	asm("B loop")
	label("end")
	asm("RET")
}

// toBytes stores the masks that f makes in V0 and V1 as bytes of 0 and 1.
func toBytes(name string, two bool, f func()) {
	if two {
		begin8(name, "dst", "a", "b", "n")
		asm("VLD1.P 32(R1), [V2.S4, V3.S4]")
		asm("VLD1.P 32(R2), [V4.S4, V5.S4]")
	} else {
		begin8(name, "dst", "x", "n")
		asm("VLD1.P 32(R1), [V2.S4, V3.S4]")
	}
	f()
	asm("WORD $0x%08x // xtn v2.4h, v0.4s", 0x0e612800|0<<5|2)
	asm("WORD $0x%08x // xtn2 v2.8h, v1.4s", 0x4e612800|1<<5|2)
	asm("WORD $0x%08x // xtn v2.8b, v2.8h", 0x0e212800|2<<5|2)
	asm("VAND V7.B8, V2.B8, V2.B8")
	asm("VST1.P [V2.B8], 8(R0)")
	end8()
}

// wide8 makes eight integers in V2 and V3 of the bytes in V0.
func wide8() {
	asm("VUSHLL $0, V0.B8, V1.H8")
	asm("VUSHLL $0, V1.H4, V2.S4")
	asm("VUSHLL2 $0, V1.H8, V3.S4")
}

func fromBytes() {
	begin8("fromBytes", "dst", "x", "n")
	asm("VLD1.P 8(R1), [V0.B8]")
	wide8()
	for r := v(2); r < 4; r++ {
		float32s.two("scvtf", 0x4e21d800, r, r)
	}
	asm("VST1.P [V2.S4, V3.S4], 32(R0)")
	end8()
}

func choose() {
	begin8("choose", "dst", "bytes", "a", "b", "n")
	asm("VLD1.P 8(R1), [V0.B8]")
	asm("VLD1.P 32(R2), [V16.S4, V17.S4]")
	asm("VLD1.P 32(R3), [V18.S4, V19.S4]")
	wide8()
	for i := range v(2) {
		float32s.three("cmeq", 0x6ea08c00, 2+i, 2+i, 6) // where the byte is 0
		asm("VBIT %v.B16, %v.B16, %v.B16", 2+i, 18+i, 16+i)
	}
	asm("VST1.P [V16.S4, V17.S4], 32(R0)")
	end8()
}
