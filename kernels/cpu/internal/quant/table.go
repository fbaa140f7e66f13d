package quant

import "unsafe"

// Table holds rows of integers that stand for floats: what is looked up, not multiplied.
type Table struct {
	Columns, Block int // numbers of a row, and those that share a scale and a zero point; Block 0: there are none
	Bytes          bool
	Integers       []int8
	Scale          []float32 // of each row, by which its numbers are divided; or of each block, by which they are multiplied
	Zero           []int8    // of each block
}

const (
	tableLanes = 8  // fewest floats that the kernels write at a time
	tableChunk = 64 // rows that are located at a time
)

// tablePiece is some rows as the kernels take them.
type tablePiece struct {
	offsets [tableChunk]uintptr  // of rows of bytes
	places  [tableChunk]rowPlace // of rows of four-bit numbers
	scale   [tableChunk]float32  // of rows without blocks: what they are multiplied by
	zero    [tableChunk]int8     // of such rows: 0
}

// rowPlace says how many bytes before a row, its first scale and its first zero point there are.
type rowPlace struct{ row, scale, zero uintptr }

// blocks returns the number of blocks of a row, of which there is one if all numbers share a scale.
func (t *Table) blocks() int {
	if t.Block == 0 {
		return 1
	}
	return (t.Columns + t.Block - 1) / t.Block
}

// bytes returns the size of a row.
func (t *Table) bytes() int {
	if t.Bytes {
		return t.Columns
	}
	return (t.Columns + 1) / 2
}

// Rows writes the rows at the given positions, one after the other.
func (t *Table) Rows(to []float32, at []int64) {
	blocks := t.blocks()
	whole := blocks
	if t.Block > 0 && t.Columns%t.Block != 0 {
		whole--
	}
	switch {
	case t.Columns == 0 || len(at) == 0:
	case blocks == 1:
		t.part(to, at, 0, 1, t.Columns)
	case t.Block%tableLanes != 0:
		t.plain(to, at, 0, t.Columns)
	default:
		if whole > 0 {
			t.part(to, at, 0, whole, t.Block)
		}
		if whole < blocks {
			t.part(to, at, whole, 1, t.Columns-whole*t.Block)
		}
	}
}

// part writes some blocks of each row, of so many numbers each, which are whole vectors if there are several blocks.
func (t *Table) part(to []float32, at []int64, block, blocks, numbers int) {
	begin := block * t.Block
	if !hasTableRows() || numbers < tableLanes {
		t.plain(to, at, begin, begin+blocks*numbers)
		return
	}
	var p tablePiece
	for first := 0; first < len(at); first += tableChunk {
		some := at[first:min(first+tableChunk, len(at))]
		t.locate(&p, some, begin, block)
		t.pieces(to[first*t.Columns+begin:(first+len(some))*t.Columns], &p, len(some), blocks, numbers)
	}
	if !t.Bytes && numbers%2 == 1 {
		t.plain(to, at, begin+numbers-1, begin+numbers)
	}
}

// pieces calls the kernels for rows. The last vector of a row may overlap the one before. The last number of an odd
// number of them, of which two are in a byte, is left out.
func (t *Table) pieces(y []float32, p *tablePiece, rows, blocks, numbers int) {
	lanes := tableLanes
	if wide := wideTableLanes(); numbers >= wide && (blocks == 1 || numbers%wide == 0) {
		lanes = wide
	}
	vectors, tail, last := numbers/lanes, 0, 0
	if numbers%lanes != 0 {
		if last = numbers - lanes; !t.Bytes {
			last &^= 1
		}
		if tail = 4 * last; !t.Bytes {
			last /= 2
		}
	}
	table := unsafe.Pointer(unsafe.SliceData(t.Integers))
	if t.Bytes {
		bytesRows(lanes, unsafe.Pointer(&y[0]), table, p, rows, vectors, 4*t.Columns, tail, last)
		return
	}
	scale, zero := unsafe.Pointer(&p.scale), unsafe.Pointer(&p.zero)
	if t.Block > 0 {
		scale, zero = unsafe.Pointer(unsafe.SliceData(t.Scale)), unsafe.Pointer(unsafe.SliceData(t.Zero))
	}
	nibblesRows(lanes, unsafe.Pointer(&y[0]), table, scale, zero, &p.places, rows, blocks, vectors, 4*t.Columns, tail, last)
}

// locate finds rows, from the number begin on, which is in the given block.
func (t *Table) locate(p *tablePiece, at []int64, begin, block int) {
	bytes, blocks := t.bytes(), t.blocks()
	if !t.Bytes {
		begin /= 2
	}
	for i, row := range at {
		offset := uintptr(bytes*int(row) + begin)
		if t.Bytes || t.Block == 0 {
			p.scale[i], p.offsets[i] = 1/t.Scale[row], offset
			p.places[i] = rowPlace{offset, uintptr(4 * i), uintptr(i)}
			continue
		}
		place := uintptr(int(row)*blocks + block)
		_, _ = t.Scale[int(place)], t.Zero[int(place)]
		p.places[i] = rowPlace{offset, 4 * place, place}
	}
}

// plain writes the numbers from first to last of each row, one by one.
func (t *Table) plain(to []float32, at []int64, first, last int) {
	for i, row := range at {
		t.row(to[i*t.Columns:][:last], int(row), first)
	}
}

// row writes the numbers of a row from the given one on.
func (t *Table) row(to []float32, row, first int) {
	x := t.Integers[row*t.bytes():][:t.bytes()]
	if t.Block == 0 {
		factor := 1 / t.Scale[row]
		for j := first; j < len(to); j++ {
			to[j] = float32(t.number(x, j)) * factor
		}
		return
	}
	scale, zero := t.Scale[row*t.blocks():][:t.blocks()], t.Zero[row*t.blocks():]
	for j := first; j < len(to); j++ {
		to[j] = float32(t.number(x, j)-int32(zero[j/t.Block])) * scale[j/t.Block]
	}
}

// number returns number j of a row.
func (t *Table) number(x []int8, j int) int32 {
	if t.Bytes {
		return int32(x[j])
	}
	v := x[j/2]
	if j%2 == 0 {
		v <<= 4
	}
	return int32(v >> 4)
}
