package main

import (
	"fmt"
	"strings"
)

// Offsets in the argument block, the struct call of package micro.
const (
	argA = 8 * iota
	argB
	argC
	argBias
	argK
	argSegments
	argOuter
	argARow
	argAK
	argASegment
	argAOuter
	argBK
	argBSegment
	argBOuter
	argCRow
	argFlags
)

// tile is a function that computes rows of a number of vectors; with channels, A is a vector like B.
type tile struct {
	kind
	channels      bool
	vectors, rows int
}

// Registers: the vectors of B in V0 to V3, of A in V4 to V7, the sums in V8 to V31. R1 to R6 point at the rows of A.
const (
	firstB   v = 0
	firstA   v = 4
	firstSum v = 8
)

func (t tile) sum(row, vector int) v { return firstSum + v(row*t.vectors+vector) }

func (t tile) family() string {
	name := t.short + "NEON"
	if t.channels {
		name += "Channels"
	}
	return fmt.Sprintf("%sV%d", name, t.vectors)
}

func (t tile) emit() {
	name := fmt.Sprintf("%sR%d", t.family(), t.rows)
	fmt.Fprintf(&text, "\n// %s computes a tile of %d rows and %d vectors.\n// func %s(c *call)\nTEXT ·%s(SB), NOSPLIT, $0-8\n", name, t.rows, t.vectors, name, name)
	asm("MOVD c+0(FP), R0")
	t.start()
	for _, m := range []struct {
		offset, register int
	}{{argAK, 8}, {argBK, 9}, {argARow, 20}, {argA, 15}, {argB, 19}, {argOuter, 12}} {
		asm("MOVD %d(R0), R%d", m.offset, m.register)
	}
	label("outer")
	asm("MOVD R15, R13")
	asm("MOVD R19, R14")
	asm("MOVD %d(R0), R11", argSegments)
	label("segment")
	asm("MOVD R13, R1")
	for r := 1; r < t.rows; r++ {
		asm("ADD R20, R%d, R%d", r, r+1)
	}
	asm("MOVD R14, R7")
	asm("MOVD %d(R0), R10", argK)
	label("product")
	t.product()
	asm("SUBS $1, R10")
	asm("BNE product")
	t.advance("segment", 13, argASegment, 14, argBSegment, 11)
	t.advance("outer", 15, argAOuter, 19, argBOuter, 12)
	t.finish()
	asm("RET")
}

// advance moves two pointers on and loops.
func (t tile) advance(top string, a, stepA, b, stepB, left int) {
	asm("MOVD %d(R0), R21", stepA)
	asm("MOVD %d(R0), R22", stepB)
	asm("ADD R21, R%d", a)
	asm("ADD R22, R%d", b)
	asm("SUBS $1, R%d", left)
	asm("BNE %s", top)
}

// start sets the sums to the bias or to 0.
func (t tile) start() {
	asm("MOVD %d(R0), R21", argBias)
	asm("CBZ R21, noBias")
	asm("VLD1 (R21), %s", t.list(t.sum(0, 0), t.vectors))
	for r := 1; r < t.rows; r++ {
		for i := range t.vectors {
			move(t.sum(r, i), t.sum(0, i))
		}
	}
	asm("B started")
	label("noBias")
	for r := range t.rows {
		for i := range t.vectors {
			zero(t.sum(r, i))
		}
	}
	label("started")
}

// product adds the products of one k.
func (t tile) product() {
	asm("VLD1 (R7), %s", t.list(firstB, t.vectors))
	asm("ADD R9, R7")
	for r := range t.rows {
		a := firstA + v(r%4)
		if t.channels {
			a = firstA
			asm("VLD1 (R%d), %s", r+1, t.list(a, t.vectors))
		} else {
			asm("VLD1R (R%d), [%v.%s]", r+1, a, t.lanes)
		}
		asm("ADD R8, R%d", r+1)
		for i := range t.vectors {
			if t.channels {
				t.fma(t.sum(r, i), a+v(i), firstB+v(i))
			} else {
				t.fma(t.sum(r, i), firstB+v(i), a)
			}
		}
	}
}

// finish adds C, applies relu and stores.
func (t tile) finish() {
	asm("MOVD %d(R0), R21", argFlags)
	asm("MOVD %d(R0), R22", argCRow)
	asm("TBZ $0, R21, overwrite")
	asm("MOVD %d(R0), R23", argC)
	for r := range t.rows {
		asm("VLD1 (R23), %s", t.list(firstB, t.vectors))
		asm("ADD R22, R23")
		for i := range t.vectors {
			t.add(t.sum(r, i), t.sum(r, i), firstB+v(i))
		}
	}
	label("overwrite")
	asm("TBZ $1, R21, linear")
	zero(firstB)
	for r := range t.rows {
		for i := range t.vectors {
			t.max(t.sum(r, i), t.sum(r, i), firstB)
		}
	}
	label("linear")
	asm("MOVD %d(R0), R23", argC)
	for r := range t.rows {
		asm("VST1 %s, (R23)", t.list(t.sum(r, 0), t.vectors))
		asm("ADD R22, R23")
	}
}

// tiles lists the functions, all rows of a family together.
func tiles() (all [][]tile) {
	for _, k := range []kind{float32s, float64s} {
		for _, channels := range []bool{false, true} {
			for _, vectors := range []int{1, 2, 4} {
				rows := 6
				if channels {
					rows = 4
				}
				var family []tile
				for r := 1; r <= rows; r++ {
					family = append(family, tile{k, channels, vectors, r})
				}
				all = append(all, family)
			}
		}
	}
	return all
}

// emitRow emits dst += x·b for four rows of b, whole groups of four vectors: see AddRowProduct.
func emitRow() {
	k := float32s
	fmt.Fprint(&text, "\n// func rowProductNEON(dst, x, b unsafe.Pointer, groups, blocks, stride uintptr)\nTEXT ·rowProductNEON(SB), NOSPLIT, $0-48\n")
	for i, name := range []string{"dst", "x", "b", "groups", "blocks", "stride"} {
		asm("MOVD %s+%d(FP), R%d", name, 8*i, i)
	}
	label("group")
	asm("VLD1 (R1), [V16.S4]")
	for i := range 4 { // dup v(20+i).4s, v16.s[i]
		asm("WORD $0x%08x // dup v%d.4s, v16.s[%d]", 0x4e000400|uint32(i<<3|4)<<16|16<<5|uint32(20+i), 20+i, i)
	}
	asm("MOVD R0, R6")
	asm("MOVD R2, R7")
	for i := 8; i <= 10; i++ {
		asm("ADD R5, R%d, R%d", i-1, i)
	}
	asm("MOVD R4, R11")
	label("columns")
	asm("VLD1 (R6), %s", k.list(0, 4))
	for r := range 4 {
		asm("VLD1.P 64(R%d), %s", 7+r, k.list(4+v(4*(r%2)), 4))
		for i := range 4 {
			k.fma(v(i), 4+v(4*(r%2)+i), v(20+r))
		}
	}
	asm("VST1.P %s, 64(R6)", k.list(0, 4))
	asm("SUBS $1, R11")
	asm("BNE columns")
	asm("ADD $16, R1")
	asm("ADD R5<<2, R2")
	asm("SUBS $1, R3")
	asm("BNE group")
	asm("RET")
}

func emitMicro() string {
	var calls, stubs strings.Builder
	for _, family := range tiles() {
		name := family[0].family()
		fmt.Fprintf(&calls, "\n//go:noinline\nfunc call%s(rows int, c *call) {\nswitch rows {\n", strings.ToUpper(name[:1])+name[1:])
		for _, t := range family {
			t.emit()
			fmt.Fprintf(&calls, "case %d:\n%sR%d(c)\n", t.rows, name, t.rows)
			fmt.Fprintf(&stubs, "\n//go:noescape\nfunc %sR%d(c *call)\n", name, t.rows)
		}
		calls.WriteString("}\n}\n")
	}
	emitRow()
	calls.WriteString("\n//go:noinline\nfunc callRowProduct(dst, x, b unsafe.Pointer, groups, blocks, stride uintptr) {\nrowProductNEON(dst, x, b, groups, blocks, stride)\n}\n")
	stubs.WriteString("\n//go:noescape\nfunc rowProductNEON(dst, x, b unsafe.Pointer, groups, blocks, stride uintptr)\n")
	return "package micro\n\nimport \"unsafe\"\n\n// The functions call... run one assembly function each. They are neither inlined nor leaves: assembly cannot be preempted,\n" +
		"// and a loop that calls nothing else would hold up the garbage collector until it ends.\n" + calls.String() + stubs.String()
}
