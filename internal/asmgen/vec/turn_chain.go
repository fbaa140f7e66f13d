package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// chainVectors are how many vectors of a row the functions that turn rows one after the other work on at a time.
var chainVectors = []int{4, 2, 1}

// turnChain turns a row with the one before it, what becomes of that one with the one before it, and so on: the angles
// have cosine and sine of each time. What is turned again stays in registers.
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
