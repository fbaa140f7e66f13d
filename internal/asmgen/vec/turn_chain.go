package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// chainVectors are the numbers of a row's vectors that the functions that rotate successive rows handle at a time.
var chainVectors = []int{4, 2, 1}

// turnChain rotates a row with the one before it, the result of that one with the one before it, and so on; each
// rotation has its own cosine and sine. The row that is rotated again stays in registers.
func (m sideBySide) turnChain(count int) {
	m.start(fmt.Sprintf("turnChain%d", count), "x, angles unsafe.Pointer, turns, stride uintptr")
	x, angles, turns, stride := param("x"), param("angles"), param("turns"), param("stride")
	to := NewScalar()
	carried := m.columns(x, count)
	eachTurn := func() {
		c, s := m.factor(angles, 0), m.factor(angles, 1)
		Assign(to, x)
		Decrease(x, stride)
		carried.each(func(i int) {
			row, other, kept := m.load(m.place(x, i)), m.vector(), m.vector()
			Multiply(other, row, s)
			Multiply(kept, row, c)
			AddProduct(other, carried[i], c)
			SubtractProduct(kept, carried[i], s)
			Store(m.place(to, i), other)
			Copy(carried[i], kept)
		})
		Increase(angles, Number(2*m.size))
	}
	Label("turn")
	eachTurn()
	Countdown(turns, 1, "turn")
	m.store(carried, x)
	End()
}
