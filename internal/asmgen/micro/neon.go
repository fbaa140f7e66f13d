package main

import (
	"fmt"
	"path/filepath"
	"strings"

	. "github.com/gokeras/gokeras/internal/asmgen/arm64"
)

// Offsets in the argument block for arm64, package micro's struct call there. Up to the rows of C they are those of
// amd64.
const (
	neonFlags    = argCRow + 8
	neonContinue = 2 // the bit of the flags
)

// tile is a function for arm64 that computes rows of the given number of vectors; with channels, A is a vector like B.
type tile struct {
	*Text
	Kind
	channels      bool
	halves        bool // pairs of bfloat16, with float32 sums
	vectors, rows int
}

// Registers: V0 to V3 hold vectors of B, V4 to V7 those of A, V8 to V31 the sums. R1 to R6 point to rows of A.
const (
	firstB   V = 0
	firstA   V = 4
	firstSum V = 8
)

func (t tile) sum(row, vector int) V { return firstSum + V(row*t.vectors+vector) }

func (t tile) family() string {
	name := t.tile()
	if t.channels {
		name += "Channels"
	}
	return fmt.Sprintf("%sV%d", name, t.vectors)
}

// tile is the name of the family of tiles: element types and instruction set.
func (t tile) tile() string {
	if t.halves {
		return "bf16NEON"
	}
	return t.Short + "NEON"
}

func (t tile) emit() {
	name := fmt.Sprintf("%sR%d", t.family(), t.rows)
	t.Raw("\n// %s computes a tile of %d rows and %d vectors.\n// func %s(c *call)\nTEXT ·%s(SB), NOSPLIT, $0-8\n", name, t.rows, t.vectors, name, name)
	t.Asm("MOVD c+0(FP), R0")
	t.start()
	for _, m := range []struct {
		offset, register int
	}{{argAK, 8}, {argBK, 9}, {argARow, 20}, {argA, 15}, {argB, 19}, {argOuter, 12}} {
		t.Asm("MOVD %d(R0), R%d", m.offset, m.register)
	}
	t.Label("outer")
	t.Asm("MOVD R15, R13")
	t.Asm("MOVD R19, R14")
	t.Asm("MOVD %d(R0), R11", argSegments)
	t.Label("segment")
	t.Asm("MOVD R13, R1")
	for r := 1; r < t.rows; r++ {
		t.Asm("ADD R20, R%d, R%d", r, r+1)
	}
	t.Asm("MOVD R14, R7")
	t.Asm("MOVD %d(R0), R10", argK)
	t.Label("product")
	t.product()
	t.Asm("SUBS $1, R10")
	t.Asm("BNE product")
	t.advance("segment", 13, argASegment, 14, argBSegment, 11)
	t.advance("outer", 15, argAOuter, 19, argBOuter, 12)
	t.finish()
	t.Asm("RET")
}

// advance moves two pointers and loops.
func (t tile) advance(top string, a, stepA, b, stepB, left int) {
	t.Asm("MOVD %d(R0), R21", stepA)
	t.Asm("MOVD %d(R0), R22", stepB)
	t.Asm("ADD R21, R%d", a)
	t.Asm("ADD R22, R%d", b)
	t.Asm("SUBS $1, R%d", left)
	t.Asm("BNE %s", top)
}

// start sets the sums to the bias, to C or to 0.
func (t tile) start() {
	t.Asm("MOVD %d(R0), R21", argBias)
	t.Asm("CBZ R21, noBias")
	t.Asm("VLD1 (R21), %s", t.List(t.sum(0, 0), t.vectors))
	for r := 1; r < t.rows; r++ {
		for i := range t.vectors {
			t.Move(t.sum(r, i), t.sum(0, i))
		}
	}
	t.Asm("B started")
	t.Label("noBias")
	if !t.channels && !t.halves {
		t.Asm("MOVD %d(R0), R21", neonFlags)
		t.Asm("TBZ $%d, R21, zero", neonContinue)
		t.Asm("MOVD %d(R0), R22", argCRow)
		t.Asm("MOVD %d(R0), R23", argC)
		for r := range t.rows {
			t.Asm("VLD1 (R23), %s", t.List(t.sum(r, 0), t.vectors))
			t.Asm("ADD R22, R23")
		}
		t.Asm("B started")
		t.Label("zero")
	}
	for r := range t.rows {
		for i := range t.vectors {
			t.Zero(t.sum(r, i))
		}
	}
	t.Label("started")
}

// product adds the products of one k.
func (t tile) product() {
	t.Asm("VLD1 (R7), %s", t.List(firstB, t.vectors))
	t.Asm("ADD R9, R7")
	for r := range t.rows {
		a := firstA + V(r%4)
		if t.channels {
			a = firstA
			t.Asm("VLD1 (R%d), %s", r+1, t.List(a, t.vectors))
		} else {
			t.Asm("VLD1R (R%d), [%v.%s]", r+1, a, t.Lanes)
		}
		t.Asm("ADD R8, R%d", r+1)
		for i := range t.vectors {
			switch {
			case t.channels:
				t.MultiplyAdd(t.Kind, t.sum(r, i), a+V(i), firstB+V(i))
			case t.halves:
				t.AddHalfPairs(t.sum(r, i), firstB+V(i), a)
			default:
				t.MultiplyAdd(t.Kind, t.sum(r, i), firstB+V(i), a)
			}
		}
	}
}

// finish adds C, applies relu and stores.
func (t tile) finish() {
	t.Asm("MOVD %d(R0), R21", neonFlags)
	t.Asm("MOVD %d(R0), R22", argCRow)
	t.Asm("TBZ $0, R21, overwrite")
	t.Asm("MOVD %d(R0), R23", argC)
	for r := range t.rows {
		t.Asm("VLD1 (R23), %s", t.List(firstB, t.vectors))
		t.Asm("ADD R22, R23")
		for i := range t.vectors {
			t.Add(t.Kind, t.sum(r, i), t.sum(r, i), firstB+V(i))
		}
	}
	t.Label("overwrite")
	t.Asm("TBZ $1, R21, linear")
	t.Zero(firstB)
	for r := range t.rows {
		for i := range t.vectors {
			t.Max(t.Kind, t.sum(r, i), t.sum(r, i), firstB)
		}
	}
	t.Label("linear")
	t.Asm("MOVD %d(R0), R23", argC)
	for r := range t.rows {
		t.Asm("VST1 %s, (R23)", t.List(t.sum(r, 0), t.vectors))
		t.Asm("ADD R22, R23")
	}
}

// tiles lists the functions, all rows of a family together.
func tiles(text *Text) (all [][]tile) {
	for _, k := range []Kind{Float32s, Float64s} {
		for _, channels := range []bool{false, true} {
			for _, vectors := range []int{1, 2, 4} {
				rows := 6
				if channels {
					rows = 4
				}
				var family []tile
				for r := 1; r <= rows; r++ {
					family = append(family, tile{text, k, channels, false, vectors, r})
				}
				all = append(all, family)
			}
		}
	}
	for _, vectors := range []int{1, 2, 4} {
		var family []tile
		for r := 1; r <= 6; r++ {
			family = append(family, tile{text, Float32s, false, true, vectors, r})
		}
		all = append(all, family)
	}
	return all
}

// emitRow emits dst += x·b for four rows of b, in whole groups of four vectors: see AddRowProduct.
func emitRow(t *Text) {
	k := Float32s
	t.Raw("\n// func rowProductNEON(dst, x, b unsafe.Pointer, groups, blocks, stride uintptr)\nTEXT ·rowProductNEON(SB), NOSPLIT, $0-48\n")
	for i, name := range []string{"dst", "x", "b", "groups", "blocks", "stride"} {
		t.Asm("MOVD %s+%d(FP), R%d", name, 8*i, i)
	}
	t.Label("group")
	t.Asm("VLD1 (R1), [V16.S4]")
	for i := range 4 { // dup V(20+i).4s, v16.s[i]
		t.Asm("WORD $0x%08x // dup v%d.4s, v16.s[%d]", 0x4e000400|uint32(i<<3|4)<<16|16<<5|uint32(20+i), 20+i, i)
	}
	t.Asm("MOVD R0, R6")
	t.Asm("MOVD R2, R7")
	for i := 8; i <= 10; i++ {
		t.Asm("ADD R5, R%d, R%d", i-1, i)
	}
	t.Asm("MOVD R4, R11")
	t.Label("columns")
	t.Asm("VLD1 (R6), %s", k.List(0, 4))
	for r := range 4 {
		t.Asm("VLD1.P 64(R%d), %s", 7+r, k.List(4+V(4*(r%2)), 4))
		for i := range 4 {
			t.MultiplyAdd(k, V(i), 4+V(4*(r%2)+i), V(20+r))
		}
	}
	t.Asm("VST1.P %s, 64(R6)", k.List(0, 4))
	t.Asm("SUBS $1, R11")
	t.Asm("BNE columns")
	t.Asm("ADD $16, R1")
	t.Asm("ADD R5<<2, R2")
	t.Asm("SUBS $1, R3")
	t.Asm("BNE group")
	t.Asm("RET")
}

// writeNEON writes the assembly for arm64 and the Go file that declares it.
func writeNEON(dir string) error {
	text := NewText(generator)
	var calls, stubs strings.Builder
	var functions dispatch
	for _, family := range tiles(text) {
		name := family[0].family()
		fmt.Fprintf(&calls, "\n//go:noinline\nfunc call%s(rows int, c *call) {\nswitch rows {\n", strings.ToUpper(name[:1])+name[1:])
		for _, t := range family {
			t.emit()
			fmt.Fprintf(&calls, "case %d:\n%sR%d(c)\n", t.rows, name, t.rows)
			fmt.Fprintf(&stubs, "\n//go:noescape\nfunc %sR%d(c *call)\n", name, t.rows)
		}
		calls.WriteString("}\n}\n")
		t := family[0]
		functions.add(t.tile(), t.channels, t.vectors, name, len(family))
	}
	calls.WriteString(functions.goText())
	emitRow(text)
	calls.WriteString("\n//go:noinline\nfunc callRowProduct(dst, x, b unsafe.Pointer, groups, blocks, stride uintptr) {\nrowProductNEON(dst, x, b, groups, blocks, stride)\n}\n")
	stubs.WriteString("\n//go:noescape\nfunc rowProductNEON(dst, x, b unsafe.Pointer, groups, blocks, stride uintptr)\n")
	if err := text.WriteFile(filepath.Join(dir, "tile_arm64.s")); err != nil {
		return err
	}
	return writeGo(filepath.Join(dir, "tile_gen_arm64.go"), calls.String()+stubs.String())
}
