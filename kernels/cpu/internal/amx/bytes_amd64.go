package amx

import "unsafe"

// bytesCall is the argument block of the assembly; internal/asmgen/amx knows its layout. Strides count bytes.
type bytesCall struct {
	a, b, c, start               unsafe.Pointer
	config                       *[64]byte
	steps                        int
	aRow, aSecond, aBlock, aLast int
	bLast, bPair, bPanel         int
	cRow, cSecond, cBlock, cLast int
	cPair, cPanel                int
	startSecond, startBlock      int
	startLast                    int
	panels, pairs, blocks        int
	column                       [3]int
	ahead                        int
	_                            [11]uintptr // where the assembly counts
}

// MultiplyBytes computes the product.
func MultiplyBytes(p *Bytes) {
	if p.Rows <= 0 || p.Cols <= 0 || p.Groups <= 0 {
		return
	}
	steps := (p.Groups + stepGroups - 1) / stepGroups
	panel := p.Groups * bytesRow
	c := bytesCall{steps: steps, aRow: p.ARow, bPanel: panel, bPair: 2 * stepBytes, cRow: p.CRow * word, cPair: 2 * stepBytes, cPanel: PanelColumns * word, ahead: panel}
	if steps > 1 {
		c.bLast = (p.Groups - steps*stepGroups) * bytesRow
	}
	height := p.blocks(&c)
	var config [64]byte
	c.config = &config
	perCall := max(maxCallProducts/(p.Rows*PanelColumns*p.Groups), 1)
	whole := p.Cols / PanelColumns
	if whole > 0 {
		p.configure(&config, height, Words)
		form := bytesForm{height.second > 0, 4}
		c.pairs, c.column = 1, [3]int{1 * stepBytes, 2 * stepBytes, 3 * stepBytes}
		if form.twoRows {
			form.columns, c.pairs = 2, 2
		}
		for first := 0; first < whole; first += perCall {
			c.panels = min(perCall, whole-first)
			p.call(&c, form, first*PanelColumns)
		}
	}
	if rest := p.Cols % PanelColumns; rest > 0 {
		p.edge(&c, height, whole*PanelColumns, rest)
	}
}

// excess is the line of numbers that [StartBytes] multiplies with.
var excess = func() (line [stepBytes]int8) {
	for i := range line {
		line[i] = -128
	}
	return line
}()

// StartBytes sets what the sums of a product begin with. It needs neither B nor C.
func StartBytes(p *Bytes) {
	if p.Rows <= 0 || p.Groups <= 0 {
		return
	}
	var config [64]byte
	c := bytesCall{a: p.A, b: unsafe.Pointer(&excess), start: p.Start, config: &config, steps: (p.Groups + stepGroups - 1) / stepGroups, aRow: p.ARow}
	blocks := (p.Rows + height - 1) / height
	rows := (p.Rows + blocks - 1) / blocks
	c.aBlock, c.startBlock = rows*p.ARow, rows*StartRow
	p.configure(&config, heights{rows, 0}, Words)
	perCall := max(maxCallProducts/(height*Words*p.Groups), 1)
	for first := 0; first < blocks; first += perCall {
		c.a, c.start = unsafe.Add(p.A, first*c.aBlock), unsafe.Add(p.Start, first*c.startBlock)
		c.blocks = min(perCall, blocks-first)
		if last := min(p.Rows-rows*(first+c.blocks), 0); c.blocks > 1 {
			c.aLast, c.startLast = last*p.ARow, last*StartRow
		} else {
			c.a, c.start = unsafe.Add(c.a, last*p.ARow), unsafe.Add(c.start, last*StartRow)
		}
		sumBytes(&c)
	}
}

// sumBytes is neither inlined nor a leaf; see dispatch.
//
//go:noinline
func sumBytes(c *bytesCall) { byteSums(c) }

// heights are those of the two tiles of rows of a block; second is 0 where there is one.
type heights struct{ first, second int }

// blocks cuts the rows into blocks of equal height; the last one may begin with rows of the one before.
func (p *Bytes) blocks(c *bytesCall) heights {
	c.blocks = 1
	if p.Rows <= height {
		return heights{p.Rows, 0}
	}
	c.blocks = (p.Rows + 2*height - 1) / (2 * height)
	tile := (p.Rows + 2*c.blocks - 1) / (2 * c.blocks)
	second := min(tile, p.Rows-tile) // where the second tile begins
	c.aSecond, c.cSecond, c.startSecond = second*c.aRow, second*c.cRow, second*StartRow
	c.aBlock, c.cBlock, c.startBlock = 2*tile*c.aRow, 2*tile*c.cRow, 2*tile*StartRow
	last := min(p.Rows-2*tile*c.blocks, 0)
	c.aLast, c.cLast, c.startLast = last*c.aRow, last*c.cRow, last*StartRow
	return heights{tile, tile}
}

// edge multiplies with the columns of a panel that is not whole: tiles of 16 columns, the last one of which ends with
// the columns.
func (p *Bytes) edge(c *bytesCall, height heights, column, columns int) {
	c.panels, c.pairs = 1, 1
	var config [64]byte
	c.config = &config
	p.configure(&config, height, min(columns, Words))
	rows2 := height.second > 0
	last := (columns - Words) * word // where the last tile begins
	switch {
	case columns <= Words:
		p.call(c, bytesForm{rows2, 1}, column)
	case columns <= 2*Words:
		c.column[0] = last
		p.call(c, bytesForm{rows2, 2}, column)
	case !rows2:
		c.column = [3]int{stepBytes, min(2*stepBytes, last), last}
		p.call(c, bytesForm{rows2, 4}, column)
	default:
		c.column[0] = stepBytes
		p.call(c, bytesForm{rows2, 2}, column)
		third := min(2*stepBytes, last) / word
		c.column[0] = last - third*word
		p.call(c, bytesForm{rows2, 2}, column+third)
	}
}

// configure describes the tiles, as bytesForm of internal/asmgen/amx numbers them.
func (p *Bytes) configure(config *[64]byte, height heights, columns int) {
	words := min(p.Groups, stepGroups)
	*config = [64]byte{1}
	set := func(tile, rows, words int) { config[16+2*tile], config[48+tile] = byte(words*word), byte(rows) }
	for tile := range 4 {
		set(tile, height.first, columns)
	}
	set(4, height.first, words)
	set(5, words, columns)
	if height.second > 0 {
		set(5, height.second, words)
	}
	set(6, words, columns)
	set(7, words, columns)
}

// bytesForm says how many tiles a block has.
type bytesForm struct {
	twoRows bool
	columns int
}

// call computes from a column on. It is neither inlined nor a leaf; see dispatch.
//
//go:noinline
func (p *Bytes) call(c *bytesCall, form bytesForm, column int) {
	c.a, c.start = p.A, p.Start
	c.b = unsafe.Add(p.B, column/PanelColumns*c.bPanel+column%PanelColumns*word)
	c.c = unsafe.Add(p.C, column*word)
	switch form {
	case bytesForm{false, 1}:
		bytesR1C1(c)
	case bytesForm{false, 2}:
		bytesR1C2(c)
	case bytesForm{false, 4}:
		bytesR1C4(c)
	case bytesForm{true, 1}:
		bytesR2C1(c)
	default:
		bytesR2C2(c)
	}
}

//go:noescape
func byteSums(c *bytesCall)

//go:noescape
func bytesR1C1(c *bytesCall)

//go:noescape
func bytesR1C2(c *bytesCall)

//go:noescape
func bytesR1C4(c *bytesCall)

//go:noescape
func bytesR2C1(c *bytesCall)

//go:noescape
func bytesR2C2(c *bytesCall)
