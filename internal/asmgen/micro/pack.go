package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// transposeStub is the Go declarations of this file's functions.
const transposeStub = `
//go:noinline
func callCopyRows(dst, src unsafe.Pointer, stride, rows uintptr) {
	copyRows(dst, src, stride, rows)
}

//go:noescape
func copyRows(dst, src unsafe.Pointer, stride, rows uintptr)

//go:noinline
func callTranspose8(dst, src unsafe.Pointer, to, from, blocks uintptr) {
	transpose8(dst, src, to, from, blocks)
}

//go:noescape
func transpose8(dst, src unsafe.Pointer, to, from, blocks uintptr)

//go:noinline
func callTranspose4(dst, src unsafe.Pointer, to, from, blocks uintptr) {
	transpose4(dst, src, to, from, blocks)
}

//go:noescape
func transpose4(dst, src unsafe.Pointer, to, from, blocks uintptr)
`

// rowOf is row i of four that are stride bytes apart.
func rowOf(base, stride, stride3 Scalar, i int) Memory {
	switch i {
	case 1:
		return Memory{Base: base}.Indexed(stride, 1)
	case 2:
		return Memory{Base: base}.Indexed(stride, 2)
	case 3:
		return Memory{Base: base}.Indexed(stride3, 1)
	}
	return Memory{Base: base}
}

// emitTranspose emits transpose8, which reads 8 rows of 8·blocks float32, from bytes apart, and stores their transpose
// as 8·blocks rows of 8 numbers, to bytes apart.
func emitTranspose() {
	begin(false, "transpose8", "dst, src uintptr, to, from, blocks uintptr")
	dst, src := Parameter("dst"), Parameter("src")
	to, from := Parameter("to"), Parameter("from")
	blocks := Parameter("blocks")
	to3, from3, high := NewScalar(), NewScalar(), NewScalar()
	Address(to3, Memory{Base: to}.Indexed(to, 2))
	Address(from3, Memory{Base: from}.Indexed(from, 2))
	Address(high, Memory{Base: src}.Indexed(from, 4))
	Label("block")
	var in, pairs, quads [8]Vector
	for i := range in {
		in[i] = NewVector(32)
		base := src
		if i >= 4 {
			base = high
		}
		Load(in[i], rowOf(base, from, from3, i%4))
	}
	for i := 0; i < 8; i += 2 { // a0 b0 a1 b1 | a4 b4 a5 b5 and a2 b2 a3 b3 | a6 b6 a7 b7
		pairs[i], pairs[i+1] = NewVector(32), NewVector(32)
		InterleaveLow(pairs[i], in[i], in[i+1])
		InterleaveHigh(pairs[i+1], in[i], in[i+1])
	}
	for half := 0; half < 8; half += 4 { // columns 0, 1, 2, 3 | 4, 5, 6, 7 of four rows
		p, q := pairs[half:half+4], quads[half:half+4]
		for i := range q {
			q[i] = NewVector(32)
		}
		Shuffle(q[0], p[0], p[2], 0x44)
		Shuffle(q[1], p[0], p[2], 0xee)
		Shuffle(q[2], p[1], p[3], 0x44)
		Shuffle(q[3], p[1], p[3], 0xee)
	}
	below := NewScalar()
	Address(below, Memory{Base: dst}.Indexed(to, 4))
	for half, base := range []Scalar{dst, below} { // in order, since rows may overlap
		for i := range 4 {
			row := NewVector(32)
			Halves(row, quads[i], quads[4+i], 0x20+0x11*half)
			Store(rowOf(base, to, to3, i), row)
		}
	}
	Increase(src, Number(32))
	Increase(high, Number(32))
	Address(dst, Memory{Base: dst}.Indexed(to, 8))
	Countdown(blocks, 1, "block")
	End()
}

// emitTranspose4 emits transpose4, which does the same with 4 rows of 4·blocks float64.
func emitTranspose4() {
	begin(false, "transpose4", "dst, src uintptr, to, from, blocks uintptr")
	dst, src := Parameter("dst"), Parameter("src")
	to, from := Parameter("to"), Parameter("from")
	blocks := Parameter("blocks")
	to3, from3 := NewScalar(), NewScalar()
	Address(to3, Memory{Base: to}.Indexed(to, 2))
	Address(from3, Memory{Base: from}.Indexed(from, 2))
	Label("block")
	var in, pairs [4]Vector
	for i := range in {
		in[i], pairs[i] = NewVector(32), NewVector(32)
		Load(in[i], rowOf(src, from, from3, i))
	}
	for i := range 2 { // a0 b0 | a2 b2, a1 b1 | a3 b3, and the same for c and d
		Shuffle(pairs[2*i], in[2*i], in[2*i+1], 0x44)
		Shuffle(pairs[2*i+1], in[2*i], in[2*i+1], 0xee)
	}
	for i := range 4 { // in order, since rows may overlap
		row := NewVector(32)
		Halves(row, pairs[i%2], pairs[2+i%2], 0x20+0x11*(i/2))
		Store(rowOf(dst, to, to3, i), row)
	}
	Increase(src, Number(32))
	Address(dst, Memory{Base: dst}.Indexed(to, 4))
	Countdown(blocks, 1, "block")
	End()
}

// emitCopyRows emits copyRows, which copies rows of 128 bytes, stride bytes apart, into consecutive panel rows.
func emitCopyRows() {
	begin(false, "copyRows", "dst, src uintptr, stride, rows uintptr")
	dst, src := Parameter("dst"), Parameter("src")
	stride, rows := Parameter("stride"), Parameter("rows")
	Label("row")
	var v [4]Vector
	for i := range v {
		v[i] = NewVector(32)
		Load(v[i], Memory{Base: src, Offset: 32 * i})
	}
	for i := range v {
		Store(Memory{Base: dst, Offset: 32 * i}, v[i])
	}
	Increase(src, stride)
	Increase(dst, Number(128))
	Countdown(rows, 1, "row")
	End()
}
