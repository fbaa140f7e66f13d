package main

import "github.com/gokeras/gokeras/internal/asmgen/arm64"

// The registers for arm64: V0 to V3 hold half a line of weights at a time, V4 to V6 a number of each row of x, V7 what
// turns the weights into signed numbers, V8 onwards the sums of half a panel, 8 vectors per row.
const (
	firstWeight arm64.V = 0
	firstX      arm64.V = 4
	flip        arm64.V = 7
	firstSum    arm64.V = 8
)

// writeNEON writes products of one to three rows with half a panel, using instructions that add four products of signed
// bytes at once (FEAT_DotProd), and those with 4-bit numbers.
func writeNEON(name string) error {
	t := arm64.NewText(generator)
	for rows := 1; rows <= 3; rows++ {
		dots(t, rows)
	}
	nibblesDots(t, 1)
	nibblesDots(t, 2)
	combineNEON(t)
	return t.WriteFile(name)
}

func dots(t *arm64.Text, rows int) {
	t.Raw("\n// rows%[1]dDots adds %[1]d rows of x times half a panel to c.\n"+
		"// func rows%[1]dDots(c, x, w unsafe.Pointer, groups, ldc, ldx uintptr)\nTEXT ·rows%[1]dDots(SB), NOSPLIT, $0-48\n", rows)
	for i, name := range []string{"c", "x", "w", "groups", "ldc", "ldx"} {
		t.Asm("MOVD %s+%d(FP), R%d", name, 8*i, i)
	}
	for r := 1; r < rows; r++ { // R6, R7
		from := 1
		if r > 1 {
			from = 4 + r
		}
		t.Asm("ADD R5, R%d, R%d", from, 5+r)
	}
	t.Asm("MOVD $0x80, R9")
	t.Asm("VDUP R9, %v.B16", flip)
	eachSum := func(instruction func(list, address string)) {
		t.Asm("MOVD R0, R8")
		for r := range rows {
			t.Asm("ADD $64, R8, R10")
			instruction(arm64.Float32s.List(firstSum+arm64.V(8*r), 4), "(R8)")
			instruction(arm64.Float32s.List(firstSum+arm64.V(8*r+4), 4), "(R10)")
			t.Asm("ADD R4, R8")
		}
	}
	eachSum(func(list, address string) { t.Asm("VLD1 %s, %s", address, list) })
	x := func(r int) int {
		if r == 0 {
			return 1
		}
		return 5 + r
	}
	t.Label("group")
	for r := range rows {
		t.Asm("VLD1R (R%d), [%v.S4]", x(r), firstX+arm64.V(r))
		t.Asm("ADD $4, R%d", x(r))
	}
	t.Asm("ADD $64, R2, R10")
	for half, address := range []string{"(R2)", "(R10)"} {
		t.Asm("VLD1 %s, [V0.B16, V1.B16, V2.B16, V3.B16]", address)
		for i := range 4 {
			t.Asm("VEOR %v.B16, %v.B16, %v.B16", flip, firstWeight+arm64.V(i), firstWeight+arm64.V(i))
		}
		for r := range rows {
			for i := range 4 {
				t.AddDots(firstSum+arm64.V(8*r+4*half+i), firstWeight+arm64.V(i), firstX+arm64.V(r))
			}
		}
	}
	t.Asm("ADD $256, R2")
	t.Asm("SUBS $1, R3")
	t.Asm("BNE group")
	eachSum(func(list, address string) { t.Asm("VST1 %s, %s", list, address) })
	t.Asm("RET")
}
