package main

import (
	"fmt"

	"github.com/gokeras/gokeras/internal/asmgen/arm64"
)

// Offsets in the argument block of the products of bytes; layout_amd64_test.go checks them.
const (
	bytesA = 8 * iota
	bytesB
	bytesC
	bytesStart
	bytesConfig
	bytesSteps
	bytesARow
	bytesASecond // from the first tile of rows to the second
	bytesABlock
	bytesALast // how far the last block is moved back, to overlap the one before it
	bytesBLast // how far the last step is moved back
	bytesBPair // from one pair of tiles of columns to the next
	bytesBPanel
	bytesCRow
	bytesCSecond
	bytesCBlock
	bytesCLast
	bytesCPair
	bytesCPanel
	bytesSSecond
	bytesSBlock
	bytesSLast
	bytesPanels
	bytesPairs
	bytesBlocks
	bytesColumn // from the first tile of columns to the second, third and fourth, in B and in C
	bytesColumn2
	bytesColumn3
	bytesAhead    // from a panel to the memory to prefetch meanwhile into the second-level cache
	bytesBPanelAt // stored as numbers: the address after the last panel must not be seen by the garbage collector
	bytesCPanelAt
	bytesPanelsLeft
	bytesPairsLeft
	bytesBlocksLeft
	bytesBAt
	bytesCAt
	bytesABlockAt
	bytesCBlockAt
	bytesSBlockAt
	bytesAheadEnd
)

// ofBytes returns the assembly of products of bytes.
func ofBytes() *text {
	t := &text{arm64.NewText("internal/asmgen/amx")}
	for _, f := range []bytesForm{{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}} {
		t.bytes(f)
	}
	t.byteSums()
	t.digits("digitsUnsigned", product{"TDPBUSD", 0x5e, x66})
	t.digits("digitsSigned", product{"TDPBSUD", 0x5e, xf3})
	return t
}

const bytesBRow = 256 // from one group of a panel's rows to the next

// bytesForm is the size of a block in tiles.
type bytesForm struct{ rows, columns int }

func (f bytesForm) name() string { return fmt.Sprintf("bytesR%dC%d", f.rows, f.columns) }

// sums is the register of a tile of C. With one tile of rows, A is in register 4 and B in 5 to 7 in turn; with two, A
// is in 4 and 5, and B in 6 and 7.
func (f bytesForm) sums(row, column int) int {
	if f.rows == 1 {
		return column
	}
	return 2*row + column
}

func (f bytesForm) b(column int) int {
	if f.rows == 1 {
		return 5 + column%3
	}
	return 6 + column
}

// bytes writes a function that multiplies blocks of rows with panels. Meanwhile it prefetches the next panel: if
// weights come from memory, the time that the tile products take would otherwise be spent waiting for them.
func (t *text) bytes(f bytesForm) {
	t.Raw("\n// %s adds products of bytes, in blocks of %d x %d tiles.\nTEXT ·%s(SB), NOSPLIT, $0-8\n", f.name(), f.rows, f.columns, f.name())
	t.Asm("MOVQ c+0(FP), DI")
	t.Asm("MOVQ %d(DI), AX", bytesConfig)
	t.tile("LDTILECFG [rax]", none, 0, 0x49, noExtension, 0)
	t.Asm("MOVQ %d(DI), DX // between rows of A", bytesARow)
	t.Asm("MOVQ $%d, SI // between rows of B", bytesBRow)
	t.move(bytesB, bytesBPanelAt)
	t.move(bytesC, bytesCPanelAt)
	t.move(bytesPanels, bytesPanelsLeft)
	t.Label("panel")
	t.move(bytesBPanelAt, bytesBAt)
	t.move(bytesCPanelAt, bytesCAt)
	t.move(bytesPairs, bytesPairsLeft)
	t.Asm("MOVQ %d(DI), R10", bytesBPanelAt)
	t.Asm("ADDQ %d(DI), R10", bytesAhead)
	t.Asm("MOVQ R10, AX")
	t.Asm("ADDQ %d(DI), AX", bytesBPanel)
	t.Asm("MOVQ AX, %d(DI)", bytesAheadEnd)
	t.Label("pair")
	t.move(bytesA, bytesABlockAt)
	t.move(bytesCAt, bytesCBlockAt)
	t.move(bytesStart, bytesSBlockAt)
	t.move(bytesBlocks, bytesBlocksLeft)
	t.Label("block")
	t.bytesStart(f)
	t.bytesSteps(f)
	t.bytesFinish(f)
	t.Asm("DECQ %d(DI)", bytesBlocksLeft)
	t.Asm("JZ blocked")
	t.add(bytesABlockAt, bytesABlock)
	t.add(bytesCBlockAt, bytesCBlock)
	t.add(bytesSBlockAt, bytesSBlock)
	t.Asm("CMPQ %d(DI), $1", bytesBlocksLeft)
	t.Asm("JNE block")
	t.add(bytesABlockAt, bytesALast)
	t.add(bytesCBlockAt, bytesCLast)
	t.add(bytesSBlockAt, bytesSLast)
	t.Asm("JMP block")
	t.Label("blocked")
	t.add(bytesBAt, bytesBPair)
	t.add(bytesCAt, bytesCPair)
	t.Asm("DECQ %d(DI)", bytesPairsLeft)
	t.Asm("JNZ pair")
	t.add(bytesBPanelAt, bytesBPanel)
	t.add(bytesCPanelAt, bytesCPanel)
	t.Asm("DECQ %d(DI)", bytesPanelsLeft)
	t.Asm("JNZ panel")
	t.tile("TILERELEASE", none, 0, 0x49, noExtension, 0xc0)
	t.Asm("RET")
}

// byteSums writes the function that computes the start values of sums: each row times a line of B, which is the same
// for all groups.
func (t *text) byteSums() {
	t.Raw("\n// byteSums multiplies blocks of rows with one line of B.\nTEXT ·byteSums(SB), NOSPLIT, $0-8\n")
	t.Asm("MOVQ c+0(FP), DI")
	t.Asm("MOVQ %d(DI), AX", bytesConfig)
	t.tile("LDTILECFG [rax]", none, 0, 0x49, noExtension, 0)
	t.Asm("MOVQ %d(DI), DX // between rows of A", bytesARow)
	t.Asm("MOVQ %d(DI), BX", bytesB)
	t.Asm("XORL SI, SI")
	t.load(6, bx, si)
	t.Asm("MOVQ $64, CX")
	t.move(bytesA, bytesABlockAt)
	t.move(bytesStart, bytesSBlockAt)
	t.move(bytesBlocks, bytesBlocksLeft)
	t.Label("block")
	t.zero(0)
	t.Asm("MOVQ %d(DI), AX", bytesABlockAt)
	t.Asm("MOVQ %d(DI), R12 // steps", bytesSteps)
	t.Label("step")
	t.load(4, ax, dx)
	t.Asm("ADDQ $64, AX")
	t.products(product{"TDPBSSD", 0x5e, xf2}, 0, 4, 6)
	t.Asm("DECQ R12")
	t.Asm("JNZ step")
	t.Asm("MOVQ %d(DI), AX", bytesSBlockAt)
	t.store(0, ax, cx)
	t.Asm("DECQ %d(DI)", bytesBlocksLeft)
	t.Asm("JZ summed")
	t.add(bytesABlockAt, bytesABlock)
	t.add(bytesSBlockAt, bytesSBlock)
	t.Asm("CMPQ %d(DI), $1", bytesBlocksLeft)
	t.Asm("JNE block")
	t.add(bytesABlockAt, bytesALast)
	t.add(bytesSBlockAt, bytesSLast)
	t.Asm("JMP block")
	t.Label("summed")
	t.tile("TILERELEASE", none, 0, 0x49, noExtension, 0xc0)
	t.Asm("RET")
}

func (t *text) move(from, to int) {
	t.Asm("MOVQ %d(DI), AX", from)
	t.Asm("MOVQ AX, %d(DI)", to)
}

func (t *text) add(to, from int) {
	t.Asm("MOVQ %d(DI), AX", from)
	t.Asm("ADDQ AX, %d(DI)", to)
}

// bytesStart loads the start values of the sums, which are the same in all columns.
func (t *text) bytesStart(f bytesForm) {
	t.Asm("MOVQ %d(DI), AX", bytesSBlockAt)
	t.Asm("MOVQ $64, CX")
	for r := range f.rows {
		for c := range f.columns {
			t.load(f.sums(r, c), ax, cx)
		}
		if r+1 < f.rows {
			t.Asm("ADDQ %d(DI), AX", bytesSSecond)
		}
	}
}

// bytesFinish stores a block of C.
func (t *text) bytesFinish(f bytesForm) {
	t.Asm("MOVQ %d(DI), AX", bytesCBlockAt)
	t.Asm("MOVQ %d(DI), CX", bytesCRow)
	for r := range f.rows {
		t.store(f.sums(r, 0), ax, cx)
		for c := 1; c < f.columns; c++ {
			t.Asm("MOVQ %d(DI), R8", bytesColumn+8*(c-1))
			t.Asm("ADDQ AX, R8")
			t.store(f.sums(r, c), r8, cx)
		}
		if r+1 < f.rows {
			t.Asm("ADDQ %d(DI), AX", bytesCSecond)
		}
	}
}

// bytesSteps adds up the products of a block: with prefetches as long as there are lines to prefetch, then without.
func (t *text) bytesSteps(f bytesForm) {
	t.Asm("MOVQ %d(DI), AX", bytesABlockAt)
	t.Asm("MOVQ %d(DI), BX", bytesBAt)
	if f.rows == 2 {
		t.Asm("MOVQ %d(DI), R8", bytesASecond)
		t.Asm("ADDQ AX, R8 // the second tile of A")
	}
	t.Asm("MOVQ %d(DI), R12 // steps", bytesSteps)
	if f.columns > 1 {
		t.Asm("MOVQ %d(DI), CX // to the second tile of B", bytesColumn)
	}
	if f.rows == 2 {
		t.Asm("LEAQ (DX)(DX*2), R13 // three rows of A")
	}
	t.Asm("CMPQ R10, %d(DI)", bytesAheadEnd)
	t.Asm("JGE plain")
	lines := 16
	if f.rows == 1 {
		lines = 16 * f.columns
	} else {
		t.Asm("CMPQ %d(DI), $1", bytesBlocks)
		t.Asm("JEQ asking32")
	}
	t.bytesLoop(f, "asking", lines)
	t.Asm("JMP summed")
	if f.rows == 2 {
		t.bytesLoop(f, "asking32", 2*lines)
		t.Asm("JMP summed")
	}
	t.bytesLoop(f, "plain", 0)
	t.Label("summed")
}

// bytesLoop writes a loop over steps that prefetches the given number of lines in each.
func (t *text) bytesLoop(f bytesForm, label string, lines int) {
	t.Label(label)
	for r := range f.rows {
		base := ax
		if r == 1 {
			base = r8
		}
		if f.rows == 1 {
			t.load(4+r, base, dx)
			t.Asm("ADDQ $64, AX")
		}
	}
	at := func(c int) int {
		switch c {
		case 0:
			return bx
		case 1:
			t.Asm("LEAQ (BX)(CX*1), R9")
		default:
			t.Asm("MOVQ %d(DI), R9", bytesColumn+8*(c-1))
			t.Asm("ADDQ BX, R9")
		}
		return r9
	}
	instruction := product{"TDPBSUD", 0x5e, xf3}
	asked := 0
	ask := func(n int) {
		for range n {
			t.Asm("PREFETCHT1 %d(R10)", 64*asked)
			asked++
		}
	}
	nearby := func(tile int) { // prefetches what the next step reads of a tile of A and one of B into the first-level cache
		base := []int{ax, r8}[tile]
		t.Asm("MOVQ %s, R11", map[int]string{ax: "AX", r8: "R8"}[base])
		for i := range 16 {
			switch i % 4 {
			case 0:
				t.Asm("PREFETCHT0 (R11)")
			case 1:
				t.Asm("PREFETCHT0 (R11)(DX*1)")
			case 2:
				t.Asm("PREFETCHT0 (R11)(DX*2)")
			case 3:
				t.Asm("PREFETCHT0 (R11)(R13*1)")
				t.Asm("LEAQ (R11)(DX*4), R11")
			}
			if tile < f.columns {
				t.Asm("PREFETCHT0 %d(BX)", (16+i)*bytesBRow+64*tile)
			}
		}
	}
	if f.rows == 1 {
		for c := range f.columns {
			t.load(f.b(c), at(c), si)
			ask(lines / f.columns)
			t.products(instruction, f.sums(0, c), 4, f.b(c))
		}
	} else {
		for c := range f.columns {
			t.load(f.b(c), at(c), si)
		}
		t.load(4, ax, dx)
		t.Asm("ADDQ $64, AX")
		t.load(5, r8, dx)
		t.Asm("ADDQ $64, R8")
		for r := range f.rows {
			if lines > 0 {
				nearby(r)
			}
			for c := range f.columns {
				ask(lines / (f.rows * f.columns))
				t.products(instruction, f.sums(r, c), 4+r, f.b(c))
			}
		}
	}
	if lines > 0 {
		t.Asm("ADDQ $%d, R10", 64*lines)
	}
	t.Asm("ADDQ $%d, BX", 16*bytesBRow)
	t.Asm("DECQ R12")
	t.Asm("JZ summed")
	t.Asm("CMPQ R12, $1")
	t.Asm("JNE %s", label)
	t.Asm("ADDQ %d(DI), BX // the last step ends with the panel", bytesBLast)
	t.Asm("JMP %s", label)
}
