package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// within emits the loop that checks indices against 0 and the last allowed one: it ORs x and last − x into the words of
// a group, whose sign bits are set if an index is out of range.
func (m machine) within() {
	m.begin("", "within", "x, last, found unsafe.Pointer, n uintptr", "")
	x, last, found, n := param("x"), param("last"), param("found"), param("n")
	most := m.broadcast(last, 0)
	signs := m.zeros(m.groupVectors())
	Label("next")
	for i, s := range signs {
		v, left := m.vector(), m.vector()
		Load(v, Memory{Base: x, Offset: i * m.bytes()})
		SubtractInt(left, most, v)
		Or(left, left, v)
		Or(s, s, left)
	}
	Increase(x, Number(4*group))
	Countdown(n, group, "next")
	for i, s := range signs {
		Store(Memory{Base: found, Offset: i * m.bytes()}, s)
	}
	End()
}
