// Command amx writes the assembly of package kernels/cpu/internal/amx: products of blocks of one or two tiles of rows
// and one or two of columns, in the matrix registers of AMX, whose instructions Go's assembler does not support.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/internal/asmgen/arm64"
)

// The general registers, with their numbers in instructions.
const (
	ax = iota
	cx
	dx
	bx
	sp
	bp
	si
	di
	r8
	r9
	r10
	r11
)

// The prefixes of AMX.
const (
	none = iota
	x66
	xf3
	xf2
)

// Offsets in the argument block; layout_test.go checks them.
const (
	fieldA = 8 * iota
	fieldB
	fieldC
	fieldConfig
	fieldSteps
	fieldSegments
	fieldOuter
	fieldARow
	fieldAStep
	fieldASegment
	fieldAOuter
	fieldBRow
	fieldBStep
	fieldBSegment
	fieldBOuter
	fieldCRow
	fieldBlocks
	fieldABlock
	fieldCBlock
	fieldLines
	fieldALine
	fieldCLine
	fieldAccumulate
	fieldASecond // from the first tile of rows to the second
	fieldCSecond
	fieldBLine
	fieldHalf // where rounded sums are stored
	fieldHalfRow
	fieldHalfBlock
	fieldHalfSecond
	fieldHalfLine
	fieldRounded // number of rows of the first tile to round; 0: store C instead
	fieldRoundedSecond
	fieldMask // of columns
	fieldBias // 0, or what to add to rounded sums
	fieldBiasLine
	fieldFloor        // lower bound of the results
	fieldAhead        // 0, or prefetch the next line's B
	fieldLater        // 0, or the bytes of a block's rows in C: they are rounded while the next block is multiplied
	fieldSegmentsLeft // counters used by the assembly
	fieldOuterLeft
	fieldBlocksLeft
	fieldASegmentAt
	fieldBSegmentAt
	fieldAOuterAt
	fieldBOuterAt
	fieldABlockAt
	fieldCBlockAt
	fieldBLineAt
	fieldHalfAt
	fieldHalfBlockAt
	fieldBiasAt
	fieldAheadAt
	fieldALineAt
	fieldCLineAt
	fieldLaterEnd
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: amx DIRECTORY")
		os.Exit(2)
	}
	t := &text{arm64.NewText("internal/asmgen/amx")}
	t.Raw("\nDATA ·sixteen+0(SB)/8, $0x0706050403020100\nDATA ·sixteen+8(SB)/8, $0x0f0e0d0c0b0a0908\nGLOBL ·sixteen(SB), NOPTR|RODATA, $16\n")
	for rows := 1; rows <= 2; rows++ {
		for columns := 1; columns <= 2; columns++ {
			t.function(rows, columns)
		}
	}
	err := t.WriteFile(filepath.Join(os.Args[1], "amx_amd64.s"))
	if err == nil {
		err = ofBytes().WriteFile(filepath.Join(os.Args[1], "bytes_amd64.s"))
	}
	if err == nil {
		err = ofTurns().WriteFile(filepath.Join(os.Args[1], "turn_amd64.s"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// product is an instruction that multiplies tiles.
type product struct {
	instruction    string
	opcode, prefix int
}

type text struct{ *arm64.Text }

// tile writes an instruction with register operands, or, with an index byte, a memory operand.
func (t *text) tile(what string, prefix, vvvv, opcode int, operand ...int) {
	line := fmt.Sprintf("BYTE $0xc4; BYTE $%#02x; BYTE $%#02x; BYTE $%#02x", operand[0], (15-vvvv)<<3|prefix, opcode)
	for _, b := range operand[1:] {
		line += fmt.Sprintf("; BYTE $%#02x", b)
	}
	t.Asm("%s // %s", line, what)
}

const noExtension, extendBase = 0xe2, 0xc2 // the second byte; the extension bits are inverted

// memory writes an instruction with a tile and the memory at base + index.
func (t *text) memory(name string, prefix, number, base, index int) {
	second := noExtension
	if base >= r8 {
		second = extendBase
	}
	t.tile(fmt.Sprintf("%s tmm%d, [r%d+r%d]", name, number, base, index), prefix, 0, 0x4b, second, 4|number<<3, index<<3|base&7)
}

func (t *text) load(number, base, index int)  { t.memory("TILELOADD", xf2, number, base, index) }
func (t *text) store(number, base, index int) { t.memory("TILESTORED", xf3, number, base, index) }

// zero sets a tile to zeros.
func (t *text) zero(number int) {
	t.tile(fmt.Sprintf("TILEZERO tmm%d", number), xf2, 0, 0x49, noExtension, 0xc0|number<<3)
}

// function writes a function. Registers 0 to 3 hold a block of C, 4 and 5 tiles of A, 6 and 7 tiles of B.
func (t *text) function(rows, columns int) {
	t.Raw("\n// bf16R%dC%d adds products of %d x %d tiles.\nTEXT ·bf16R%dC%d(SB), NOSPLIT, $0-8\n", rows, columns, rows, columns, rows, columns)
	t.Asm("MOVQ c+0(FP), DI")
	t.Asm("MOVQ %d(DI), AX", fieldConfig)
	t.tile("LDTILECFG [rax]", none, 0, 0x49, noExtension, 0)
	t.Asm("MOVQ %d(DI), DX // between rows of A", fieldARow)
	t.Asm("MOVQ %d(DI), SI // between rows of B", fieldBRow)
	for _, at := range [][2]int{{fieldA, fieldALineAt}, {fieldB, fieldBLineAt}, {fieldC, fieldCLineAt}} {
		t.Asm("MOVQ %d(DI), AX", at[0])
		t.Asm("MOVQ AX, %d(DI) // as a number, since the address after the last line must not be seen by the garbage collector", at[1])
	}
	if overlaps(rows, columns) {
		t.beginLater()
	}
	t.beginRounding(columns)
	t.Label("line")
	t.Asm("MOVQ %d(DI), AX", fieldHalfAt)
	t.Asm("MOVQ AX, %d(DI)", fieldHalfBlockAt)
	t.Asm("MOVQ %d(DI), AX", fieldBLineAt)
	t.Asm("ADDQ %d(DI), AX", fieldBLine)
	t.Asm("MOVQ AX, %d(DI)", fieldAheadAt)
	for _, at := range [][2]int{{fieldALineAt, fieldABlockAt}, {fieldCLineAt, fieldCBlockAt}} {
		t.Asm("MOVQ %d(DI), AX", at[0])
		t.Asm("MOVQ AX, %d(DI)", at[1])
	}
	t.Asm("MOVQ %d(DI), AX", fieldBlocks)
	t.Asm("MOVQ AX, %d(DI)", fieldBlocksLeft)
	t.Label("block")
	t.begin(rows, columns)
	t.Label("outer")
	t.Asm("MOVQ %d(DI), AX", fieldAOuterAt)
	t.Asm("MOVQ AX, %d(DI)", fieldASegmentAt)
	t.Asm("MOVQ %d(DI), AX", fieldBOuterAt)
	t.Asm("MOVQ AX, %d(DI)", fieldBSegmentAt)
	t.Asm("MOVQ %d(DI), AX", fieldSegments)
	t.Asm("MOVQ AX, %d(DI)", fieldSegmentsLeft)
	t.Label("segment")
	t.steps(rows, columns)
	t.advance("segment", fieldSegmentsLeft, [2]int{fieldASegmentAt, fieldASegment}, [2]int{fieldBSegmentAt, fieldBSegment})
	t.advance("outer", fieldOuterLeft, [2]int{fieldAOuterAt, fieldAOuter}, [2]int{fieldBOuterAt, fieldBOuter})
	if overlaps(rows, columns) {
		t.finishLater("left")
	}
	t.finish(rows, columns)
	if overlaps(rows, columns) {
		t.later()
	}
	t.round(rows, columns)
	t.advance("block", fieldBlocksLeft, [2]int{fieldABlockAt, fieldABlock}, [2]int{fieldCBlockAt, fieldCBlock}, [2]int{fieldHalfBlockAt, fieldHalfBlock})
	t.advance("line", fieldLines, [2]int{fieldALineAt, fieldALine}, [2]int{fieldCLineAt, fieldCLine}, [2]int{fieldBLineAt, fieldBLine},
		[2]int{fieldHalfAt, fieldHalfLine}, [2]int{fieldBiasAt, fieldBiasLine})
	if overlaps(rows, columns) {
		t.finishLater("last")
	}
	t.tile("TILERELEASE", none, 0, 0x49, noExtension, 0xc0)
	t.Asm("VZEROUPPER")
	t.Asm("RET")
}

// overlaps reports whether blocks of this size are rounded while the next one is multiplied.
func overlaps(rows, columns int) bool { return rows == 2 && columns == 2 }

// begin clears or loads the block of C.
func (t *text) begin(rows, columns int) {
	t.Asm("MOVQ %d(DI), AX", fieldABlockAt)
	t.Asm("MOVQ AX, %d(DI)", fieldAOuterAt)
	t.Asm("MOVQ %d(DI), AX", fieldBLineAt)
	t.Asm("MOVQ AX, %d(DI)", fieldBOuterAt)
	t.Asm("MOVQ %d(DI), AX", fieldOuter)
	t.Asm("MOVQ AX, %d(DI)", fieldOuterLeft)
	t.Asm("CMPQ %d(DI), $0", fieldAccumulate)
	t.Asm("JNE more")
	t.eachOfC(rows, columns, nil)
	t.Asm("JMP outer")
	t.Label("more")
	t.eachOfC(rows, columns, t.load)
}

// finish stores the block of C.
func (t *text) finish(rows, columns int) { t.eachOfC(rows, columns, t.store) }

// eachOfC applies move to the tiles of C, or clears them.
func (t *text) eachOfC(rows, columns int, move func(number, base, index int)) {
	if move == nil {
		for r := range rows {
			for c := range columns {
				t.zero(2*r + c)
			}
		}
		return
	}
	t.Asm("MOVQ %d(DI), AX", fieldCBlockAt)
	t.Asm("MOVQ %d(DI), CX", fieldCRow)
	for r := range rows {
		move(2*r, ax, cx)
		if columns == 2 {
			t.Asm("LEAQ 64(AX), R8")
			move(2*r+1, r8, cx)
		}
		if r+1 < rows {
			t.Asm("ADDQ %d(DI), AX", fieldCSecond)
		}
	}
}

// steps adds the products of a segment. The order of loads and products within a step does not affect speed.
func (t *text) steps(rows, columns int) {
	t.Asm("MOVQ %d(DI), AX", fieldASegmentAt)
	t.Asm("MOVQ %d(DI), BX", fieldBSegmentAt)
	if rows == 2 {
		t.Asm("MOVQ %d(DI), R8", fieldASecond)
		t.Asm("ADDQ AX, R8 // the second tile of A")
	}
	t.Asm("MOVQ %d(DI), R12 // steps", fieldSteps)
	t.Asm("MOVQ %d(DI), R13", fieldAStep)
	t.Asm("MOVQ %d(DI), CX", fieldBStep)
	if overlaps(rows, columns) {
		t.Asm("XORL R15, R15")
		t.Asm("CMPQ %d(DI), $0", fieldAhead)
		t.Asm("JEQ nothing")
		t.Asm("MOVQ %d(DI), R15", fieldAheadAt)
		t.Label("nothing")
		t.laterSteps()
		t.Asm("TESTQ R15, R15")
		t.Asm("JEQ step")
		t.Label("stepahead")
		t.askAhead()
		t.step("stepahead", rows, columns)
		t.Asm("JMP steps")
	}
	t.Label("step")
	t.step("step", rows, columns)
	t.Label("steps")
	if overlaps(rows, columns) {
		t.Asm("MOVQ R15, %d(DI)", fieldAheadAt)
	}
}

// askAhead prefetches a part of the next line's B.
func (t *text) askAhead() {
	for line := range aheadLines {
		t.Asm("PREFETCHT1 %d(R15)", 64*line)
	}
	t.Asm("ADDQ $%d, R15", 64*aheadLines)
}

// aheadLines is the number of cache lines that a step prefetches: the next panel is fetched while a panel is multiplied
// by 128 rows.
const aheadLines = 8

// step adds the products of a step, and loops back to a label.
func (t *text) step(label string, rows, columns int) {
	t.loadStep(rows, columns)
	for r := range rows {
		for c := range columns {
			t.products(bfloat16Product, 2*r+c, 4+r, 6+c)
		}
	}
	t.Asm("DECQ R12")
	t.Asm("JNZ %s", label)
}

var bfloat16Product = product{"TDPBF16PS", 0x5c, xf3}

// loadStep loads the tiles of a step.
func (t *text) loadStep(rows, columns int) {
	t.load(6, bx, si)
	if columns == 2 {
		t.Asm("LEAQ 64(BX), R9")
		t.load(7, r9, si)
	}
	t.Asm("ADDQ CX, BX")
	t.load(4, ax, dx)
	t.Asm("ADDQ R13, AX")
	if rows == 2 {
		t.load(5, r8, dx)
		t.Asm("ADDQ R13, R8")
	}
}

// products writes the instruction that adds the product of two tiles to a third.
func (t *text) products(p product, sums, a, b int) {
	t.tile(fmt.Sprintf("%s tmm%d, tmm%d, tmm%d", p.instruction, sums, a, b), p.prefix, b, p.opcode, noExtension, 0xc0|sums<<3|a)
}

// advance adds to each place the distance in another field, and loops back to a label.
func (t *text) advance(label string, left int, places ...[2]int) {
	for _, p := range places {
		t.Asm("MOVQ %d(DI), AX", p[1])
		t.Asm("ADDQ AX, %d(DI)", p[0])
	}
	t.Asm("DECQ %d(DI)", left)
	t.Asm("JNZ %s", label)
}
