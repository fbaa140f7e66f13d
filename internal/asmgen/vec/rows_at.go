package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// rowsAt emits what is done to rows that lie anywhere with rows that lie anywhere: size is the bytes of a row, a
// multiple of the vector's, and pairs are the offsets of both rows in bytes.
func (m machine) rowsAt() {
	m.begin("", "addRowsAt", "dst, x *float32, pairs *[2]int, count, size uintptr", "")
	m.eachRowAt(func(to, from Memory) {
		a := m.vector()
		Load(a, to)
		Add(a, a, from)
		Store(to, a)
	})

	m.begin("", "copyRowsAt", "dst, x *float32, pairs *[2]int, count, size uintptr", "")
	m.eachRowAt(func(to, from Memory) {
		a := m.vector()
		Load(a, from)
		Store(to, a)
	})

	m.begin("", "descendRowsAt", "dst, x *float32, pairs *[2]int, count, size uintptr, scalars unsafe.Pointer", "")
	rate := m.broadcast(param("scalars"), 0)
	m.eachRowAt(func(to, from Memory) { // the product is rounded, as in a loop without vectors
		a, step := m.vector(), m.vector()
		Multiply(step, rate, from)
		Load(a, to)
		Subtract(a, a, step)
		Store(to, a)
	})
}

// fetchRowsAt asks for rows that lie anywhere, for the second-level cache: places are their offsets in bytes, 16 bytes
// apart, and size the bytes of a row.
func (m machine) fetchRowsAt() {
	m.begin("", "fetchRowsAt", "x *float32, places *int, count, size uintptr", "")
	x, places, count, size := param("x"), param("places"), param("count"), param("size")
	p, k := NewScalar(), NewScalar()
	Label("row")
	Assign(p, Memory{Base: places})
	Increase(p, x)
	Assign(k, size)
	Label("line")
	Prefetch(Memory{Base: p})
	Increase(p, Number(64))
	Countdown(k, 64, "line")
	Increase(places, Number(16))
	Countdown(count, 1, "row")
	End()
}

// eachRowAt is the loop over all pairs, which ends the function.
func (m machine) eachRowAt(f func(to, from Memory)) {
	dst, x, pairs, count, size := param("dst"), param("x"), param("pairs"), param("count"), param("size")
	p, q, k := NewScalar(), NewScalar(), NewScalar()
	Label("row")
	Assign(p, Memory{Base: pairs})
	Increase(p, dst)
	Assign(q, Memory{Base: pairs, Offset: 8})
	Increase(q, x)
	Assign(k, size)
	Label("vector")
	f(Memory{Base: p}, Memory{Base: q})
	Increase(p, Number(m.bytes()))
	Increase(q, Number(m.bytes()))
	Countdown(k, m.bytes(), "vector")
	Increase(pairs, Number(16))
	Countdown(count, 1, "row")
	End()
}
