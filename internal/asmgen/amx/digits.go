package main

// Offsets in the argument block of the products of digits; layout_amd64_test.go checks them.
const (
	digitsA = 8 * iota
	digitsB
	digitsC
	digitsConfig
	digitsSteps
	digitsARow
	digitsPlane // from one digit of a row to the next
	digitsABlock
	digitsALast
	digitsCBlock
	digitsCLast
	digitsBlocks
	digitsPairs
	digitsPairsLeft // counters used by the assembly
	digitsBlocksLeft
	digitsABlockAt
	digitsBAt
	digitsCAt
	digitsCBlockAt
)

const (
	digitsPerNumber = 3
	digitsCDigit    = 256                            // from the sums of one digit to those of the next
	digitsCRow      = digitsPerNumber * digitsCDigit // and from row to row
)

// digits writes a function that multiplies blocks of up to 16 rows of three digits with two tiles of columns at a time.
// The six tiles of sums are in registers 0 to 5, A is in 6 and B in 7.
func (t *text) digits(name string, instruction product) {
	t.Raw("\n// %s adds up products of three digits.\nTEXT ·%s(SB), NOSPLIT, $0-8\n", name, name)
	t.Asm("MOVQ c+0(FP), DI")
	t.Asm("MOVQ %d(DI), AX", digitsConfig)
	t.tile("LDTILECFG [rax]", none, 0, 0x49, noExtension, 0)
	t.Asm("MOVQ %d(DI), DX // between rows of A", digitsARow)
	t.Asm("MOVQ $%d, SI // between rows of B", bytesBRow)
	for _, at := range [][2]int{{digitsB, digitsBAt}, {digitsC, digitsCAt}, {digitsPairs, digitsPairsLeft}} {
		t.move(at[0], at[1])
	}
	t.Label("pair")
	t.move(digitsA, digitsABlockAt)
	t.move(digitsCAt, digitsCBlockAt)
	t.move(digitsBlocks, digitsBlocksLeft)
	t.Label("block")
	for tile := range 2 * digitsPerNumber {
		t.zero(tile)
	}
	t.digitsSteps(instruction)
	t.digitsFinish()
	t.Asm("DECQ %d(DI)", digitsBlocksLeft)
	t.Asm("JZ blocked")
	t.add(digitsABlockAt, digitsABlock)
	t.add(digitsCBlockAt, digitsCBlock)
	t.Asm("CMPQ %d(DI), $1", digitsBlocksLeft)
	t.Asm("JNE block")
	t.add(digitsABlockAt, digitsALast)
	t.add(digitsCBlockAt, digitsCLast)
	t.Asm("JMP block")
	t.Label("blocked")
	for _, at := range []int{digitsBAt, digitsCAt} {
		t.Asm("ADDQ $128, %d(DI)", at)
	}
	t.Asm("DECQ %d(DI)", digitsPairsLeft)
	t.Asm("JNZ pair")
	t.tile("TILERELEASE", none, 0, 0x49, noExtension, 0xc0)
	t.Asm("RET")
}

func (t *text) digitsFinish() {
	t.Asm("MOVQ %d(DI), AX", digitsCBlockAt)
	t.Asm("LEAQ 64(AX), R8")
	t.Asm("MOVQ $%d, CX", digitsCRow)
	for d := range digitsPerNumber {
		t.store(2*d, ax, cx)
		t.store(2*d+1, r8, cx)
		if d+1 < digitsPerNumber {
			t.Asm("ADDQ $%d, AX", digitsCDigit)
			t.Asm("ADDQ $%d, R8", digitsCDigit)
		}
	}
}

// digitsSteps adds up the products of a block. The digits are loaded forwards and then backwards, so that the last one
// loaded serves both tiles of columns.
func (t *text) digitsSteps(instruction product) {
	t.Asm("MOVQ %d(DI), AX", digitsABlockAt)
	t.Asm("MOVQ %d(DI), CX", digitsPlane)
	t.Asm("LEAQ (AX)(CX*1), R8")
	t.Asm("LEAQ (AX)(CX*2), R9")
	t.Asm("MOVQ %d(DI), BX", digitsBAt)
	t.Asm("MOVQ %d(DI), R12 // steps", digitsSteps)
	t.Label("step")
	of := []int{ax, r8, r9}
	t.load(7, bx, si)
	for d, base := range of {
		t.load(6, base, dx)
		t.products(instruction, 2*d, 6, 7)
	}
	t.Asm("LEAQ 64(BX), R11")
	t.load(7, r11, si)
	for d := digitsPerNumber - 1; d >= 0; d-- {
		if d < digitsPerNumber-1 {
			t.load(6, of[d], dx)
		}
		t.products(instruction, 2*d+1, 6, 7)
	}
	for _, register := range []string{"AX", "R8", "R9"} {
		t.Asm("ADDQ $64, %s", register)
	}
	t.Asm("ADDQ $%d, BX", 16*bytesBRow)
	t.Asm("DECQ R12")
	t.Asm("JNZ step")
}
