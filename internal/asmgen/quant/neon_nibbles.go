package main

import "github.com/gokeras/gokeras/internal/asmgen/arm64"

// Products with 4-bit numbers for arm64, eight columns of each half of a panel at a time. V0 and V1 hold 32 bytes of
// weights and then their low halves, V2 and V3 the high halves, V4 a digit of x, V7 the mask of low halves, V8 onwards
// the sums: for each row and digit two vectors of each half. Unsigned numbers below 16 are valid as signed ones too.
const (
	highWeight arm64.V = 2
	digit      arm64.V = 4
	lowMask    arm64.V = 7
)

// nibbleSum is the register with a vector of the sums of a row and a digit. The four vectors are: low, low, high, high.
func nibbleSum(row, digit, vector int) arm64.V {
	return firstSum + arm64.V(4*(digits*row+digit)+vector)
}

// nibblesDots sets the sums of one or two rows of digits times a panel (FEAT_DotProd).
func nibblesDots(t *arm64.Text, rows int) {
	t.Raw("\n// nibbles%[1]dDots sets sums to %[1]d rows of digits times a panel of four bits.\n"+
		"// func nibbles%[1]dDots(sums, x, w unsafe.Pointer, groups, plane uintptr)\nTEXT ·nibbles%[1]dDots(SB), NOSPLIT, $0-40\n", rows)
	for i, name := range []string{"sums", "x", "w", "groups", "plane"} {
		t.Asm("MOVD %s+%d(FP), R%d", name, 8*i, i)
	}
	t.Asm("MOVD $15, R9")
	t.Asm("VDUP R9, %v.B16", lowMask)
	t.Asm("MOVD $4, R12") // quarters
	t.Label("quarter")
	t.Asm("MOVD R1, R19") // the plane of each row and digit
	for i := 1; i < rows*digits; i++ {
		t.Asm("ADD R4, R%d, R%d", 18+i, 19+i)
	}
	t.Asm("MOVD R2, R7")
	t.Asm("MOVD R3, R8")
	for i := range 4 * digits * rows {
		t.Zero(firstSum + arm64.V(i))
	}
	t.Label("group")
	t.Asm("VLD1 (R7), [V0.B16, V1.B16]")
	for i := range 2 {
		t.Asm("VUSHR $4, V%d.B16, %v.B16", i, highWeight+arm64.V(i))
		t.Asm("VAND %v.B16, V%d.B16, V%d.B16", lowMask, i, i)
	}
	for row := range rows {
		for d := range digits {
			t.Asm("VLD1R.P 4(R%d), [%v.S4]", 19+digits*row+d, digit)
			for v := range 4 {
				t.AddDots(nibbleSum(row, d, v), firstWeight+arm64.V(v), digit)
			}
		}
	}
	t.Asm("ADD $128, R7")
	t.Asm("SUBS $1, R8")
	t.Asm("BNE group")
	t.Asm("MOVD R0, R10")
	for row := range rows {
		for d := range digits {
			t.Asm("VST1 %s, (R10)", arm64.Float32s.List(nibbleSum(row, d, 0), 2))
			t.Asm("ADD $128, R10, R11")
			t.Asm("VST1 %s, (R11)", arm64.Float32s.List(nibbleSum(row, d, 2), 2))
			t.Asm("ADD $256, R10")
		}
	}
	t.Asm("ADD $32, R0")
	t.Asm("ADD $32, R2")
	t.Asm("SUBS $1, R12")
	t.Asm("BNE quarter")
	t.Asm("RET")
}

// combineNEON is combine for arm64, eight columns at a time.
func combineNEON(t *arm64.Text) {
	const (
		narrow, zero, total, sum, by          = arm64.V(0), arm64.V(1), arm64.V(3), arm64.V(4), arm64.V(5)
		factor, base, excess, sumsOfX arm64.V = 16, 17, 18, 19
	)
	t.Raw("\n// combineNEON adds the numbers that a block's sums represent to y.\n" +
		"// func combineNEON(y, sums, zero, scale, digits, how unsafe.Pointer)\nTEXT ·combineNEON(SB), NOSPLIT, $0-48\n")
	for i, name := range []string{"y", "sums", "zero", "scale", "digits", "how"} {
		t.Asm("MOVD %s+%d(FP), R%d", name, 8*i, i)
	}
	t.Asm("VLD1R.P 4(R5), [%v.S4]", factor)
	t.Asm("VLD1R (R5), [%v.S4]", excess)
	for d := range digits {
		t.Asm("VLD1R.P 4(R4), [%v.S4]", sumsOfX+arm64.V(d))
	}
	t.Asm("MOVD $0x43800000, R9") // 256
	t.Asm("VDUP R9, %v.S4", base)
	t.Asm("MOVD $8, R12")
	t.Label("eight")
	t.Asm("VLD1.P 8(R2), [%v.B8]", narrow)
	t.WidenSigned(narrow, narrow, 1, false)
	t.WidenSigned(zero, narrow, 2, false)
	t.WidenSigned(zero+1, narrow, 2, true)
	for half := range 2 {
		z := zero + arm64.V(half)
		t.Asm("VADD %v.S4, %v.S4, %v.S4", excess, z, z)
		for d := digits - 1; d >= 0; d-- {
			t.Asm("ADD $%d, R1, R10", 256*d)
			t.Asm("VLD1 (R10), [%v.S4]", sum)
			t.SubtractIntProduct(sum, z, sumsOfX+arm64.V(d))
			t.ToFloat(sum, sum)
			if d == digits-1 {
				t.Move(total, sum)
				continue
			}
			t.Multiply(arm64.Float32s, total, total, base)
			t.Add(arm64.Float32s, total, total, sum)
		}
		t.Asm("VLD1.P 16(R3), [%v.S4]", by)
		t.Multiply(arm64.Float32s, by, by, factor)
		t.Multiply(arm64.Float32s, total, total, by)
		t.Asm("VLD1 (R0), [%v.S4]", sum)
		t.Add(arm64.Float32s, total, total, sum)
		t.Asm("VST1.P [%v.S4], 16(R0)", total)
		t.Asm("ADD $16, R1")
	}
	t.Asm("SUBS $1, R12")
	t.Asm("BNE eight")
	t.Asm("RET")
}
