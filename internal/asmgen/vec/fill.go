package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// fillRows reads numbers that are step bytes apart and fills n bytes with each, at least a group: the last group of a
// row may overlap the one before it.
func (m machine) fillRows() {
	m.begin("", "fillRows", "dst, src unsafe.Pointer, rows, n, step uintptr", "")
	dst, src, rows, n, step := param("dst"), param("src"), param("rows"), param("n"), param("step")
	left, v := NewScalar(), m.vector()
	several := func(groups int) {
		for i := range groups * m.groupVectors() {
			Store(Memory{Base: dst, Offset: i * m.bytes()}, v)
		}
		Increase(dst, Number(groups*group*4))
		Decrease(left, Number(groups*group*4))
	}
	JumpAtLeast(n, Number(group*4+1), "row")
	Label("single")
	Broadcast(v, Memory{Base: src})
	for i := range m.groupVectors() {
		Store(Memory{Base: dst, Offset: i * m.bytes()}, v)
	}
	Increase(dst, Number(group*4))
	Increase(src, step)
	Countdown(rows, 1, "single")
	Jump("end")
	Label("row")
	Broadcast(v, Memory{Base: src})
	Assign(left, n)
	for _, groups := range []int{4, 1} {
		top, bottom := "groups4", "bottom4"
		if groups == 1 {
			top, bottom = "groups1", "bottom1"
		}
		Label(top)
		JumpBelow(left, Number(groups*group*4), bottom)
		several(groups)
		Jump(top)
		Label(bottom)
	}
	JumpBelow(left, Number(1), "rowEnd")
	Increase(dst, left)
	for i := range m.groupVectors() {
		Store(Memory{Base: dst, Offset: i*m.bytes() - 4*group}, v)
	}
	Label("rowEnd")
	Increase(src, step)
	Countdown(rows, 1, "row")
	Label("end")
	End()
}
