package amx

import (
	"math"
	"unsafe"
)

// call is the argument block of the assembly; internal/asmgen/amx knows its layout. Strides count bytes.
type call struct {
	a, b, c                       unsafe.Pointer
	config                        *[64]byte
	steps, segments, outer        int
	aRow, aStep, aSegment, aOuter int
	bRow, bStep, bSegment, bOuter int
	cRow                          int
	blocks, aBlock, cBlock        int // of rows, one under the other
	lines, aLine, cLine           int
	accumulate                    int
	aSecond, cSecond              int // from the first tile of rows to the second
	bLine                         int

	half                                     unsafe.Pointer
	halfRow, halfBlock, halfSecond, halfLine int
	rounded, roundedSecond                   int // rows of each tile; 0: none, C is stored
	mask                                     uint64
	bias                                     unsafe.Pointer
	biasLine                                 int
	floor                                    uint64 // bits of a float32
	ahead                                    int    // not 0: ask for the B of the next line
	later                                    int    // bytes of a block's rows in C, if it is rounded while the next one is multiplied

	_ [17]uintptr // where the assembly counts
}

const (
	height = 16 // rows of a tile
	word   = 4  // bytes
	half   = 2
)

// maxCallProducts bounds the time of one call to about 100 µs: the garbage collector cannot interrupt it.
const maxCallProducts = 16 << 20

// Lines have so long a B, and all of them together, that it comes from behind the second-level cache, from which each
// line asks for the next one's. What is nearer is not asked for.
const (
	aheadLine  = 1 << 13
	aheadWords = 1 << 18
)

// laterSteps is how many steps a sum with a bias has at least that waits for the next block to be rounded. Shorter ones
// take less time than rounding, which gains nothing from waiting.
const laterSteps = 2

// Multiply computes the product.
func Multiply(p *Product) {
	if p.Rows <= 0 || p.Cols <= 0 {
		return
	}
	var config [64]byte
	c := call{config: &config, segments: p.Segments, outer: p.Outer, aRow: p.ARow * word, aSegment: p.ASegment * word, aOuter: p.AOuter * word,
		bRow: p.BK * word, bSegment: p.BSegment * word, bOuter: p.BOuter * word, cRow: p.CRow * word, aLine: p.ALine * word, bLine: p.BLine * word, cLine: p.CLine * word}
	if p.BLine >= aheadLine && p.BLine*p.Lines >= aheadWords {
		c.ahead = 1
	}
	for column := 0; column < p.Cols; column += 2 * Words {
		if p.Accumulate {
			c.accumulate = 1
		} else {
			c.accumulate = 0
		}
		whole, words := p.K/Words, Words
		if steps := (p.K + Words - 1) / Words; p.Segments > 1 && p.K%steps == 0 {
			whole, words = steps, p.K/steps
		}
		rest := p.K - whole*words
		if whole > 0 {
			p.columns(&c, column, 0, whole, words, rest == 0)
			c.accumulate = 1
		}
		if rest > 0 {
			p.columns(&c, column, whole*words, 1, rest, true)
		}
	}
}

// columns computes up to two tiles of columns, all rows, in steps of so many words from word k on of each segment,
// after the last of which sums are complete.
func (p *Product) columns(c *call, column, k, steps, words int, last bool) {
	columns := min(p.Cols-column, 2*Words)
	cRow, cLine := c.cRow, c.cLine
	rounds := p.Half != nil && last
	if rounds {
		p.round(c, column, columns)
	}
	c.steps, c.aStep, c.bStep = steps, words*word, words*p.BK*word
	lines := max(p.Lines, 1)
	for row := 0; row < p.Rows; {
		rows, blocks := 2*height, (p.Rows-row)/(2*height)
		if blocks == 0 {
			rows, blocks = p.Rows-row, 1
		}
		c.aBlock, c.cBlock, c.halfBlock = rows*c.aRow, rows*cRow, rows*c.halfRow
		c.aSecond, c.cSecond, c.halfSecond = height*c.aRow, height*cRow, height*c.halfRow
		c.later = 0
		if rounds {
			c.rounded, c.roundedSecond = min(rows, height), rows-height
			if rows == 2*height && (p.Bias == nil || steps*p.Segments*p.Outer >= laterSteps) {
				c.later = rows * cRow
			}
		}
		if p.passing(c) {
			c.cBlock, c.cLine = 0, 0
		}
		pairs := 0
		if rows <= height && p.BLine == 0 && (p.Bias == nil || p.BiasLine == 0) { // two lines at once: they share the tiles of B
			pairs = lines / 2
		}
		if pairs > 0 {
			configure(c.config, rows, rows, columns, words)
			twice := *c
			twice.aSecond, twice.cSecond, twice.aLine, twice.cLine = c.aLine, cLine, 2*c.aLine, 2*c.cLine
			twice.halfSecond, twice.halfLine, twice.roundedSecond = c.halfLine, 2*c.halfLine, c.rounded
			p.blocks(&twice, 0, 2, pairs, row, column, k, rows, 1, true)
		}
		if rest := lines - 2*pairs; rest > 0 {
			configure(c.config, min(rows, height), rows-height, columns, words)
			p.blocks(c, 2*pairs, 1, rest, row, column, k, rows, blocks, rows > height)
		}
		row += rows * blocks
	}
	c.cLine, c.rounded = cLine, 0
}

// round sets what the assembly has to know to round complete sums.
func (p *Product) round(c *call, column, columns int) {
	c.halfRow, c.halfLine, c.mask = p.HalfRow*half, p.HalfLine*half, 1<<columns-1
	c.rounded, c.bias, c.biasLine = 1, nil, 0
	if p.Bias != nil {
		c.bias, c.biasLine = unsafe.Add(p.Bias, column*word), p.BiasLine*word
	}
	if c.floor = 0; !p.ReLU {
		c.floor = uint64(math.Float32bits(float32(math.Inf(-1))))
	}
}

// passing reports whether no sums need to stay in C: all blocks use the place of the first one, which stays in the
// first-level cache.
func (p *Product) passing(c *call) bool { return c.rounded > 0 && c.accumulate == 0 }

// blocks computes blocks of rows in so many lines, or pairs of them, from the first one on, each so many lines after
// the one before, in as few calls as their time allows. Second says that there are two tiles of rows.
func (p *Product) blocks(c *call, first, each, lines, row, column, k, rows, blocks int, second bool) {
	perCall := max(maxCallProducts/(2*height*2*Words*c.steps*Words*p.Segments*p.Outer), 1)
	linesPerCall := 1
	if blocks <= perCall {
		linesPerCall = min(lines, perCall/blocks)
	}
	for line := 0; line < lines; line += linesPerCall {
		for block := 0; block < blocks; block += perCall {
			c.lines, c.blocks = min(linesPerCall, lines-line), min(perCall, blocks-block)
			at, row := first+line*each, row+block*rows
			c.a = unsafe.Add(p.A, (at*p.ALine+row*p.ARow+k)*word)
			c.b = unsafe.Add(p.B, (at*p.BLine+k*p.BK+column)*word)
			c.c = p.C
			if !p.passing(c) {
				c.c = unsafe.Add(p.C, (at*p.CLine+row*p.CRow+column)*word)
			}
			if c.rounded > 0 {
				c.half = unsafe.Add(p.Half, (at*p.HalfLine+row*p.HalfRow+column)*half)
				if p.Bias != nil {
					c.bias = unsafe.Add(p.Bias, (at*p.BiasLine+column)*word)
				}
			}
			dispatch(second, p.Cols-column > Words, c)
		}
	}
}

// configure describes the tiles for a block of so many rows in its first and in its second tile: 0 to 3 for C, 4 and 5
// for A, 6 and 7 for B.
func configure(config *[64]byte, rows, more, columns, words int) {
	*config = [64]byte{1} // the palette
	set := func(tile, rows, words int) {
		if rows > 0 && words > 0 {
			config[16+2*tile], config[48+tile] = byte(words*word), byte(rows)
		}
	}
	columns, moreColumns := min(columns, Words), columns-Words
	set(0, rows, columns)
	set(1, rows, moreColumns)
	set(2, more, columns)
	set(3, more, moreColumns)
	set(4, rows, words)
	set(5, more, words)
	set(6, words, columns)
	set(7, words, moreColumns)
}

// dispatch is neither inlined nor a leaf: assembly cannot be preempted, and a loop that calls nothing else would hold
// up the garbage collector until it ends.
//
//go:noinline
func dispatch(rows2, columns2 bool, c *call) {
	switch {
	case !rows2 && !columns2:
		bf16R1C1(c)
	case !rows2:
		bf16R1C2(c)
	case !columns2:
		bf16R2C1(c)
	default:
		bf16R2C2(c)
	}
}

//go:noescape
func bf16R1C1(c *call)

//go:noescape
func bf16R1C2(c *call)

//go:noescape
func bf16R2C1(c *call)

//go:noescape
func bf16R2C2(c *call)
