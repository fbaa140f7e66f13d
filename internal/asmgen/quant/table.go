package main

import (
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Rows of a table of integers become floats, a vector of eight at a time. The rows begin offsets behind table, and
// those of the result are stride apart, all in bytes. The last vector of a row, if tail is not 0, begins so many bytes
// after the row of the result; it may overlap the one before.

// tableRows is a function that writes rows.
type tableRows struct {
	m                        Machine
	to, table, offsets, rows Scalar
	x, y, tail               Scalar
	perByte                  int // numbers in a byte
	place                    int // bytes of what is known of a row
	number                   func(v Vector, from Memory)
}

func newTableRows(m Machine, perByte int) *tableRows {
	return &tableRows{m: m, to: Parameter("to"), table: Parameter("table"), offsets: Parameter("offsets"), rows: Parameter("rows"), tail: Parameter("tail"), x: NewScalar(), y: NewScalar(), perByte: perByte, place: 8}
}

// begin starts the loop over rows.
func (t *tableRows) begin() {
	Label("row")
	Assign(t.x, Memory{Base: t.offsets})
	Increase(t.x, t.table)
	Assign(t.y, t.to)
}

// vectors emits the loop over count vectors.
func (t *tableRows) vectors(v Vector, count Scalar) {
	Label("loop")
	t.number(v, Memory{Base: t.x})
	Store(Memory{Base: t.y}, v)
	Increase(t.x, Number(t.m.Bytes/4/t.perByte))
	Increase(t.y, Number(t.m.Bytes))
	Countdown(count, 1, "loop")
}

// end emits the last vector of a row, whose numbers begin last bytes after the row, and the next row.
func (t *tableRows) end(v Vector, last Scalar) {
	JumpZero(t.tail, "whole")
	Assign(t.x, Memory{Base: t.offsets})
	Increase(t.x, t.table)
	Reload(last, "last")
	Increase(t.x, last)
	Assign(t.y, t.to)
	Increase(t.y, t.tail)
	t.number(v, Memory{Base: t.x})
	Store(Memory{Base: t.y}, v)
	Label("whole")
	Increase(t.offsets, Number(t.place))
	Reload(last, "stride")
	Increase(t.to, last)
	Countdown(t.rows, 1, "row")
	End()
}

// bytesRows writes bytes times a factor of each row.
func bytesRows(m Machine) {
	Begin(m, "bytesRows", "to, table, offsets, factor, rows, vectors, stride, tail, last uintptr", "")
	Doc("bytesRows" + m.Name + " writes rows of bytes times the factors of the rows.")
	t := newTableRows(m, 1)
	factors, v, factor, left := Parameter("factor"), NewVector(m.Bytes), NewVector(m.Bytes), NewScalar()
	t.number = func(v Vector, from Memory) {
		WidenSignedBytes(v, from)
		ToFloat(v, v)
		Multiply(v, v, factor)
	}
	t.begin()
	Broadcast(factor, Memory{Base: factors})
	Increase(factors, Number(4))
	Reload(left, "vectors")
	t.vectors(v, left)
	t.end(v, left)
}

// nibblesRows writes blocks of so many vectors each of numbers of four bits, two in a byte, minus the zero point of the
// block, times its scale. places has for each row where it, its first scale and its first zero point begin.
func nibblesRows(m Machine) {
	Begin(m, "nibblesRows", "to, table, offsets, scale, zero, shifts, rows, blocks, vectors, stride, tail, last uintptr", "")
	Doc("nibblesRows" + m.Name + " writes rows of blocks of four-bit numbers minus the zero points, times the scales, of the blocks.")
	t := newTableRows(m, 2)
	t.place = 3 * 8
	scale, zero, left, blocks := NewScalar(), NewScalar(), NewScalar(), NewScalar()
	v, shifts, factor, from := NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes)
	Reload(left, "shifts")
	LoadInt(shifts, Memory{Base: left})
	values := func() {}
	if m.Bytes == 64 {
		values = t.byLookup(shifts, factor, from)
	} else {
		t.byShifts(shifts, factor, from)
	}
	t.begin()
	Assign(scale, Memory{Base: t.offsets, Offset: 8})
	Reload(left, "scale")
	Increase(scale, left)
	Assign(zero, Memory{Base: t.offsets, Offset: 16})
	Reload(left, "zero")
	Increase(zero, left)
	Reload(blocks, "blocks")
	Label("block")
	Broadcast(factor, Memory{Base: scale})
	BroadcastByte(from, Memory{Base: zero})
	ShiftRightSigned(from, from, 24)
	ToFloat(from, from)
	values()
	Increase(scale, Number(4))
	Increase(zero, Number(1))
	Reload(left, "vectors")
	t.vectors(v, left)
	Countdown(blocks, 1, "block")
	t.end(v, left)
}

// byShifts makes eight numbers of a word: shifted left by a different amount in each lane, then right, it becomes the
// signed numbers.
func (t *tableRows) byShifts(shifts, factor, from Vector) {
	t.number = func(v Vector, memory Memory) {
		Broadcast(v, memory)
		ShiftLeftBy(v, v, shifts)
		ShiftRightSigned(v, v, 28)
		ToFloat(v, v)
		Subtract(v, v, from)
		Multiply(v, v, factor)
	}
}

// byLookup looks sixteen numbers of two words up in a table of all values of a block, which the returned function
// computes.
func (t *tableRows) byLookup(shifts, factor, from Vector) func() {
	table, second := NewVector(t.m.Bytes), NewVector(t.m.Bytes)
	half := NewScalar()
	Assign(half, Number(0xff00))
	upper := MaskBits(half)
	t.number = func(v Vector, memory Memory) {
		Broadcast(v, memory)
		memory.Offset += 4
		Broadcast(second, memory)
		Blend(v, upper, second)
		ShiftRightBy(v, v, shifts)
		Lookup(v, v, table)
	}
	numbers := make([]uint32, 16)
	for i := range numbers {
		numbers[i] = math.Float32bits(float32((i ^ 8) - 8))
	}
	return func() {
		Load(table, Table("signedSixteen", numbers))
		Subtract(table, table, from)
		Multiply(table, table, factor)
	}
}
