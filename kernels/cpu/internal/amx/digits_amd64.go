package amx

import "unsafe"

// digitsCall is the argument block of the assembly; internal/asmgen/amx knows its layout. Strides count bytes.
type digitsCall struct {
	a, b, c       unsafe.Pointer
	config        *[64]byte
	steps         int
	aRow, plane   int
	aBlock, aLast int
	cBlock, cLast int
	blocks, pairs int
	_             [6]uintptr // where the assembly counts
}

// MultiplyDigits computes the product.
func MultiplyDigits(p *Digits) {
	c := digitsCall{a: p.A, b: p.B, c: p.C, steps: (p.Groups + stepGroups - 1) / stepGroups, aRow: p.ARow, plane: p.Plane}
	c.blocks = (p.Rows + height - 1) / height
	rows := (p.Rows + c.blocks - 1) / c.blocks
	last := p.Rows - rows*c.blocks // the last block may begin with rows of the one before
	c.aBlock, c.aLast = rows*p.ARow, last*p.ARow
	c.cBlock, c.cLast = rows*DigitSums*word, last*DigitSums*word
	c.pairs = (p.Columns + 2*Words - 1) / (2 * Words)
	config, words := [64]byte{1}, min(p.Groups, stepGroups)
	set := func(tile, rows, words int) { config[16+2*tile], config[48+tile] = byte(words*word), byte(rows) }
	for tile := range 6 {
		set(tile, rows, Words)
	}
	set(6, rows, words)
	set(7, words, Words)
	c.config = &config
	digitsOf(p.Signed, &c)
}

// digitsOf is neither inlined nor a leaf; see dispatch.
//
//go:noinline
func digitsOf(signed bool, c *digitsCall) {
	if signed {
		digitsSigned(c)
	} else {
		digitsUnsigned(c)
	}
}

//go:noescape
func digitsSigned(c *digitsCall)

//go:noescape
func digitsUnsigned(c *digitsCall)
