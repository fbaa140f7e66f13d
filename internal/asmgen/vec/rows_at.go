package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// rowsAt emits the sum of rows that lie anywhere with rows that lie anywhere: size is the bytes of a row, a multiple of
// the vector's, and pairs are the offsets of both rows in bytes.
func (m machine) rowsAt() {
	m.begin("", "addRowsAt", "dst, x *float32, pairs *[2]int, count, size uintptr", "")
	dst, x, pairs, count, size := param("dst"), param("x"), param("pairs"), param("count"), param("size")
	p, q, k := NewScalar(), NewScalar(), NewScalar()
	Label("row")
	Assign(p, Memory{Base: pairs})
	Increase(p, dst)
	Assign(q, Memory{Base: pairs, Offset: 8})
	Increase(q, x)
	Assign(k, size)
	Label("vector")
	a := m.vector()
	Load(a, Memory{Base: p})
	Add(a, a, Memory{Base: q})
	Store(Memory{Base: p}, a)
	Increase(p, Number(m.bytes()))
	Increase(q, Number(m.bytes()))
	Countdown(k, m.bytes(), "vector")
	Increase(pairs, Number(16))
	Countdown(count, 1, "row")
	End()
}
