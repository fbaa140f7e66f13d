package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// pairRows emits the loop that interleaves each two rows of 16-bit numbers: the first one's number is the lower half of
// a number of 32 bits, the second one's the upper half. Rows are from bytes apart, those of the result to bytes; there
// are as many numbers in a row as fill vectors of 32-bit ones.
func (m machine) pairRows() {
	m.begin("", "pairRows", "dst, x unsafe.Pointer, columns, pairs, to, from uintptr", "")
	dst, x := param("dst"), param("x")
	pairs, to, from := param("pairs"), param("to"), param("from")
	upper, d, left := NewScalar(), NewScalar(), NewScalar()
	Label("pair")
	Address(upper, Memory{Base: x}.Indexed(from, 1))
	lower := NewScalar()
	Assign(lower, x)
	Assign(d, dst)
	Reload(left, "columns")
	Label("column")
	a, b := m.vector(), m.vector()
	WidenWords(a, Memory{Base: lower})
	WidenWords(b, Memory{Base: upper})
	ShiftLeft(b, b, 16)
	OrInt(a, a, b)
	StoreInt(Memory{Base: d}, a)
	Increase(lower, Number(m.bytes()/2))
	Increase(upper, Number(m.bytes()/2))
	Increase(d, Number(m.bytes()))
	Countdown(left, m.bytes()/4, "column")
	Increase(dst, to)
	Address(x, Memory{Base: x}.Indexed(from, 2))
	Countdown(pairs, 1, "pair")
	End()
}
