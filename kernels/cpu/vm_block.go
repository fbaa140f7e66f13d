package cpu

// How many elements a block of an elementwise unit has.

// blockBytes is how much of the first-level cache the operands of a block may take.
const blockBytes = 24 << 10

// elementBytes returns the memory that one element takes in all operands together, and in a concatenation; units with
// several of these have so many operations for each block that shorter blocks would cost more than they save.
func (b *vmBuilder) elementBytes() int {
	bytes := b.prog.scratch / b.prog.block
	if len(b.prog.places) == 1 {
		bytes += b.prog.places[0].size * len(b.prog.places[0].parts)
	}
	for _, m := range b.prog.memory {
		bytes += m.size
	}
	for i := range b.prog.lines {
		bytes += b.prog.lines[i].size
	}
	return bytes
}

// chooseBlock sets the number of elements of a block. bytes is the memory that an element takes. If possible, the
// number is a multiple of the periods of row operands and of the elements of a vector.
func (b *vmBuilder) chooseBlock(bytes int) {
	block := min(max(blockBytes/max(bytes, 1)/64*64, 256), 4096)
	if b.prog.line > 0 {
		b.prog.cutLine(block, len(b.u.Sinks) > 0 && !b.longRows())
		return
	}
	unit := max(b.u.Columns, 1)
	if b.u.Rows > 0 {
		block = max(block, min(rowsOfBlock*unit, longestRows))
	}
	for _, a := range b.u.Accesses {
		if d, _ := a.Repetition(); d > 0 && d <= block && lcm(unit, d) <= block {
			unit = lcm(unit, d)
		}
	}
	for _, i := range b.u.Sinks {
		if row := b.placedRow(i); row > 0 && row <= block && lcm(unit, row) <= block {
			unit = lcm(unit, row)
		}
	}
	// Blocks that are a multiple of whole vectors start aligned and leave no rest. That is worth having rows in the
	// second-level cache.
	for lanes := vectorElements; lanes > 1; lanes /= 2 {
		if whole := lcm(unit, lanes); whole <= 8*block {
			unit = whole
			break
		}
	}
	b.prog.block = min(max(block/unit, 1)*unit, b.u.Size)
}

// vectorElements is how many float32 an AVX-512 vector and a cache line hold.
const vectorElements = 16

func lcm(a, b int) int {
	g, r := a, b
	for r != 0 {
		g, r = r, g%r
	}
	return a / g * b
}
