package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// rowsAt emits operations on pairs of rows at arbitrary positions. size is the bytes of a row, a multiple of the vector
// length, and pairs are the offsets of both rows in bytes.
func (m machine) rowsAt() {
	m.begin("", "copyRowsAt", "dst, x *float32, pairs *[2]int, count, size uintptr", "")
	m.eachRowAt(func(to, from Memory) {
		a := m.vector()
		Load(a, from)
		Store(to, a)
	})

	m.begin("", "descendRowsAt", "dst, x *float32, pairs *[2]int, count, size uintptr, scalars unsafe.Pointer", "")
	rate := m.broadcast(param("scalars"), 0)
	m.eachRowAt(func(to, from Memory) { // the product is rounded, as in the loop without vectors
		a, step := m.vector(), m.vector()
		Multiply(step, rate, from)
		Load(a, to)
		Subtract(a, a, step)
		Store(to, a)
	})
}

// addRowsAt adds such rows.
func (m machine) addRowsAt() {
	m.begin("", "addRowsAt", "dst, x *float32, pairs *[2]int, count, size uintptr", "")
	m.eachRowAt(func(to, from Memory) {
		a := m.vector()
		Load(a, to)
		Add(a, a, from)
		Store(to, a)
	})
}

// copyRows emits the loop that copies rows that are from bytes apart to rows that are to bytes apart. A row has at
// least a group; its last group may overlap the one before it.
func (m machine) copyRows() {
	m.begin("", "copyRows", "dst, src unsafe.Pointer, rows, n, to, from uintptr", "")
	dst, src, rows, n := param("dst"), param("src"), param("rows"), param("n")
	p, q, left := NewScalar(), NewScalar(), NewScalar()
	bytes := 4 * group
	several := func(groups, before int) {
		v := m.vectors(groups * m.groupVectors())
		v.each(func(i int) { Load(v[i], Memory{Base: q, Offset: i*m.bytes() - before}) })
		v.each(func(i int) { Store(Memory{Base: p, Offset: i*m.bytes() - before}, v[i]) })
	}
	Label("row")
	Assign(p, dst)
	Assign(q, src)
	Assign(left, n)
	for _, groups := range []int{2, 1} {
		top, bottom := fmt.Sprint("groups", groups), fmt.Sprint("bottom", groups)
		Label(top)
		JumpBelow(left, Number(groups*bytes), bottom)
		several(groups, 0)
		Increase(p, Number(groups*bytes))
		Increase(q, Number(groups*bytes))
		Decrease(left, Number(groups*bytes))
		Jump(top)
		Label(bottom)
	}
	JumpBelow(left, Number(1), "rowEnd")
	Increase(p, left)
	Increase(q, left)
	several(1, bytes)
	Label("rowEnd")
	Increase(dst, param("to"))
	Increase(src, param("from"))
	Countdown(rows, 1, "row")
	End()
}

// fetchRowsAt prefetches rows at arbitrary positions into the second-level cache. places are their offsets in bytes,
// stored 16 bytes apart, and size is the bytes of a row.
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

// eachRowAt emits the loop over all pairs, and the function's end.
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
